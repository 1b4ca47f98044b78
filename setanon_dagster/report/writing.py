"""Gather what a report is made from, and put the page where only its owner can read it."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from setanon_dagster.parquet import flush_folder, private_folder
from setanon_dagster.report.aggregates import group_sizes, losses, opened, rounds
from setanon_dagster.report.inputs import Measure, Report, SweepPoint
from setanon_dagster.report.page import page
from setanon_dagster.report.sample import sample

REPORT: Final = "report.html"
"""The page, in the private folder of its release."""

STAGES: Final = ("anonymized_threads", "ledger", "clusters", "cost_report")
"""The files that are read."""


def report_of(  # noqa: PLR0913 - the release, what else is known of it, and three limits
    name: str,
    certificate: Mapping[str, Any],
    files: Mapping[str, Path],
    *,
    sweep: Iterable[SweepPoint] = (),
    measures: Iterable[Measure] = (),
    show_threads: bool = False,
    threads: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> Report:
    """Count what the page says of a release; `files` are those of its stages, by their names.

    `show_threads` puts a few threads on the page, before and after: people's words.
    `threads` and `memory` limit DuckDB, which spills into a private folder made in `spill`.
    """
    cost = certificate["cost"]
    used = {stage: files[stage] for stage in STAGES}
    with opened(used, threads=threads, memory=memory, spill=spill) as connection:
        return Report(
            name=name,
            certificate=certificate,
            rounds=rounds(connection, certificate["k"], certificate["parameters"].get("method")),
            sizes=group_sizes(connection, certificate["format"]),
            losses=losses(
                connection, certificate["min_owners"], cost["additions"], cost["deletions"]
            ),
            sweep=tuple(sweep),
            measures=tuple(measures),
            threads=sample(connection, certificate["format"]) if show_threads else (),
        )


def write_report(report: Report, folder: Path) -> Path:
    """Write the page into the private folder of its release, whole or not at all."""
    text = page(report).encode("utf-8")
    target = private_folder(folder) / REPORT
    temporary = folder / f".{token_hex(8)}.part"
    # For its owner's eyes only, from the first byte on.
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    flush_folder(folder)
    return target
