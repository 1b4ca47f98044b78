"""Convert blocks of lines to batches of cells, by a fast parser or a slow one.

A block without anything unusual is parsed by Arrow. Any other block is parsed record by record in
Python (`csv_records`), which finds the reason of each rejected line. Both give the same table.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv

from setanon_dagster.sources.cell_batch import CELLS, CellBatch, cell_table
from setanon_dagster.sources.csv_records import BOM, QUOTE, Dialect, parse_records

Row = tuple[int | str | None, ...]
"""Line, reason and cells; either the reason or the cells are None."""


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """One row per line: the number of cells, and the positions of the selected ones."""

    width: int
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BasketLayout:
    """One basket per line: every cell is an item, except a first cell with the user."""

    with_user: bool


def csv_batches(
    blocks: Iterable[bytes], dialect: Dialect, layout: ColumnLayout | BasketLayout, line: int
) -> Iterator[CellBatch]:
    """Yield one batch per block; the first block starts with line number `line`."""
    rest = b""
    for block in blocks:
        data = rest + block
        rest = b""
        table = None
        if isinstance(layout, ColumnLayout):
            table = _parse_fast(data, dialect, layout, line)
        if table is not None:
            yield CellBatch(table, len(table), 0, len(table))
            line += len(table)
        else:
            batch, size = _parse_slow(data, dialect, layout, line, last=False)
            yield batch
            line += batch.lines
            rest = data[size:]
    if rest:
        yield _parse_slow(rest, dialect, layout, line, last=True)[0]


def _parse_fast(data: bytes, dialect: Dialect, layout: ColumnLayout, line: int) -> pa.Table | None:
    """Parse a block with Arrow; None if the slow parser might give another result."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    unusual = b"\r" in data or b"\0" in data or data.startswith(BOM)
    unusual = unusual or (dialect.quoting and QUOTE in data)
    if unusual or _has_longer_line(data, dialect.longest):
        return None
    ascii_only = data.isascii()
    if dialect.encoding != "utf-8" and not ascii_only:
        try:
            data = data.decode(dialect.encoding).encode()
        except UnicodeDecodeError:
            return None
    names = [str(column) for column in range(layout.width)]
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
                check_utf8=not ascii_only,
            ),
        )
    except pa.ArrowInvalid:  # its message quotes the line; the slow parser finds the reason
        return None
    # Arrow skips blank lines, so that line numbers would be wrong.
    if len(table) != np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")):
        return None
    return cell_table(
        pa.array(np.arange(line, line + len(table), dtype=np.int64)),
        pa.nulls(len(table), pa.string()),
        [table.column(column) for column in layout.positions],
    )


def _parse_slow(
    data: bytes,
    dialect: Dialect,
    layout: ColumnLayout | BasketLayout,
    line: int,
    *,
    last: bool,
) -> tuple[CellBatch, int]:
    """Parse a block record by record; return the batch and the number of bytes consumed."""
    rows: list[Row] = []
    none = [None] * (len(layout.positions) if isinstance(layout, ColumnLayout) else len(CELLS))
    lines = size = count = blank = 0
    for record in parse_records(data, dialect, last=last):
        number = line + lines
        lines += record.lines
        size += record.size
        if record.is_blank:
            blank += 1
            continue
        count += 1
        if record.cells is None:
            rows.append((number, record.reason, *none))
        elif isinstance(layout, BasketLayout):
            rows.extend(_basket_rows(number, record.cells, layout))
        elif len(record.cells) != layout.width:
            rows.append((number, "columns", *none))
        else:
            rows.append((number, None, *(record.cells[position] for position in layout.positions)))
    columns = list(zip(*rows, strict=True)) or [()] * (2 + len(none))
    table = cell_table(
        pa.array(columns[0], pa.int64()),
        pa.array(columns[1], pa.string()),
        [pa.array(column, pa.string()) for column in columns[2:]],
    )
    return CellBatch(table, count, blank, lines), size


def _basket_rows(line: int, cells: list[str], layout: BasketLayout) -> Iterator[Row]:
    """One row per item; empty cells are padding, not items."""
    record = str(line)
    user = cells[0] if layout.with_user else record
    items = [cell for cell in cells[layout.with_user :] if cell.strip(" ")]
    if not user.strip(" "):
        yield line, "user missing", None, None, None
    elif not items:
        yield line, "item missing", None, None, None
    else:
        yield from ((line, None, record, item, user) for item in items)


def _has_longer_line(data: bytes, longest: int) -> bool:
    """Whether a line is too long: jump ahead by the allowed length, to the last line end in it."""
    position = 0
    while len(data) - position > longest + 1:
        end = data.rfind(b"\n", position, position + longest + 1)
        if end < 0:
            return True
        position = end + 1
    return False
