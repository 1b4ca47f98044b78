"""Attack a release by its stage files, for the private report."""
# ruff: noqa: S608 - statements are built from constants

from typing import Final

import pyarrow as pa
from duckdb import DuckDBPyConnection

from setanon_dagster.risk.versions import ReleasedTables

MAX_THREADS: Final = 200_000
"""Threads of a source up to which a plain report has attacks: more would take too long."""

CLUSTER_COLUMNS: Final = ("thread", "user", "name", "words", "lengths", "keys")
"""Columns of `clusters` that the attacks and the grouping need; only baskets have names."""


def count_threads(connection: DuckDBPyConnection) -> int:
    """The number of threads of the source; `connection` is of `open_stages`."""
    ((threads,),) = connection.execute("SELECT count(*) FROM clusters").fetchall()
    return int(threads)


def read_clusters(connection: DuckDBPyConnection) -> pa.Table:
    """The typed threads in order of their numbers."""
    stored = connection.view("clusters").columns
    columns = ", ".join(f'"{name}"' for name in CLUSTER_COLUMNS if name in stored)
    return connection.sql(f"SELECT {columns} FROM clusters ORDER BY thread").to_arrow_table()


def read_released(connection: DuckDBPyConnection) -> ReleasedTables:
    """The published rows in order of thread and position, and the ledger."""
    has_lists = "query" in connection.view("anonymized_threads").columns
    rows, order = ("position, query", "thread, position") if has_lists else ("keywords", "1")
    published = f"SELECT thread, {rows} FROM anonymized_threads ORDER BY {order}"
    return ReleasedTables(
        connection.sql(published).to_arrow_table(),
        connection.sql("SELECT thread FROM ledger").to_arrow_table(),
    )
