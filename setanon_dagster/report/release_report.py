"""The report of a release: what can be counted and, if asked for, what other k would cost."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from setanon_core.pipeline.release_threads import sweep
from setanon_core.utility.measured import Measured
from setanon_dagster.cli.utility import measure_table
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.gate.publish import Published
from setanon_dagster.report.build import report_of, write_report
from setanon_dagster.report.model import GroupSize, Report, measures_of, sweep_points
from setanon_dagster.stages.cost_report import TOTAL, cost_table
from setanon_dagster.stages.stored_threads import load_threads
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.parquet import read_parquet
from setanon_dagster.verifier.release_folder import CERTIFICATE

KS: Final = (2, 3, 5, 10, 20)
"""Where a full report sweeps, and the k of the release besides."""


def write_release_report(
    config: ReleaseConfig, published: Published, files: Mapping[str, Path]
) -> tuple[Report, Path]:
    """Write the page of a release into its private folder; `files` are those of its stages."""
    certificate = json.loads((published.folder / CERTIFICATE).read_text("utf-8"))
    full = config.report == "full"
    report = report_of(
        published.name,
        certificate,
        files,
        sizes=(GroupSize(*size) for size in published.verdict.sizes),
        sweep=sweep_points(_sweep(config, files["clusters"])) if full else (),
        measures=measures_of(_measures(config, files["clusters"])) if full else (),
        show_threads=config.show_threads,
        memory=config.memory_limit,
        spill=config.stages,
    )
    return report, write_report(report, published.private)


def _sweep(config: ReleaseConfig, clusters: Path) -> Iterator[Mapping[str, Any]]:
    """The total cost for several k, by our method and by the paper's."""
    methods = [replace(config, method=method, grouper=None) for method in ("best", "paper")]
    with connect(config.memory_limit, temp_folder=config.stages) as connection:
        threads = load_threads(read_parquet(clusters, connection), config.params())
    for params in (method.params() for method in methods):
        for cost in sweep(threads, params, sorted({*KS, config.k})):
            rows = cost_table([cost], params).to_pylist()
            yield from (row for row in rows if row["round"] == TOTAL)


def _measures(config: ReleaseConfig, clusters: Path) -> tuple[Measured, ...]:
    """What the release is still good for; the log is found beside the clusters."""
    # Not an input of the asset: the release is made from what was checked, and from nothing else.
    raw = clusters.parent.parent / f"raw_{config.source.kind}" / clusters.name
    with connect(config.memory_limit, temp_folder=config.stages) as connection:
        table = read_parquet(raw, connection).to_arrow_table()
    return measure_table(table, config.source.kind, config.params())
