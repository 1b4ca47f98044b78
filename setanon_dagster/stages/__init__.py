"""The stages as functions of Arrow tables and streams: what the assets call; nothing of Dagster.

Each takes what the stage before it has stored and returns its own; the algorithms are the core's.
"""

from setanon_dagster.stages.anonymized import Anonymization, anonymize_clusters
from setanon_dagster.stages.clusters import (
    ROUNDS,
    basket_clusters_table,
    cluster_counts,
    clusters_stream,
    clusters_table,
)
from setanon_dagster.stages.costs import TOTAL, cost_table
from setanon_dagster.stages.stored import threads_of
from setanon_dagster.stages.threads import threads_stream, threads_table

__all__ = [
    "ROUNDS",
    "TOTAL",
    "Anonymization",
    "anonymize_clusters",
    "basket_clusters_table",
    "cluster_counts",
    "clusters_stream",
    "clusters_table",
    "cost_table",
    "threads_of",
    "threads_stream",
    "threads_table",
]
