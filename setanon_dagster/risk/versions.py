"""The raw log, its release and the paper's release as attack data."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from setanon_core.params import ReleaseParams
from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.thread_columns import PublishedThreads
from setanon_core.utility.compare import paper_params
from setanon_dagster.risk.attack_columns import attack_data
from setanon_dagster.risk.attack_result import Attacked
from setanon_dagster.stages.anonymize import anonymize_clusters


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReleasedTables:
    """Published rows and private ledger of a release in memory."""

    published: pa.Table
    ledger: pa.Table

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show any data."""
        return f"ReleasedTables({len(self.ledger)} threads)"


def release_tables(clusters: pa.Table, params: ReleaseParams) -> ReleasedTables:
    """Release the table of `clusters`; nothing is written."""
    result = anonymize_clusters(clusters, params)
    published = result.threads.read_all()
    by_position = [("position", "ascending")] if "position" in published.column_names else []
    ordered = published.sort_by([("thread", "ascending"), *by_position])
    return ReleasedTables(ordered, result.ledger.read_all())


def attacked_versions(
    clusters: pa.Table,
    release: ReleasedTables,
    paper: ReleasedTables | None,
    k: int,
    *,
    has_queries: bool,
) -> Attacked[AttackData]:
    """The attack data of the raw log, the release and the paper's release, if there is one.

    `has_queries` is False for baskets.
    """
    data = attack_data(clusters, release.published, release.ledger, k)
    paper_data = None if paper is None else attack_data(clusters, paper.published, paper.ledger, k)
    return Attacked(raw_data(data, has_queries=has_queries), data, paper_data)


def paper_form(params: ReleaseParams, *, has_queries: bool) -> ReleaseParams:
    """The paper's method for the same k, with each thread's own queries and any sets."""
    return replace(
        paper_params(params), format="edited" if has_queries else "sets", combinations="any"
    )


def raw_data(data: AttackData, *, has_queries: bool) -> AttackData:
    """The raw log in place of a release: every typed thread with all of its queries."""
    typed = data.typed
    published = PublishedThreads(
        typed.keywords,
        typed.queries if has_queries else typed.queries[:0],
        typed.offsets if has_queries else np.zeros_like(typed.offsets),
        has_queries,
        typed.users,
        np.arange(len(typed.users)),
    )
    return replace(data, published=published)
