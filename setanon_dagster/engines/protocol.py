"""The interface of an engine: read, query, map over groups, write.

Hashes, rounding, random numbers and row order never depend on the engine, so a release is
byte-identical on all engines.
"""

from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

GroupFunction = Callable[[pa.Table], pa.Table]
"""Maps a table of complete groups, sorted by key and order, to a table. Must be picklable."""


class Engine(Protocol):
    """Runs SQL and maps over groups of rows. Each engine has its own relation type."""

    def read(self, uri: str) -> Any:  # noqa: ANN401 - the engine's relation type
        """Open a Parquet file as a lazy relation."""

    def sql(self, query: str, **relations: object) -> Any:  # noqa: ANN401 - the engine's relation type
        """Run a query over relations, which it refers to by their keyword names."""

    def group_map(
        self,
        relation: object,
        key: str,
        order: str,
        function: GroupFunction,
        schema: pa.Schema,
    ) -> Any:  # noqa: ANN401 - the engine's relation type
        """Apply the function to complete groups of rows; results are in key order."""

    def write(self, relation: object, uri: str) -> int:
        """Write a Parquet file atomically and return its number of rows."""
