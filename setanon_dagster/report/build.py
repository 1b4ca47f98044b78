"""Gather what a report is made from, and put the page where only its owner can read it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from setanon_dagster.report.counts import group_sizes, losses, opened, rounds
from setanon_dagster.report.model import GroupSize, Measure, Report, SweepPoint
from setanon_dagster.report.page import page
from setanon_dagster.report.sample import sample
from setanon_dagster.storage.atomic import atomic_write
from setanon_dagster.storage.folders import private_folder

REPORT: Final = "report.html"
"""The page, in the private folder of its release."""

STAGES: Final = ("anonymized_threads", "ledger", "clusters", "cost_report")
"""The files that are read."""


def report_of(  # noqa: PLR0913 - the release, what else is known of it, and three limits
    name: str,
    certificate: Mapping[str, Any],
    files: Mapping[str, Path],
    *,
    sizes: Iterable[GroupSize] = (),
    sweep: Iterable[SweepPoint] = (),
    measures: Iterable[Measure] = (),
    show_threads: bool = False,
    cores: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> Report:
    """Count what the page says of a release; `files` are those of its stages, by their names.

    `sizes` are the verifier's, and counted by the threads' groups if it did not tell them.
    `show_threads` puts a few threads on the page, before and after: people's words.
    `cores` and `memory` limit DuckDB, which spills into a private folder made in `spill`.
    """
    cost = certificate["cost"]
    used = {stage: files[stage] for stage in STAGES}
    with opened(used, cores=cores, memory=memory, spill=spill) as connection:
        return Report(
            name=name,
            certificate=certificate,
            rounds=rounds(connection, certificate["k"], certificate["parameters"].get("method")),
            sizes=tuple(sizes) or group_sizes(connection, certificate["format"]),
            losses=losses(
                connection, certificate["min_owners"], cost["additions"], cost["deletions"]
            ),
            sweep=tuple(sweep),
            measures=tuple(measures),
            threads=sample(connection, certificate["format"]) if show_threads else (),
        )


def write_report(report: Report, folder: Path) -> Path:
    """Write the page into the private folder of its release, whole or not at all."""
    target = private_folder(folder) / REPORT
    with atomic_write(target) as file:
        file.write_text(page(report), encoding="utf-8", newline="\n")
    return target
