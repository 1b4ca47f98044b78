"""Where the stages run: four small methods are all that an engine must offer.

Hashes, rounding, randomness and order never come from an engine, so that a release does not depend
on it.
"""

from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

GroupFunction = Callable[[pa.Table], pa.Table]
"""Whole groups, many at once and sorted by key and order, to a table; it can be pickled."""


class Engine(Protocol):
    """What runs relational work and maps over whole groups."""

    def read(self, uri: str) -> Any:  # noqa: ANN401 - each engine has relations of its own
        """Open a Parquet file as a relation; nothing is read yet."""

    def sql(self, query: str, **relations: object) -> Any:  # noqa: ANN401 - the same
        """Join, count or filter relations, which the query knows by their names here."""

    def group_map(
        self,
        relation: object,
        key: str,
        order: str,
        function: GroupFunction,
        schema: pa.Schema,
    ) -> Any:  # noqa: ANN401 - the same
        """Hand whole groups to the function; what it returns, in the order of the keys."""

    def write(self, relation: object, uri: str) -> int:
        """Write a Parquet file whole, or leave what was there; return the rows written."""
