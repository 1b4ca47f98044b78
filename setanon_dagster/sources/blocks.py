"""Lines of text as Arrow tables, a block at a time, by the fast way or the careful one.

Clean blocks go to Arrow's reader; in any doubt a block is cut record by record, in Python. Both
ways give the same table: line, reason (NULL if the record could be cut) and the cells wanted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from setanon_dagster.sources.lines import BOM, QUOTE, Dialect, records

NAMES: Final = ("c0", "c1", "c2")
"""What the cells wanted of a line are called until they get their types."""


Row = tuple[int, str | None, str | None, str | None, str | None]
"""Line, reason, and the cells: either a reason or cells."""


@dataclass(frozen=True, slots=True)
class Columns:
    """How many cells a line must have, and which three of them are wanted."""

    width: int
    positions: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Basket:
    """Every cell of a line is an item, but the first where it is the user."""

    with_user: bool


class Chunk(NamedTuple):
    """Cells of many records with their line numbers; how many records, blank lines, all lines."""

    table: pa.Table
    records: int
    blank: int
    lines: int


def chunks(
    pieces: Iterable[bytes], dialect: Dialect, layout: Columns | Basket, line: int
) -> Iterator[Chunk]:
    """Tables of (line, reason, cells); the first piece begins with this line."""
    rest = b""
    for piece in pieces:
        data = rest + piece
        rest = b""
        table = None if isinstance(layout, Basket) else _clean(data, dialect, layout, line)
        if table is not None:
            yield Chunk(table, len(table), 0, len(table))
            line += len(table)
        else:
            chunk, size = _careful(data, dialect, layout, line, last=False)
            yield chunk
            line += chunk.lines
            rest = data[size:]
    if rest:
        yield _careful(rest, dialect, layout, line, last=True)[0]


def _clean(data: bytes, dialect: Dialect, columns: Columns, line: int) -> pa.Table | None:
    """The same table by Arrow's own reader; None where the careful way might find otherwise."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    doubt = b"\r" in data or b"\0" in data or data.startswith(BOM)
    doubt = doubt or (dialect.quoting and QUOTE in data)
    plain = data.isascii()
    doubt = doubt or (dialect.encoding != "utf-8" and not plain)
    if doubt or _has_longer(data, dialect.longest):
        return None
    names = [str(column) for column in range(columns.width)]
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            pyarrow.csv.ReadOptions(
                use_threads=False, column_names=names, block_size=len(data) + 1
            ),
            pyarrow.csv.ParseOptions(
                delimiter=dialect.delimiter.decode(), quote_char=False, double_quote=False
            ),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
                check_utf8=not plain,
            ),
        )
    except pa.ArrowInvalid:  # its text shows the line: the careful way will say what is wrong
        return None
    # Arrow leaves blank lines out, and so has fewer rows than there are lines.
    if len(table) != np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")):
        return None
    cells = [table.column(column) for column in columns.positions]
    return _table(
        pa.array(np.arange(line, line + len(table), dtype=np.int64)),
        pa.nulls(len(table), pa.string()),
        cells,
    )


def _careful(
    data: bytes, dialect: Dialect, layout: Columns | Basket, line: int, *, last: bool
) -> tuple[Chunk, int]:
    """One table, and how many bytes of the data it has used up."""
    rows: list[Row] = []
    lines = size = found = blank = 0
    for record in records(data, dialect, last=last):
        at = line + lines
        lines += record.lines
        size += record.size
        if record.cells is None and record.reason is None:
            blank += 1
            continue
        found += 1
        if record.cells is None:
            rows.append((at, record.reason, None, None, None))
        elif isinstance(layout, Basket):
            rows.extend(_basket(at, record.cells, layout))
        elif len(record.cells) != layout.width:
            rows.append((at, "columns", None, None, None))
        else:
            first, second, third = layout.positions
            rows.append((at, None, record.cells[first], record.cells[second], record.cells[third]))
    columns = list(zip(*rows, strict=True)) or [()] * (2 + len(NAMES))
    table = _table(
        pa.array(columns[0], pa.int64()),
        pa.array(columns[1], pa.string()),
        [pa.array(column, pa.string()) for column in columns[2:]],
    )
    return Chunk(table, found, blank, lines), size


def _basket(line: int, cells: list[str], layout: Basket) -> Iterator[Row]:
    """One row for each item; cells that are empty pad a line, and are no items."""
    record = str(line)
    user = cells[0] if layout.with_user else record
    items = [cell for cell in cells[layout.with_user :] if cell.strip(" ")]
    if not user.strip(" "):
        yield line, "user missing", None, None, None
    elif not items:
        yield line, "item missing", None, None, None
    else:
        yield from ((line, None, record, item, user) for item in items)


def _table(line: pa.Array, reason: pa.Array, cells: list[pa.Array]) -> pa.Table:
    return pa.table([line, reason, *cells], names=["line", "reason", *NAMES])


def _has_longer(data: bytes, longest: int) -> bool:
    """Whether a line is longer: leap from line end to line end, as far as is allowed."""
    place = 0
    while len(data) - place > longest + 1:
        end = data.rfind(b"\n", place, place + longest + 1)
        if end < 0:
            return True
        place = end + 1
    return False
