"""The command `verify`: verify a published file, or the folder of a release."""

from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from rich.console import Console

from setanon_core.errors import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_dagster.cli.summary import print_line, print_verdict
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
    series_failures,
    series_releases,
    verify_folder,
)

PARQUET: Final = b"PAR1"
"""The first bytes of every Parquet file."""


def verify_path(
    path: Path,
    k: int | None,
    form: str | None = None,
    ledger: Path | None = None,
    private: Path | None = None,
) -> None:
    """Verify a file or folder, and print the verdict; raise `NotAnonymousError` if it fails."""
    if path.is_dir() and not (path / THREADS).is_file():
        failures = _verify_series(path, k, form, ledger, private)
    else:
        failures = _verify_one(path, k, form, ledger, private)
    if failures:
        raise NotAnonymousError("; ".join(failures) + ".")


def _verify_series(
    folder: Path, k: int | None, form: str | None, ledger: Path | None, private: Path | None
) -> list[str]:
    """Verify all releases of a name, `private` being the private folder of all releases."""
    releases = series_releases(folder)
    if not releases:
        raise InvalidParameterError(
            f"{folder} must be the folder of a release, or of the releases of a name; it has no "
            f"{THREADS}, and no folder with one."
        )
    if ledger is not None:
        raise InvalidParameterError(
            "--ledger must be given for one release; the folder has those of a name. Pass "
            "--private DIR/private."
        )
    failures = series_failures(folder, releases)
    for release in releases:
        of_release = None if private is None else private / release.name
        found = _verify_one(release, k, form, None, of_release)
        failures += [f"{release.name}: {each}" for each in found]
    return failures


def _verify_one(
    path: Path, k: int | None, form: str | None, ledger: Path | None, private: Path | None
) -> list[str]:
    """Verify a file or the folder of a release, print the verdict, and return the failures."""
    _require_release(path / THREADS if path.is_dir() else path)
    verdict = (
        _verify_release_folder(path, k, form, ledger, private)
        if path.is_dir()
        else _verify_single_file(path, k, form, _ledger_of(ledger, private))
    )
    result = "is a release" if verdict.ok else "is NOT a release"
    style = "bold green" if verdict.ok else "bold red"
    print_line(Console(), f"{path} {result} that is k-anonymous for k = {verdict.k}.", style)
    has_users = ledger is not None or private is not None
    print_verdict(Console(), verdict.threads, users=has_users)
    if verdict.format == "edited":
        warning = exposure_warning(
            asdict(verdict.threads), verdict.k, "user" if has_users else "thread"
        )
        print_line(Console(stderr=True), f"Warning: {warning}", "yellow")
    for each in verdict.unchecked:
        print_line(Console(), f"  not checked  {each}")
    return verdict.failures


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


def _verify_release_folder(
    folder: Path, k: int | None, form: str | None, ledger: Path | None, private: Path | None
) -> FolderVerdict:
    if form is not None:
        raise InvalidParameterError(
            "--format must not be given for a folder: its certificate has the format."
        )
    return verify_folder(
        folder, k, ledger=ledger, private=private, data_sheet=datasheet, version=_version()
    )


def _verify_single_file(
    path: Path, k: int | None, form: str | None, ledger: Path | None
) -> FolderVerdict:
    if k is None:
        raise InvalidParameterError("--k must be given for a single file: it has no certificate.")
    verdict = verify_file(path, k, ledger, format=form)
    failures = verdict.failures
    if not verdict.records:
        failures = failures or ["the file must have at least one thread; it has none"]
    if form is None and verdict.violating_lists and not verdict.violating_groups:
        failures.append("a file of the format edited is verified with --format edited")
    unchecked = [*([] if ledger else [NO_USERS]), NO_OWNERS, NO_CERTIFICATE]
    return FolderVerdict(k, form or "", verdict, failures, unchecked)


def _ledger_of(ledger: Path | None, private: Path | None) -> Path | None:
    return ledger if private is None else private / LEDGER


def _version() -> str:
    try:
        return version("setanon")
    except PackageNotFoundError:
        return "unknown"
