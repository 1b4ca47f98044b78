"""The release gate: stage a release, verify the staged file, then publish or refuse it.

Guarantee:  `latest` always points to a complete, verified release, the old or the new one, even if
            the process is killed. What a killed process leaves is removed by the next run.
            Equal threads give equal bytes and therefore the same release name.
"""

import errno
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb

from setanon_core.errors import InvalidParameterError, NotAnonymousError
from setanon_core.ranges import check_k
from setanon_dagster.gate.certificate import (
    Plain,
    build_certificate,
    certified_costs,
    counted_unit,
    published_parameters,
)
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.gate.staging import copy_private, link_or_copy, write_public
from setanon_dagster.storage.atomic import fsync_folder
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.folders import make_folder
from setanon_dagster.storage.parquet import read_parquet, write_parquet
from setanon_dagster.storage.temporary import (
    UNPUBLISHED,
    hold,
    remove_all_leftovers,
    temporary_folder,
)
from setanon_dagster.verifier.ledger_entries import wrong_ledger_entries
from setanon_dagster.verifier.release_file import verify_file
from setanon_dagster.verifier.release_folder import CERTIFICATE, LEDGER, THREADS, sha256_of
from setanon_dagster.verifier.sql import Limits
from setanon_dagster.verifier.typed_sets import require_typed_sets
from setanon_dagster.verifier.verdict import DetailedVerdict, FileVerdict

DATASHEET: Final = "DATASHEET.md"

PUBLIC: Final = frozenset({THREADS, CERTIFICATE, DATASHEET})
"""The only files of a release."""

LATEST: Final = "latest"

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "sets": ("thread_id", "keywords"),
    "queries": ("thread_id", "position", "query"),
    "edited": ("thread_id", "position", "query"),
}
"""The published columns by format; separate from the verifier's list, so that it refuses an error
in this one."""

SORT_COLUMNS: Final = ("thread_id", "position")

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFiles:
    """Parquet files of the stages whose rows are published or verified."""

    anonymized_threads: Path
    ledger: Path
    clusters: Path
    """Has the keywords that each user typed."""

    cost_report: Path | Mapping[str, Plain]
    """The cost report, or a mapping with the columns of its total row."""

    rejected_rows: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSpec:
    """What is published: the name of the release, and what it is verified and certified for."""

    name: str
    k: int
    min_owners: int | None = None
    """None: k."""

    format: str = "queries"
    parameters: Mapping[str, Plain] = field(default_factory=dict)
    """Further parameters for the certificate, which is public."""

    @property
    def owners(self) -> int:
        """`min_owners` with its default filled in."""
        return self.k if self.min_owners is None else self.min_owners


@dataclass(frozen=True, slots=True)
class Published:
    """A published release."""

    name: str
    """Name of its folder: the name of the release and the first 12 digits of the digest."""

    folder: Path
    digest: str
    """SHA-256 of the threads, in hexadecimal."""

    verdict: DetailedVerdict
    files: tuple[Path, ...]
    private: Path
    """The folder with the ledger."""


def publish(
    files: StageFiles,
    spec: ReleaseSpec,
    out: Path,
    *,
    cores: int | None = None,
    memory: str | None = None,
) -> Published:
    """Publish the anonymized threads into the folder `out` if the verifier accepts them.

    Otherwise raise `NotAnonymousError` and leave `out` unchanged. `cores` and `memory` ("4GB")
    limit DuckDB.
    """
    k = check_k(spec.k)
    parameters = published_parameters(spec.parameters, k, spec.owners, spec.format)
    if not _NAME.fullmatch(spec.name):
        raise InvalidParameterError(
            "name must be 1 to 100 letters, digits, _, . and -, starting with a letter or digit."
        )
    releases = make_folder(out / "releases", 0o755)
    private = make_folder(out / "private", 0o700)
    if not (releases / LATEST).is_symlink() and (releases / LATEST).exists():
        raise InvalidParameterError(
            "releases/latest must be a symbolic link or absent; it is a file or folder. Move it."
        )
    remove_all_leftovers(out)
    with (
        temporary_folder(releases) as staged,
        temporary_folder(private) as staged_private,
        temporary_folder(private) as spill,
    ):
        # Copy first: the verified files are the kept ones, even if the stages are replaced now.
        cost = _copy_stages(files, staged_private)
        clusters = spill / "clusters.parquet"
        link_or_copy(files.clusters, clusters)
        limits: Limits = {"cores": cores, "memory": memory, "spill": spill}
        ledger = staged_private / LEDGER
        # Our stages write sorted rows; sort only if the verifier finds unsorted ones.
        for sort in (False, True):
            _write_threads(
                files.anonymized_threads, staged / THREADS, spec.format, limits, sort=sort
            )
            verdict = verify_file(
                staged / THREADS, k, ledger, words=clusters, min_owners=spec.owners, **limits
            )
            if not verdict.unsorted_rows:
                break
        if parameters.get("combinations") == "typed":
            require_typed_sets(staged / THREADS, clusters, k, limits)
        costs = certified_costs(cost, parameters)
        _check_verdict(verdict, wrong_ledger_entries(ledger, clusters, **limits), costs)
        digest = sha256_of(staged / THREADS)
        certificate = build_certificate(digest, parameters, costs, verdict, counted_unit(clusters))
        write_public(
            staged / CERTIFICATE, json.dumps(certificate, indent=2, allow_nan=False) + "\n"
        )
        write_public(staged / DATASHEET, datasheet(spec.name, certificate))
        name = f"{spec.name}-{digest[:12]}"
        # Before the private files of an existing release are replaced.
        _check_existing(releases / name, staged, digest)
        _store_private_files(staged_private, private / name)
        with hold(private / name):
            _publish_folder(staged, releases / name, digest)
            (private / name / UNPUBLISHED).unlink(missing_ok=True)
    _switch_latest(releases, name)
    public = tuple(releases / name / file for file in (THREADS, CERTIFICATE, DATASHEET))
    return Published(name, releases / name, digest, verdict, public, private / name)


def _copy_stages(files: StageFiles, target: Path) -> Path | Mapping[str, Plain]:
    """Copy the private stages that are kept with the release; return the copied cost report."""
    copy_private(files.ledger, target / LEDGER)
    if files.rejected_rows is not None:
        copy_private(files.rejected_rows, target / "rejected.parquet")
    if not isinstance(files.cost_report, Path):
        return files.cost_report
    copy_private(files.cost_report, target / "cost.parquet")
    return target / "cost.parquet"


def _write_threads(source: Path, target: Path, form: str, limits: Limits, *, sort: bool) -> None:
    """Write the public columns, sorted by thread id if `sort` is set."""
    columns = COLUMNS[form]
    with connect(limits["memory"], limits["cores"], limits["spill"]) as connection:
        relation = read_parquet(source, connection, "anonymized_threads")
        with redact_engine_errors("anonymized_threads must have the columns of its format"):
            public = relation.select(*map(duckdb.ColumnExpression, columns))
        order_by = ", ".join(column for column in columns if column in SORT_COLUMNS)
        write_parquet(
            public, target, order_by=order_by if sort else None, mode=0o644, name="the release"
        )


def _check_verdict(verdict: FileVerdict, wrong_entries: int, costs: Mapping[str, Plain]) -> None:
    """Raise if the release is not k-anonymous, or empty; messages have counts only."""
    failures = verdict.failures
    if wrong_entries:
        failures.append(
            f"the ledger must name the user of each thread; {wrong_entries} entries are wrong"
        )
    if failures:
        raise NotAnonymousError(
            "a release must be k-anonymous and have nothing but its columns: "
            + "; ".join(failures)
            + ". Nothing was published; the latest release is unchanged."
        )
    if not verdict.records:
        raise InvalidParameterError(
            f"k = {verdict.k} must leave something to publish; {costs['withdrawals']} threads were "
            "withdrawn and none is left. Lower k or add threads of more users."
        )


def _store_private_files(staged: Path, target: Path) -> None:
    """Move the private files to their folder, before the release that needs them is public."""
    # If this process is killed before the release is public, the next run removes the files.
    (staged / UNPUBLISHED).touch(0o600)
    try:
        staged.rename(target)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        (staged / UNPUBLISHED).unlink()
        for file in sorted(staged.iterdir()):
            file.replace(target / file.name)
    fsync_folder(target)
    fsync_folder(target.parent)


def _publish_folder(staged: Path, target: Path, digest: str) -> None:
    """Rename the staged folder to its public name; an existing folder must be the same release."""
    staged.chmod(0o755)
    fsync_folder(staged)
    try:
        staged.rename(target)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
            raise
        _check_existing(target, staged, digest)
    fsync_folder(target.parent)


def _check_existing(existing: Path, staged: Path, digest: str) -> None:
    """Raise unless there is no release of this name, or the existing one is the staged one."""
    if not existing.is_symlink() and not existing.exists():
        return
    if (
        existing.is_symlink()
        or {path.name for path in existing.iterdir()} != PUBLIC
        or sha256_of(existing / THREADS) != digest
        or (certificate := _certificate_without_versions(existing)) is None
    ):
        raise InvalidParameterError(
            f"the folder of a published release must have its {len(PUBLIC)} files unchanged; the "
            f"existing folder {existing.name} has others. Move it away and publish again."
        )
    if certificate != _certificate_without_versions(staged):
        raise InvalidParameterError(
            f"a release must be published once; the same threads are already published as "
            f"{existing.name}, with other parameters or costs. Use that release, or move its "
            "folder away and publish again."
        )


def _certificate_without_versions(folder: Path) -> dict[str, Any] | None:
    """The certificate except the versions of the software; None if it is not a JSON object."""
    try:
        certificate = json.loads((folder / CERTIFICATE).read_bytes())
    except ValueError:
        return None
    # Another version of the software may have written the same threads.
    return {**certificate, "versions": None} if isinstance(certificate, dict) else None


def _switch_latest(releases: Path, name: str) -> None:
    """Replace the link `latest` atomically."""
    with temporary_folder(releases) as folder:
        (folder / LATEST).symlink_to(name)
        (folder / LATEST).replace(releases / LATEST)
    fsync_folder(releases)
