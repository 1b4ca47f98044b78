"""The command `verify`: verify a published file, or the folder of a release."""

from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from rich.console import Console

from setanon_core.errors import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_dagster.cli.summary import print_line, print_values, print_verdict
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.verifier.exposure import exposure_warning
from setanon_dagster.verifier.release_file import verify_file
from setanon_dagster.verifier.release_folder import (
    LEDGER,
    NO_CERTIFICATE,
    NO_OWNERS,
    NO_USERS,
    THREADS,
    FolderVerdict,
    verify_folder,
)
from setanon_dagster.verifier.release_series import series_failures, series_releases
from setanon_dagster.verifier.signature import PublicKeys, read_public_key

PARQUET: Final = b"PAR1"
"""The first bytes of every Parquet file."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command."""

    k: int | None = None
    form: str | None = None
    ledger: Path | None = None
    private: Path | None = None
    keys: tuple[Path, ...] = ()
    attributes: tuple[str, ...] = ()


def verify_path(path: Path, options: Options) -> None:
    """Verify a file or folder, and print the verdict; raise `NotAnonymousError` if it fails."""
    # Before anything long: a file that is not a public key is a bad argument.
    keys = {str(file): read_public_key(file) for file in options.keys}
    if path.is_dir() and not (path / THREADS).is_file():
        failures = _verify_series(path, options, keys)
    else:
        failures = _verify_one(path, options, keys)
    if failures:
        raise NotAnonymousError("; ".join(failures) + ".")


def _verify_series(folder: Path, options: Options, keys: PublicKeys) -> list[str]:
    """Verify all releases of a name, `private` being the private folder of all releases."""
    releases = series_releases(folder)
    if not releases:
        raise InvalidParameterError(
            f"{folder} must be the folder of a release, or of the releases of a name; it has no "
            f"{THREADS}, and no folder with one."
        )
    if options.ledger is not None:
        raise InvalidParameterError(
            "--ledger must be given for one release; the folder has those of a name. Pass "
            "--private DIR/private."
        )
    failures = series_failures(folder, releases)
    for release in releases:
        of_release = None if options.private is None else options.private / release.name
        found = _verify_one(release, replace(options, private=of_release), keys)
        failures += [f"{release.name}: {each}" for each in found]
    return failures


def _verify_one(path: Path, options: Options, keys: PublicKeys) -> list[str]:
    """Verify a file or the folder of a release, print the verdict, and return the failures."""
    _require_release(path / THREADS if path.is_dir() else path)
    verdict = (
        _verify_release_folder(path, options, keys)
        if path.is_dir()
        else _verify_single_file(path, options)
    )
    style = "bold green" if verdict.ok else "bold red"
    print_line(Console(), f"{path} {_result(verdict)} for k = {verdict.k}.", style)
    has_users = options.ledger is not None or options.private is not None
    print_verdict(Console(), verdict.threads, users=has_users)
    if verdict.signer is not None:
        print_values(Console(), [("signature", f"of the certificate, by the key {verdict.signer}")])
    if verdict.format == "edited":
        warning = exposure_warning(
            asdict(verdict.threads), verdict.k, "user" if has_users else "thread"
        )
        print_line(Console(stderr=True), f"Warning: {warning}", "yellow")
    for each in verdict.unchecked:
        print_line(Console(), f"  not checked  {each}")
    return verdict.failures


def _result(verdict: FolderVerdict) -> str:
    """The verdict in words: a folder may be refused although its threads are k-anonymous."""
    if verdict.ok:
        return "is a release that is k-anonymous"
    if verdict.threads.ok and verdict.threads.records:
        return "is NOT accepted as a release; its threads are k-anonymous"
    return "is NOT a release that is k-anonymous"


def _require_release(file: Path) -> None:
    """Raise if a file is neither Parquet nor TSV: it cannot be a release."""
    if file.suffix == ".tsv" or not file.is_file():
        return
    with file.open("rb") as stream:
        if stream.read(len(PARQUET)) == PARQUET:
            return
    raise MalformedInputError(
        f"FILE must be a release: a Parquet file, or the folder with it; {file} is not a release, "
        "since it is not a Parquet file. Verify the folder of a release, such as "
        "DIR/releases/NAME/latest."
    )


def _verify_release_folder(folder: Path, options: Options, keys: PublicKeys) -> FolderVerdict:
    if options.form is not None:
        raise InvalidParameterError(
            "--format must not be given for a folder: its certificate has the format."
        )
    return verify_folder(
        folder,
        options.k,
        ledger=options.ledger,
        private=options.private,
        keys=keys,
        data_sheet=datasheet,
        version=_version(),
    )


def _verify_single_file(path: Path, options: Options) -> FolderVerdict:
    if options.k is None:
        raise InvalidParameterError("--k must be given for a single file: it has no certificate.")
    if options.keys:
        raise InvalidParameterError(
            "--key must be given for the folder of a release: a single file has no signature."
        )
    private = options.private
    ledger = options.ledger if private is None else private / LEDGER
    verdict = verify_file(
        path, options.k, ledger, format=options.form, attributes=options.attributes
    )
    failures = verdict.failures
    if not verdict.records:
        failures = failures or ["the file must have at least one thread; it has none"]
    if options.form is None and verdict.violating_lists and not verdict.violating_groups:
        failures.append("a file of the format edited is verified with --format edited")
    unchecked = [*([] if ledger else [NO_USERS]), NO_OWNERS, NO_CERTIFICATE]
    return FolderVerdict(options.k, options.form or "", verdict, failures, unchecked)


def _version() -> str:
    try:
        return version("setanon")
    except PackageNotFoundError:
        return "unknown"
