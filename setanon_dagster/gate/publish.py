"""The gate: stage a release, verify the very file, then give it its public name, or refuse.

Guarantee:  `latest` is a whole, verified release at any moment, the old one or the new one, even
            if the process is killed. What a kill leaves behind is hidden in `.staging-*`.
            The same threads give the same bytes and so the same name.
"""

import errno
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Final

import duckdb

from setanon_core.errors import InvalidParameterError, NotAnonymousError
from setanon_core.ranges import check_k
from setanon_dagster.gate.certificate import (
    CERTIFICATE,
    THREADS,
    Plain,
    build_certificate,
    certified_costs,
    published_parameters,
    sha256_of,
    unit_of,
)
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.gate.staging import (
    STAGING_PREFIX,
    copy_private,
    link_or_copy,
    make_folder,
    staging_folder,
    write_public,
)
from setanon_dagster.storage.atomic import fsync_folder
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.parquet import read_parquet, write_parquet
from setanon_dagster.verifier.owners import wrong_ledger_entries
from setanon_dagster.verifier.release_file import LAYOUTS, verify_file
from setanon_dagster.verifier.sql import Limits
from setanon_dagster.verifier.verdict import DetailedVerdict, FileVerdict

DATASHEET: Final = "DATASHEET.md"

PUBLIC: Final = frozenset({THREADS, CERTIFICATE, DATASHEET})
"""The files of a release, and there are no others."""

LATEST: Final = "latest"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True)
class Published:
    """A release that has its public name."""

    name: str
    """Its folder's: the name asked for, and the first 12 digits of the digest."""

    folder: Path
    digest: str
    """SHA-256 of the threads, in hexadecimal."""

    verdict: DetailedVerdict
    files: tuple[Path, ...]
    private: Path
    """The folder with the ledger."""


def publish(  # noqa: PLR0913, PLR0917 - what is published, what it is held against, how it was made
    anonymized: Path,
    ledger: Path,
    clusters: Path,
    cost: Path | Mapping[str, Plain],
    out: Path,
    name: str,
    k: int,
    min_owners: int | None,
    format: str,  # noqa: A002 - the knob's name everywhere
    parameters: Mapping[str, Plain],
    *,
    rejected: Path | None = None,
    cores: int | None = None,
    memory: str | None = None,
) -> Published:
    """Publish the threads of a Parquet file, if they are k-anonymous by the ledger.

    `clusters` has what each user typed; `cost` is the cost report, or the numbers of its total.
    `parameters` are told to the public in the certificate. `cores` and `memory` limit DuckDB.
    """
    k = check_k(k)
    owners = k if min_owners is None else min_owners
    told = published_parameters(parameters, k, owners, format)
    if not _NAME.fullmatch(name):
        raise InvalidParameterError(
            "name must be 1 to 100 letters, digits, _, . and -, beginning with a letter or digit."
        )
    releases = make_folder(out / "releases", 0o755)
    private = make_folder(out / "private", 0o700)
    if not (releases / LATEST).is_symlink() and (releases / LATEST).exists():
        raise InvalidParameterError("releases/latest must be a link or nothing. Move it away.")
    with (
        staging_folder(releases) as staged,
        staging_folder(private) as kept,
        staging_folder(private) as spill,
    ):
        # Copies first: what is verified is what is kept, whoever writes the sources meanwhile.
        given = {"ledger": ledger, "cost": cost, "rejected": rejected}
        for what, source in given.items():
            if isinstance(source, Path):
                copy_private(source, kept / f"{what}.parquet")
        typed = spill / "clusters.parquet"
        link_or_copy(clusters, typed)
        limits: Limits = {"cores": cores, "memory": memory, "spill": spill}
        entries = kept / "ledger.parquet"
        # They come in order, but for some other maker's: what is sorted already is not sorted.
        for order in (False, True):
            _write_threads(anonymized, staged / THREADS, format, limits, order=order)
            verdict = verify_file(
                staged / THREADS, k, entries, words=typed, min_owners=owners, **limits
            )
            if not verdict.unsorted_rows:
                break
        costs = certified_costs(kept / "cost.parquet" if isinstance(cost, Path) else cost, told)
        _refuse(verdict, wrong_ledger_entries(entries, typed, **limits), costs)
        digest = sha256_of(staged / THREADS)
        certificate = build_certificate(digest, told, costs, verdict, unit_of(typed))
        write_public(
            staged / CERTIFICATE, json.dumps(certificate, indent=2, allow_nan=False) + "\n"
        )
        write_public(staged / DATASHEET, datasheet(name, certificate))
        full = f"{name}-{digest[:12]}"
        _keep(kept, private / full)
        _name(staged, releases / full, digest)
    _point(releases, full)
    files = tuple(releases / full / each for each in (THREADS, CERTIFICATE, DATASHEET))
    return Published(full, releases / full, digest, verdict, files, private / full)


def _write_threads(source: Path, target: Path, form: str, limits: Limits, *, order: bool) -> None:
    """Write the public columns, in an order that tells nothing; that of the source, or anew."""
    columns = [name for name, _ in LAYOUTS[form]]
    by = ", ".join(each for each in columns if each in {"thread_id", "position"})
    with connect(limits["memory"], limits["cores"], limits["spill"]) as connection:
        relation = read_parquet(source, connection, "anonymized_threads")
        with redact_engine_errors("anonymized_threads must have the columns of its format"):
            chosen = relation.select(*map(duckdb.ColumnExpression, columns))
        ordered = by if order else None
        write_parquet(chosen, target, order_by=ordered, mode=0o644, name="the release")


def _refuse(verdict: FileVerdict, false: int, costs: Mapping[str, Plain]) -> None:
    """Fail closed, with counts."""
    failures = verdict.failures
    if false:
        failures.append(f"the ledger must name the user of each thread; {false} are another's")
    if failures:
        raise NotAnonymousError(
            "a release must be k-anonymous and nothing else may be in it: "
            + "; ".join(failures)
            + ". Nothing was published, and the latest release is as it was."
        )
    if not verdict.records:
        raise InvalidParameterError(
            f"k = {verdict.k} must leave something to publish; {costs['withdrawals']} threads were "
            "withdrawn and none is left. Lower k or bring threads of more users."
        )


def _keep(staged: Path, target: Path) -> None:
    """Give the private files their name, before there is anything public that needs them."""
    target.mkdir(mode=0o700, exist_ok=True)
    for file in sorted(staged.iterdir()):
        file.replace(target / file.name)
    fsync_folder(target)
    fsync_folder(target.parent)


def _name(staged: Path, target: Path, digest: str) -> None:
    """Give the release its public name; one that is there already must be the same."""
    staged.chmod(0o755)
    fsync_folder(staged)
    try:
        staged.rename(target)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
            raise
        if not _same(target, staged, digest):
            raise InvalidParameterError(
                "the folder of a release must not have been changed; one of this name and digest "
                "has other files. Move it away, and find out who changed it."
            ) from None
    fsync_folder(target.parent)


def _same(target: Path, staged: Path, digest: str) -> bool:
    """Whether a folder is this very release: its files and no others, and what they certify."""
    if target.is_symlink() or {path.name for path in target.iterdir()} != PUBLIC:
        return False
    old, new = (json.loads((each / CERTIFICATE).read_bytes()) for each in (target, staged))
    # Another version of the software may have made the same threads.
    told = [{key: value for key, value in each.items() if key != "versions"} for each in (old, new)]
    return told[0] == told[1] and sha256_of(target / THREADS) == digest


def _point(releases: Path, full: str) -> None:
    """Swap `latest` in one step."""
    link = releases / f"{STAGING_PREFIX}{token_hex(8)}"
    link.symlink_to(full)
    try:
        link.replace(releases / LATEST)
    finally:
        link.unlink(missing_ok=True)
    fsync_folder(releases)
