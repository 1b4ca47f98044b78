"""Build the report of a release from its stage files, and write it to the private folder."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from duckdb import DuckDBPyConnection

from setanon_dagster.config import ReleaseConfig
from setanon_dagster.gate.release_spec import Published
from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.report.comparison import sweep_totals, table_utility
from setanon_dagster.report.counts import group_sizes, losses, rounds
from setanon_dagster.report.decision import read_decision, show_decision
from setanon_dagster.report.earlier_figures import decision_figures, find_earlier, write_figures
from setanon_dagster.report.model import GroupSize, Report, SweepPoint, sweep_points
from setanon_dagster.report.page import decision_place, page
from setanon_dagster.report.personal_words import find_personal_words
from setanon_dagster.report.release_facts import RAW, read_facts
from setanon_dagster.report.sample import sample
from setanon_dagster.risk.run_attacks import attack_stored
from setanon_dagster.risk.stored_stages import MAX_THREADS, count_threads
from setanon_dagster.sources.source_counts import read_source_counts
from setanon_dagster.stages.load_threads import load_threads
from setanon_dagster.storage.atomic import atomic_write
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import read_parquet
from setanon_dagster.verifier.release_folder import CERTIFICATE

REPORT: Final = "report.html"
"""File name of the page, in the private folder of its release."""

STAGES: Final = ("anonymized_threads", "ledger", "clusters", "cost_report")
"""Stages that every report reads."""

KS: Final = (2, 3, 5, 10, 20)
"""Values of k in the sweep of a full report, besides the k of the release."""


def write_release_report(
    config: ReleaseConfig, published: Published, files: Mapping[str, Path]
) -> tuple[Report, Path]:
    """Build and write the report of a published release; return it and the path of its page.

    `files` has the Parquet file of each stage by stage name.
    """
    certificate = json.loads((published.private / CERTIFICATE).read_text("utf-8"))
    raw_file = files[f"raw_{config.source.kind}"]
    raw = _raw_table(config, raw_file) if config.report == "full" else None
    stages = {RAW: raw_file} | {stage: files[stage] for stage in STAGES}
    with open_stages(stages, memory=config.memory.duckdb, spill=config.stages) as connection:
        report = report_of(
            published.name,
            certificate,
            connection,
            sizes=(GroupSize(*size) for size in published.verdict.sizes),
            show_threads=config.show_threads,
        )
        report = replace(
            report,
            risk=attack_stored(connection, config.source.kind, config.params(), raw),
            facts=read_facts(
                connection,
                certificate["format"],
                config.upstream or config.source.name,
                read_source_counts(files["rejected_rows"]),
                attributes=config.attribute_names,
            ),
            personal=find_personal_words(connection, config.k)
            if raw is not None or count_threads(connection) <= MAX_THREADS
            else None,
            earlier=find_earlier(published.private, config.name),
            decision=read_decision(published.private),
        )
    write_figures(decision_figures(certificate, report.facts), published.private)
    if raw is not None:
        report = replace(
            report,
            sweep=_sweep(config, files["clusters"]),
            utility=table_utility(raw, config.source.kind, config.params()),
        )
    return report, write_report(report, published.private)


def report_of(
    name: str,
    certificate: Mapping[str, Any],
    connection: DuckDBPyConnection,
    *,
    sizes: Iterable[GroupSize] = (),
    show_threads: bool = False,
) -> Report:
    """Count what needs no other release and no attack; `connection` is of `open_stages`.

    `sizes` are the group sizes that the verifier counted; if empty, they are counted here.
    `show_threads` adds a few threads, before and after: words of users.
    """
    cost = certificate["cost"]
    return Report(
        name=name,
        certificate=certificate,
        rounds=rounds(connection, certificate["k"], certificate["parameters"].get("method")),
        sizes=tuple(sizes) or group_sizes(connection, certificate["format"]),
        losses=losses(connection, certificate["min_owners"], cost["additions"], cost["deletions"]),
        threads=sample(connection, certificate["format"]) if show_threads else (),
    )


def write_report(report: Report, folder: Path) -> Path:
    """Write the page atomically into the private folder of its release."""
    target = private_folder(folder) / REPORT
    with atomic_write(target) as file:
        file.write_text(page(report), encoding="utf-8", newline="\n")
    return target


def update_decision(folder: Path) -> None:
    """Show the decision in the private folder of a release in its report, if it has one."""
    if (folder / REPORT).is_file():
        show_decision(folder / REPORT, decision_place(read_decision(folder)))


def _sweep(config: ReleaseConfig, clusters: Path) -> tuple[SweepPoint, ...]:
    """Cost for several k, by the methods best and paper."""
    methods = [
        replace(config, method=method, grouper=None).params() for method in ("best", "paper")
    ]
    with connect(config.memory.duckdb, temp_folder=config.stages) as connection:
        threads = load_threads(read_parquet(clusters, connection), config.params())
    return sweep_points(sweep_totals(threads, methods, sorted({*KS, config.k})))


def _raw_table(config: ReleaseConfig, raw: Path) -> pa.Table:
    """The table of the first stage."""
    with connect(config.memory.duckdb, temp_folder=config.stages) as connection:
        return read_parquet(raw, connection).to_arrow_table()
