"""A batch of raw cells: what every reader produces, and what `loading` converts to typed rows."""

from typing import Final, NamedTuple

import pyarrow as pa

CELLS: Final = ("c0", "c1", "c2")
"""Names of the selected cells: user, time, query of a log; record, item, user of baskets."""


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
    return pa.table([line, reason, *cells], names=["line", "reason", *CELLS])
