"""Batches of cells, the output of every reader, and the positions of the selected columns."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from setanon_core.errors import MalformedInputError
from setanon_dagster.sources.source import DEFAULTS, Column, Source, require_other_columns

CELLS: Final = ("c0", "c1", "c2")
"""Names of the selected cells: user, time, query of a log; record, item, user of baskets. Those of
attributes follow: c3, c4, and so on."""

MAX_NAMES: Final = 20
"""Columns that an error names."""

MAX_NAME_LENGTH: Final = 40
"""Characters of a column name that an error shows."""


class CellBatch(NamedTuple):
    """Selected cells of consecutive records, with their line numbers and counts."""

    table: pa.Table | None
    """Columns line, reason (NULL unless the record is rejected) and `CELLS`; None if empty."""

    records: int
    """Records in this batch, rejected ones included; blank lines and headers are not records."""

    blank: int
    """Blank lines."""

    lines: int
    """All physical lines."""


def cell_table(line: pa.Array, reason: pa.Array, cells: list[pa.Array]) -> pa.Table:
    """The table of a batch."""
    names = [f"c{number}" for number in range(len(cells))]
    return pa.table([line, reason, *cells], names=["line", "reason", *names])


def required_columns(source: Source) -> tuple[Column, ...]:
    """The columns that must exist: baskets may have no user if `user_column` is the default."""
    if source.kind == "log" or source.user_column != DEFAULTS.user_column:
        return source.columns
    return tuple(column for column in source.columns if column != DEFAULTS.user_column)


def numbered_columns(source: Source) -> list[int]:
    """The columns that are selected by position."""
    return [column for column in source.columns if isinstance(column, int)]


def positions_by_name(source: Source, names: Sequence[str]) -> tuple[int, ...] | None:
    """Positions of the columns among these names; None unless each is there exactly once.

    An exact match is preferred to one that ignores case. If the user column is optional and
    missing, there must be no other column: it may contain the user under another name.
    """
    folded = [name.strip().casefold() for name in names]
    positions: list[int] = []
    required = required_columns(source)
    for column in source.columns:
        if isinstance(column, int):
            matches = [column] if column < len(names) else []
        else:
            matches = [index for index, name in enumerate(names) if name == column]
            key = column.strip().casefold()
            matches = matches or [index for index, name in enumerate(folded) if name == key]
        if len(matches) == 1:
            positions.append(matches[0])
        elif matches or column in required:
            return None
    if len(positions) < len(source.columns) < len(names) + 1:
        return None
    # The same column under another name: by its position, or in other letters.
    main = len(positions) - len(source.attribute_columns)
    require_other_columns(sum(each in positions[:main] for each in positions[main:]))
    return _cell_positions(source, positions)


def positions_without_header(source: Source, width: int) -> tuple[int, ...] | None:
    """The selected positions, or the first `width` ones if `width` columns are required.

    None if a column name differs from its default: only a header has its position.
    """
    if source.attribute_columns:
        return None
    numbered = numbered_columns(source)
    if len(numbered) >= len(required_columns(source)):
        return _cell_positions(source, numbered) if max(numbered) < width else None
    names = {source.user_column, source.time_column, source.query_column}
    names |= {source.record_column, source.item_column}
    renamed = names - {None, "user", "time", "query", "record", "item"}
    if renamed or width != len(required_columns(source)):
        return None
    return _cell_positions(source, list(range(width)))


def names_any_column(source: Source, names: Sequence[str]) -> bool:
    """Whether one of these names is the name of a selected column, ignoring case."""
    selected = {column.strip().casefold() for column in source.columns if isinstance(column, str)}
    return not selected.isdisjoint(name.strip().casefold() for name in names)


def _cell_positions(source: Source, positions: list[int]) -> tuple[int, ...]:
    """The positions of all cells; baskets without users have the record as the user."""
    if len(positions) == len(CELLS) + len(source.attribute_columns):
        return tuple(positions)
    return *positions[:2], positions[0], *positions[2:]


def missing_columns(
    source: Source, seen: str, also_set: str = "", names: Sequence[str] = ()
) -> MalformedInputError:
    """The error for columns that were not found; `names` must be names, never cells of a row.

    Without `names`, the error has only the names that were asked for.
    """
    required = ", ".join(str(column) for column in required_columns(source))
    found = ""
    if names:
        problems = [_problem(column, names) for column in source.columns]
        found = f" {', '.join(filter(None, problems))}; the columns are {_listed(names)}"
    return MalformedInputError(
        f"the source must have each of the columns {required} exactly once; {seen}{found}. Set "
        f"{also_set}user_column and the other column parameters to names, or to positions from 0."
    )


def _problem(column: Column, names: Sequence[str]) -> str:
    """Why a column was not found; empty if it was."""
    if isinstance(column, int):
        return "" if column < len(names) else f"there is no position {column}"
    key = column.strip().casefold()
    count = names.count(column) or sum(name.strip().casefold() == key for name in names)
    return "" if count == 1 else f"{column} is missing" if not count else f"{column} is repeated"


def _listed(names: Sequence[str]) -> str:
    """The first names, each shortened."""
    more = len(names) - MAX_NAMES
    listed = ", ".join(name.strip()[:MAX_NAME_LENGTH] for name in names[:MAX_NAMES])
    return f"{listed} and {more} more" if more > 0 else listed
