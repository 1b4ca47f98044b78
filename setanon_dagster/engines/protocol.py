"""The interface of an engine: read, query, map over groups, number, write.

Hashes, rounding, random numbers and row order never depend on the engine, so a release is
byte-identical on all engines.
"""

from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from setanon_core.errors import SetanonError

GroupFunction = Callable[[pa.Table], pa.Table]
"""Maps a table of complete groups, sorted by key and order, to a table. Must be picklable."""


class Engine(Protocol):
    """Runs SQL and maps over groups of rows. Each engine has its own relation type."""

    def read(self, uri: str) -> Any:  # noqa: ANN401 - the engine's relation type
        """Open a Parquet file as a lazy relation."""

    def sql(self, query: str, **relations: object) -> Any:  # noqa: ANN401 - the engine's relation type
        """Run a query over relations, which it refers to by their keyword names.

        Identifiers are in double quotes; only functions that DuckDB and Spark define equally.
        """

    def group_map(  # noqa: PLR0913 - a relation, a function, and how to apply it
        self,
        relation: Any,  # noqa: ANN401
        key: str,
        order: str,
        function: GroupFunction,
        schema: pa.Schema,
        *,
        presorted: bool = False,
        max_group_rows: int | None = None,
        step: str = "rows",
    ) -> Any:  # noqa: ANN401 - the engine's relation type
        """Apply the function to complete groups of rows; results are in key order.

        `presorted`: the rows of the relation are in this order already.
        `max_group_rows`: the function treats a longer group as several groups of that many rows.
        `step`: the name under which progress is reported.
        Raises `CutGroupError` if the rows counted before and in the calls are not complete groups.
        """

    def number_runs(self, relation: Any, column: str, position: str) -> Any:  # noqa: ANN401
        """Replace a column of a result of `group_map` by the number of the run, from 0.

        A run starts at each row whose `position` is 0.
        """

    def collect(self, relation: Any, at_most: int) -> pa.Table:  # noqa: ANN401
        """All rows of a small relation; more than `at_most` are refused."""

    def write(self, relation: object, uri: str) -> int:
        """Write a Parquet file atomically and return its number of rows."""


def require_few(table: pa.Table, at_most: int) -> pa.Table:
    """Return the table; raise an error if it has more than `at_most` rows."""
    if len(table) > at_most:
        raise SetanonError(
            f"a relation must have at most {at_most} rows to be collected; it has more. Aggregate "
            "it in SQL first."
        )
    return table
