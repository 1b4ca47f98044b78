"""Commands of setanon: release, approve, verify, dry runs, demo. They print counts, never data.

Exit codes: 0 success, 1 refused or failed, 2 invalid arguments.
Dagster and other slow imports are loaded by the commands that need them.
"""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from setanon_core.errors import InvalidParameterError, SetanonError
from setanon_core.params import FORMATS
from setanon_dagster.cli.error_sentences import Commands
from setanon_dagster.cli.options import (
    RELEASE_ONLY,
    config_of,
    k_option,
    parameter_options,
    parse_ks,
    parse_list,
)
from setanon_dagster.cli.summary import (
    print_line,
    print_summary,
    print_values,
    public_files,
    report_path,
)
from setanon_dagster.cli.ui import open_output, require_server, serve
from setanon_dagster.config import SECRET, ReleaseConfig
from setanon_dagster.demo.release import LOG, USERS, demo_config, demo_folder, published_threads
from setanon_dagster.gate.signing import SIGNING_KEY, environment_key, signing_key
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.temporary import temporary_folder
from setanon_dagster.verifier.exposure import exposure_warning
from setanon_dagster.verifier.release_folder import THREADS

MAX_PRELOAD_BYTES: Final = 1 << 28
"""Size of a source up to which Great Expectations is loaded in a second process."""

DEMO_SAMPLE: Final = 5
"""Published threads that the demo prints."""

FILE: Final = click.Path(path_type=Path, exists=True)
SOURCE: Final = click.argument("source", nargs=-1, required=True)


@click.group(cls=Commands, context_settings={"max_content_width": 100})
@click.version_option(package_name="setanon", prog_name="setanon")
def main() -> None:
    """Publish search logs and baskets so that k users share every published list or set."""


@main.command(
    epilog=f"Set {SECRET} to the secret key of the thread ids. Without it, a random key is "
    f"created once and kept in DIR/private. Set {SIGNING_KEY} to the path of an Ed25519 private "
    "key (PEM) to sign the certificate."
)
@SOURCE
@click.option("--out", required=True, metavar="DIR", help="Folder of the releases.")
@parameter_options()
def release(source: tuple[str, ...], out: str, **options: Any) -> None:  # noqa: ANN401 - any type
    """Read SOURCE, anonymize, check, verify and publish it.

    SOURCE is one or more TSV, CSV (optionally gzip) or Parquet files, a glob pattern, or a DuckDB
    file with --table. Without a header the columns are user, time, query, or record, item, in this
    order, unless --user-column and similar options set them. DIR/releases may be published;
    DIR/private is private.
    """
    _release(config_of(source, out, options))


@main.command()
@click.argument("file", type=FILE)
@k_option(required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format of a single file; default: queries or sets, depending on its columns.",
)
@click.option(
    "--attributes",
    callback=parse_list,
    metavar="LIST",
    help="Attributes of a single file, such as week,hour: its further columns.",
)
@click.option("--ledger", type=FILE, help="The private ledger: count users instead of threads.")
@click.option(
    "--private",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The private folder of the release, DIR/private/RELEASE, with its ledger and its exact "
    "certificate; DIR/private for the folder of all releases of a name.",
)
@click.option(
    "--key",
    "keys",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    metavar="PUBLIC.pem",
    help="Public key of the publisher, an Ed25519 key in PEM: the release must be signed with it. "
    "Given several times, with one of them.",
)
def verify(  # noqa: PLR0913, PLR0917 - one parameter per option
    file: Path,
    k: int | None,
    form: str | None,
    attributes: tuple[str, ...],
    ledger: Path | None,
    private: Path | None,
    *,
    keys: tuple[Path, ...],
) -> None:
    """Verify that FILE is k-anonymous, count violations, and print what was not checked.

    FILE is a published file, the folder of a release, such as DIR/releases/NAME/latest, or the
    folder of all releases of a name, DIR/releases/NAME. In a folder, all files are verified: there
    must be no others, and certificate, digest and data sheet must match. k is then that of the
    certificate. Without the ledger each thread counts as one user: a published file has no users.
    """
    from setanon_dagster.cli.verify import Options, verify_path

    verify_path(file, Options(k, form, ledger, private, keys, attributes))


@main.command()
@click.argument("release", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--by", required=True, metavar="NAME", help="Who decides.")
@click.option("--note", default="", help="Why, in your words.")
@click.option("--policy", default="", help="The policy that the decision follows.")
@click.option("--reject", is_flag=True, help="Reject the release: it is not published.")
@click.option("--overrule", is_flag=True, help="Approve a release that was rejected before.")
def approve(  # noqa: PLR0913 - one parameter per option
    release: Path, by: str, note: str, policy: str, *, reject: bool, overrule: bool
) -> None:
    """Publish a verified release that waits for approval, or reject it.

    RELEASE is its private folder, DIR/private/RELEASE. The files are verified again before they are
    published; changed ones are refused. Who decided, when, by which policy and why is written to
    approval.json in this folder, which is private. The certificate says that approval was required;
    it is dated and signed now, with the key of SETANON_SIGNING_KEY if it is set.
    """
    from setanon_dagster.gate.approval import decide
    from setanon_dagster.gate.decisions import Decision
    from setanon_dagster.report.build import update_decision

    decision = Decision(by=by, approved=not reject, note=note, policy=policy, overrule=overrule)
    decided = decide(release, decision, signing_key=None if reject else environment_key())
    if decided.folder is None:
        print_line(Console(), f"{decided.release} is rejected; nothing was published.", "yellow")
    else:
        print_line(Console(), f"{decided.release} is approved and published.", "bold green")
        print_values(Console(), public_files(decided.folder))
    update_decision(release)


@main.command()
@click.option("--users", type=int, default=USERS, show_default=True, help="Synthetic users.")
@click.option(
    "--queries",
    type=int,
    help="Synthetic queries, at least one per user; default: about five per user.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed of the log.")
@k_option(required=False, default=3, show_default=True)
@click.option(
    "--out", metavar="DIR", help="Folder of the log and the release; default: .setanon-demo."
)
@click.option(
    "--interests", is_flag=True, help="Users keep interests and habits: threads can be linked."
)
@click.option(
    "--events",
    is_flag=True,
    help="Some topics have a day, and results are clicked: week and host are published, too.",
)
def demo(  # noqa: PLR0913 - one parameter per option
    users: int,
    queries: int | None,
    seed: int,
    k: int,
    out: str | None,
    *,
    interests: bool,
    events: bool,
) -> None:
    """Generate a synthetic log, release it, and print a sample."""
    from setanon_dagster.demo.events import event_rows
    from setanon_dagster.demo.interests import interest_rows
    from setanon_dagster.demo.log import demo_rows, write_demo_log

    folder = demo_folder() if out is None else Path(out).absolute()
    config = demo_config(folder, k)
    folder.mkdir(parents=True, exist_ok=True)
    if interests and events:
        raise InvalidParameterError("interests must be left out with events. Run demo twice.")
    if events:
        config = replace(config, attributes=("week", "host:click"))
    rows_of = event_rows if events else interest_rows if interests else demo_rows
    rows = write_demo_log(folder / LOG, users, queries, seed, rows_of=rows_of)
    print_line(Console(stderr=True), f"Synthetic log: {users:,} users, {rows:,} queries.")
    published = _release(config)
    if published is None:
        return
    print_line(Console(), "\nSample of the published threads:", "bold")
    for thread_id, text, sharing in published_threads(published / THREADS, DEMO_SAMPLE):
        line = f"  {thread_id[:8]}  {text}  ({sharing} threads with this list)"
        print_line(Console(), line)


@main.command()
@SOURCE
@click.option(
    "--k",
    "ks",
    default="2..20",
    show_default=True,
    callback=parse_ks,
    help="Values of k: a number, a range or a list of both, such as 3, 2..20 or 2,5,10.",
)
@click.option("--compare", is_flag=True, help="Also compute the cost of the paper's method.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for sweep.csv and sweep.png.")
@click.option(
    "--plot",
    "figure",
    type=click.Path(path_type=Path),
    help="File of the figure; requires matplotlib.",
)
@parameter_options(exclude=["k", *RELEASE_ONLY])
def sweep(
    source: tuple[str, ...],
    ks: tuple[int, ...],
    out: Path | None,
    figure: Path | None,
    *,
    compare: bool,
    **options: Any,  # noqa: ANN401 - any type
) -> None:
    """Dry run: cost for each k, nothing is published.

    SOURCE is read as by setanon release. Prints one line per k: the share of keywords retained,
    the numbers of edits, and the factor: cost divided by a lower bound of the least possible cost.
    """
    from setanon_dagster.cli.sweep import format_header, format_row, plot, sweep_rows, write_csv

    config = config_of(source, "", {**options, "k": ks[0]})
    configs = [replace(config, method=each) for each in ("best", "paper")] if compare else [config]
    rows: list[Any] = []
    for row in sweep_rows(configs, ks):
        if not rows:  # Not before: the source may be refused.
            print_line(Console(), format_header(row), "bold")
        rows.append(row)
        print_line(Console(), format_row(row))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_csv(rows, out / "sweep.csv")
        figure = figure or out / "sweep.png"
    if figure is not None:
        plot(rows, figure)
        print_line(Console(), f"\nFigure: {figure.absolute()}")


@main.command()
@SOURCE
@click.option("--all", "print_all", is_flag=True, help="Print all measures, not the main five.")
@parameter_options(exclude=RELEASE_ONLY)
def utility(source: tuple[str, ...], *, print_all: bool, **options: Any) -> None:  # noqa: ANN401 - any type
    """Dry run: utility of a release of SOURCE, nothing is published.

    SOURCE is read as by setanon release. Prints the five main measures for the original, for the
    release, and for the paper's method with p = 2.
    """
    from setanon_dagster.cli.utility import HEADER, format_main, format_measures, source_utility

    measures = source_utility(config_of(source, "", options))
    print_line(Console(), HEADER, "bold")
    for line in format_measures(measures) if print_all else format_main(measures):
        print_line(Console(), line)


@main.command()
@SOURCE
@click.option(
    "--full",
    is_flag=True,
    help="Also the slow attacks: stitching, releases without one person, attacker's accounts.",
)
@click.option(
    "--earlier", type=FILE, help="Folder of an earlier release, to compare the numbers of threads."
)
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path),
    help="Also write the figures to this file.",
)
@parameter_options(exclude=RELEASE_ONLY - {"format"})
def attack(
    source: tuple[str, ...],
    earlier: Path | None,
    csv_file: Path | None,
    *,
    full: bool,
    **options: Any,  # noqa: ANN401 - any type
) -> None:
    """Dry run: attack a release of SOURCE, nothing is published.

    SOURCE is read as by setanon release. Prints what each attack finds in the raw log, in the
    release, and in a release by the paper's method (each thread's own queries, p = 2, min_owners
    0), and one sentence about the release. The figures are private.
    """
    from setanon_dagster.cli.attack import HEADER, attack_source, format_result, write_csv

    config = config_of(source, "", options)
    results: list[Any] = []
    for result in attack_source(config, full=full, earlier=earlier):
        if not results:
            print_line(Console(), HEADER, "bold")
        results.append(result)
        for line in format_result(result):
            print_line(Console(), line)
    if csv_file is not None:
        write_csv(results, csv_file)


@main.command()
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=3000,
    show_default=True,
    help="Port of the web server, on 127.0.0.1.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder of releases to show; default: the demo.",
)
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    help="DAGSTER_HOME; default: DIR/private/dagster, or a folder of the demo.",
)
def ui(port: int, out: Path | None, home: Path | None) -> None:
    """Start the Dagster UI on the releases of DIR, or on the demo; stop it with Ctrl-C.

    DIR is the folder that setanon release wrote to. Its releases are assets with their counts; they
    can be released again, by schedule too, and verified. Without --out, SETANON_DEMO is the folder
    of the demo, .setanon-demo by default; the first run generates the log if it does not exist.
    """
    require_server()
    home = home or demo_folder() / "dagster" if out is None else open_output(out, home)
    print_line(Console(stderr=True), f"http://127.0.0.1:{port} (stop with Ctrl-C)", "bold")
    raise SystemExit(serve(home, port, out))


def _require_writable(config: ReleaseConfig) -> None:
    """Create the output folder before anything is read: a long run must not fail at its end."""
    try:
        with temporary_folder(private_folder(config.private)):
            pass
    except OSError as error:
        raise InvalidParameterError(
            f"out must be a folder that can be created and written; {type(error).__name__} was "
            "raised. Change its permissions, or set out to another folder."
        ) from None


def _release(config: ReleaseConfig) -> Path | None:
    """Run a release with progress on stderr and a summary on stdout; return its folder.

    None if it is verified and waits for approval.
    """
    from setanon_dagster.cli.progress import ReleaseProgress
    from setanon_dagster.quality.gx_worker import validation_worker
    from setanon_dagster.runtime.gc_imports import imports_without_gc

    _require_writable(config)
    signing_key(config.approval, config.signature)  # refused here, not after all stages
    progress = ReleaseProgress(Console(stderr=True))
    progress.started("loading Dagster")
    with validation_worker() if _is_small(config) else nullcontext():
        with imports_without_gc():
            from setanon_dagster.cli.run import run_release
        outcome = run_release(config, progress)
    for warning in outcome.warnings:
        print_line(Console(stderr=True), warning, "yellow")
    if outcome.waiting is not None:
        print_line(Console(), outcome.waiting, "bold yellow")
        print_values(Console(), report_path(outcome.counts))
        return None
    if outcome.folder is None:
        raise SetanonError(" ".join(outcome.failures))
    if outcome.certificate["format"] == "edited":
        warning = exposure_warning(outcome.certificate["verdict"], config.k)
        print_line(Console(stderr=True), f"Warning: {warning}", "yellow")
    print_summary(Console(), outcome.folder, outcome.certificate, outcome.counts)
    return outcome.folder


def _is_small(config: ReleaseConfig) -> bool:
    """Whether a shorter run is worth the memory of a second process."""
    return sum(path.stat().st_size for path in config.source.paths) <= MAX_PRELOAD_BYTES
