"""Run the attacks on a source: release it in memory by two methods, and attack both releases."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from setanon_core.model.inputs import Log
from setanon_core.params import ReleaseParams
from setanon_core.risk.attack_data import AttackData
from setanon_dagster.risk.attack_result import AttackResult
from setanon_dagster.risk.earlier_release import attack_earlier
from setanon_dagster.risk.repeated_releases import attack_by_accounts, attack_by_differences
from setanon_dagster.risk.stage_attacks import attack_stages
from setanon_dagster.risk.stored_stages import (
    MAX_THREADS,
    count_threads,
    read_clusters,
    read_released,
)
from setanon_dagster.risk.versions import attacked_versions, paper_form, release_tables
from setanon_dagster.stages.clusters import basket_clusters_table, clusters_table
from setanon_dagster.stages.threads import threads_table

MAX_REPEATED_THREADS: Final = 2_000
"""Threads of a source up to which a full report has the attacks that repeat the release."""


def attack_table(
    raw: pa.Table,
    kind: str,
    params: ReleaseParams,
    *,
    full: bool = False,
    earlier: pa.Table | None = None,
) -> Iterator[AttackResult]:
    """Attack a release of `raw` and the paper's release; yield each result when it is computed.

    `raw` is the table of the stage `raw_log` or `raw_baskets`; `kind` is its source's. `earlier`
    has the rows of an earlier release. `full` adds the slow attacks; baskets have no queries, so
    the attacks that repeat the release are left out for them.
    """
    has_queries = kind == "log"
    clusters = (
        clusters_table(threads_table(raw, params), params)
        if has_queries
        else basket_clusters_table(raw)
    )
    release = release_tables(clusters, params)
    paper = release_tables(clusters, paper_form(params, has_queries=has_queries))
    data = attacked_versions(clusters, release, paper, params.k, has_queries=has_queries)
    yield from attack_stages(data, full=full)
    if earlier is not None:
        yield attack_earlier(earlier, release.published, paper.published, params.k)
    if full and has_queries:
        yield from _repeat_releases(raw, clusters, data.raw, params)


def attack_stored(
    connection: DuckDBPyConnection, kind: str, params: ReleaseParams, raw: pa.Table | None = None
) -> tuple[AttackResult, ...]:
    """Attack a release by its stages; `connection` is of `open_stages`.

    `raw` is the table of the stage `raw_log` or `raw_baskets`: with it, the paper's release and
    the slow attacks are added. Without it, there are no attacks on more than `MAX_THREADS`.
    """
    has_queries = kind == "log"
    if raw is None and count_threads(connection) > MAX_THREADS:
        return ()
    clusters, release = read_clusters(connection), read_released(connection)
    paper = None
    if raw is not None:
        paper = release_tables(clusters, paper_form(params, has_queries=has_queries))
    data = attacked_versions(clusters, release, paper, params.k, has_queries=has_queries)
    results = tuple(attack_stages(data, full=raw is not None))
    if raw is None or not has_queries or len(clusters) > MAX_REPEATED_THREADS:
        return results
    return (*results, *_repeat_releases(raw, clusters, data.raw, params))


def _repeat_releases(
    raw: pa.Table, clusters: pa.Table, data: AttackData, params: ReleaseParams
) -> Iterator[AttackResult]:
    """The attacks that repeat the release; `data` is that of the raw log."""
    log, users = _log(raw), clusters["user"].to_pylist()
    yield attack_by_differences(log, users, data, params)
    yield attack_by_accounts(log, users, data, params)


def _log(raw: pa.Table) -> Log:
    times = pc.cast(raw["time"], pa.int64()).to_numpy()
    return Log(raw["user"].to_pylist(), times, raw["query"].to_pylist())
