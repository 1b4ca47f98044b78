"""The command line: release, verify, demo, sweep, utility, ui. Numbers come out of it, never data.

Exit codes: 0 if it is as asked, 1 if it was refused or failed, 2 for arguments that cannot be.
Loading it loads neither Dagster nor what is slow: the commands do that when they need it.
"""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from traceback import extract_tb
from typing import Any, Final

import click
from rich.console import Console

from setanon_core.errors import InvalidParameterError, SetanonError
from setanon_dagster.cli.options import config_of, parameter_options, parse_ks
from setanon_dagster.cli.progress import ReleaseProgress, print_line, print_summary, print_verdict
from setanon_dagster.cli.ui import require_server, serve
from setanon_dagster.config import SECRET, ReleaseConfig
from setanon_dagster.demo.release import LOG, USERS, demo_config, demo_folder, published_threads
from setanon_dagster.quality.gx_worker import validation_worker
from setanon_dagster.runtime.gc_imports import imports_without_gc
from setanon_dagster.verifier.release_file import verify_file
from setanon_dagster.verifier.release_folder import THREADS

SMALL: Final = 1 << 28
"""Bytes of a log, compressed or not, up to which Great Expectations loads while the stages run."""

LOOK: Final = 5
"""Published threads that the demo shows."""

FILE: Final = click.Path(path_type=Path, exists=True)
SOURCE: Final = click.argument("source", nargs=-1, required=True)


class BadArgumentError(click.ClickException):
    """An argument that cannot be; our sentence says more than click's usage would."""

    exit_code = 2


class Commands(click.Group):
    """Commands that end with a sentence: no traceback, and no text of an error that is not ours."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click's own
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except InvalidParameterError as error:
            raise BadArgumentError(str(error)) from None
        except SetanonError as error:
            raise click.ClickException(str(error)) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click knows how to end for these
        except Exception as error:  # noqa: BLE001 - whatever it is, its text must not get through
            place = extract_tb(error.__traceback__)[-1]
            raise click.ClickException(
                f"The command must run through; {type(error).__name__} was raised in {place.name}, "
                f"line {place.lineno} of {Path(place.filename).name}. Its text is withheld, since "
                "it may hold data."
            ) from None


@click.group(cls=Commands, context_settings={"max_content_width": 100})
@click.version_option(package_name="setanon", prog_name="setanon")
def main() -> None:
    """Publish search logs and baskets so that at least k users share every published set."""


@main.command(
    epilog=f"{SECRET} in the environment is the key of the thread ids; without it, they are of a "
    "fresh and random one, and differ from those of any other release."
)
@SOURCE
@click.option("--out", required=True, metavar="DIR", help="Folder of the releases.")
@parameter_options()
def release(source: tuple[str, ...], out: str, **given: Any) -> None:  # noqa: ANN401 - the parameters
    """Read SOURCE, anonymize, check, verify and publish it.

    SOURCE is TSV, CSV (also gzip) or Parquet, several files or a pattern, or a DuckDB file with
    --table. Without a header, columns are user, time and query, or record and item, in this order,
    or where --user-column and the others say. What may be published is in DIR/releases; DIR/private
    may not.
    """
    _release(config_of(source, out, given))


@main.command()
@click.argument("file", type=FILE)
@click.option("--k", type=int, required=True, help="Users that must share every set; at least 2.")
@click.option("--ledger", type=FILE, help="The private ledger: count users, not threads.")
def verify(file: Path, k: int, ledger: Path | None) -> None:
    """Count what keeps FILE from being k-anonymous, by plain SQL.

    FILE is a published file or the folder of a release, such as DIR/releases/latest. Without the
    ledger every thread counts as a user of its own: all that a reader can check.
    """
    verdict = verify_file(file / THREADS if file.is_dir() else file, k, ledger)
    good = verdict.ok and verdict.records > 0
    said = "is a release" if good else "is NOT a release"
    style = "bold green" if good else "bold red"
    print_line(Console(), f"{file} {said} that is k-anonymous for k = {k}.", style)
    print_verdict(Console(), verdict, users=ledger is not None)
    if not good:
        faults = verdict.failures or ["there must be threads in it; there are none"]
        raise click.ClickException("; ".join(faults) + ".")


@main.command()
@click.option("--users", type=int, default=USERS, show_default=True, help="At least 1.")
@click.option("--queries", type=int, help="At least one for each user; about five by default.")
@click.option("--seed", type=int, default=0, show_default=True, help="0 or more.")
@click.option("--k", type=int, default=3, show_default=True, help="At least 2.")
@click.option("--out", metavar="DIR", help="Folder of log and release; .setanon-demo by default.")
def demo(users: int, queries: int | None, seed: int, k: int, out: str | None) -> None:
    """Make up a search log, release it, and show some of it."""
    from setanon_dagster.demo.log import write_demo_log

    folder = demo_folder() if out is None else Path(out).absolute()
    config = demo_config(folder, k)
    folder.mkdir(parents=True, exist_ok=True)
    rows = write_demo_log(folder / LOG, users, queries, seed)
    print_line(Console(stderr=True), f"A log of {users:,} invented users and {rows:,} queries.")
    published = _release(config)
    print_line(Console(), "\nSome of what anybody may read:", "bold")
    for thread, text, shared in published_threads(published / THREADS, LOOK):
        print_line(Console(), f"  {thread[:8]}  {text}  ({shared} threads with these keywords)")


@main.command()
@SOURCE
@click.option(
    "--k", "ks", default="2..20", show_default=True, callback=parse_ks, help="Which k to try."
)
@click.option("--compare", is_flag=True, help="Put the paper's method beside ours.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for sweep.csv and sweep.png.")
@click.option("--plot", "figure", type=click.Path(path_type=Path), help="File of the figure.")
@parameter_options(exclude=["k", "name", "format", "engine"])
def sweep(
    source: tuple[str, ...],
    ks: tuple[int, ...],
    out: Path | None,
    figure: Path | None,
    *,
    compare: bool,
    **given: Any,  # noqa: ANN401 - the parameters
) -> None:
    """Tell what a release of SOURCE would cost for each k; publish nothing."""
    from setanon_dagster.cli.sweep import HEADER, format_row, plot, sweep_rows, write_csv

    config = config_of(source, "", {**given, "k": ks[0]})
    configs = [replace(config, method=each) for each in ("best", "paper")] if compare else [config]
    rows = []
    print_line(Console(), HEADER, "bold")
    for row in sweep_rows(configs, ks):
        rows.append(row)
        print_line(Console(), format_row(row))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_csv(rows, out / "sweep.csv")
        figure = figure or out / "sweep.png"
    if figure is not None:
        plot(rows, figure)
        print_line(Console(), f"\nThe figure is {figure.absolute()}.")


@main.command()
@SOURCE
@parameter_options(exclude=["name", "format", "engine"])
def utility(source: tuple[str, ...], **given: Any) -> None:  # noqa: ANN401 - the parameters
    """Tell what a release of SOURCE would still be good for; publish nothing.

    Beside it stand the original, and the paper's method with p = 2.
    """
    from setanon_dagster.cli.utility import HEADER, format_scores, source_utility

    config = config_of(source, "", given)
    print_line(Console(), HEADER, "bold")
    for line in format_scores(source_utility(config)):
        print_line(Console(), line)


@main.command()
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True)
@click.option("--home", type=click.Path(path_type=Path), help="DAGSTER_HOME; in the demo's folder.")
def ui(port: int, home: Path | None) -> None:
    """Open the demo in Dagster's pages; Ctrl-C ends it.

    SETANON_DEMO in the environment names the demo's folder, .setanon-demo by default. The first run
    makes the log, if it is missing.
    """
    require_server()
    print_line(Console(stderr=True), f"http://127.0.0.1:{port}, until Ctrl-C.", "bold")
    raise SystemExit(serve(home or demo_folder() / "dagster", port))


def _release(config: ReleaseConfig) -> Path:
    """Release, with progress on stderr and the summary on stdout; refused, that is an error."""
    progress = ReleaseProgress(Console(stderr=True))
    progress.started("loading Dagster")
    with validation_worker() if _is_small(config) else nullcontext():
        with imports_without_gc():
            from setanon_dagster.cli.run import run_release
        outcome = run_release(config, progress)
    for remark in outcome.remarks:
        print_line(Console(stderr=True), remark, "yellow")
    if outcome.folder is None:
        raise click.ClickException(" ".join(outcome.failures))
    print_summary(Console(), outcome.folder, outcome.certificate, outcome.counts)
    return outcome.folder


def _is_small(config: ReleaseConfig) -> bool:
    """Whether seconds matter more than the memory of one more process."""
    return sum(path.stat().st_size for path in config.source.paths) <= SMALL


if __name__ == "__main__":
    main()
