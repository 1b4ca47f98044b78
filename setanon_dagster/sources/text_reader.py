"""Read a text file in batches of cells: detect delimiter, header and columns, then parse it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from setanon_core.errors import MalformedInputError
from setanon_dagster.sources.cell_batch import (
    CELLS,
    CellBatch,
    missing_columns,
    names_any_column,
    numbered_columns,
    positions_by_name,
    positions_without_header,
    required_columns,
)
from setanon_dagster.sources.csv_batches import BasketLayout, ColumnLayout, csv_batches
from setanon_dagster.sources.csv_records import (
    CsvRecord,
    Dialect,
    Encoding,
    line_blocks,
    open_text,
    parse_records,
)
from setanon_dagster.sources.source import Source


def text_batches(source: Source, path: Path, encoding: Encoding, line: int) -> Iterator[CellBatch]:
    """Yield the batches of a file whose first line has number `line`; skip the header."""
    with open_text(path, encoding) as stream:
        blocks = line_blocks(stream, source.longest_line)
        first = next(blocks, b"")
        while first and not first.strip(b"\r\n"):
            # Nothing can be detected from blank lines; they are only counted.
            blank = len(first.splitlines())
            yield CellBatch(None, 0, blank, blank)
            line += blank
            first = next(blocks, b"")
        dialect = detect_dialect(source, path, first, encoding)
        head = read_head(first, dialect)
        layout, header = detect_layout(source, path, head)
        size = lines = blank = 0
        for record in head if header else ():
            size, lines = size + record.size, lines + record.lines
            if not record.is_blank:
                break
            blank += 1
        yield CellBatch(None, 0, blank, lines)
        yield from csv_batches(chain([first[size:]], blocks), dialect, layout, line + lines)


DELIMITER_OF_SUFFIX: Final = {".tsv": "\t", ".log": "\t", ".txt": "\t", ".csv": ","}
DELIMITERS: Final = "\t,;| "
"""Delimiters to try, in this order."""

HEAD: Final = 100
"""Number of non-blank records that delimiter, header and width are detected from."""


def detect_dialect(
    source: Source, path: Path, first_block: bytes, encoding: Encoding = "utf-8"
) -> Dialect:
    """The delimiter that is set or detected, that of the file suffix first; and the quoting."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    cells: Encoding = "utf-8" if encoding == "utf-16" else encoding  # converted by `open_text`
    delimiter = source.delimiter
    usual = DELIMITER_OF_SUFFIX.get(suffix)
    if delimiter is None and source.layout == "lines" and suffix in {".csv", ".tsv"}:
        delimiter = usual
    if delimiter is None:
        delimiter = _detect_delimiter(source, path, first_block, cells, usual)
    quoting = _has_quoting(delimiter) if source.quoting is None else source.quoting
    return Dialect(delimiter.encode(), quoting, cells, source.longest_line)


def read_head(block: bytes, dialect: Dialect) -> list[CsvRecord]:
    """The first records of a file, until `HEAD` of them are not blank."""
    head: list[CsvRecord] = []
    written = 0
    for record in parse_records(block, dialect, last=True):
        head.append(record)
        written += not record.is_blank
        if written == HEAD:
            break
    return head


def detect_layout(
    source: Source, path: Path, head: Sequence[CsvRecord]
) -> tuple[ColumnLayout | BasketLayout, bool]:
    """Where the selected cells are, and whether the first record is a header."""
    if source.layout == "lines":
        return BasketLayout(source.with_user), bool(source.header)
    widths = _count_widths(head)
    first = next((record for record in head if not record.is_blank), None)
    if first is None:
        return ColumnLayout(0, (0,) * (len(CELLS) + len(source.attribute_columns))), False
    names = first.cells or []
    header = source.header
    if header is None:
        header = any(isinstance(column, str) for column in source.columns)
        header = header and positions_by_name(source, names) is not None
        if not header and names_any_column(source, names):
            # Selecting by position instead might publish another column as the queries.
            raise missing_columns(source, f"in the first line of {path.name},", "header, ", names)
    if header:
        width, positions = len(names), positions_by_name(source, names)
    else:
        # If no record could be parsed, its lines are rejected one by one, and not the file.
        least = max(
            [len(required_columns(source)), *(1 + column for column in numbered_columns(source))]
        )
        width = max(widths, key=lambda seen: (widths[seen], seen), default=least)
        positions = positions_without_header(source, width)
    if positions is None and header and names_any_column(source, names):
        raise missing_columns(source, f"in the header of {path.name},", names=names)
    if positions is None:
        # Without the names: the first line may be data, even if header is set.
        raise missing_columns(source, f"{path.name} has {width} columns", "header, ")
    return ColumnLayout(width, positions), header


def _detect_delimiter(
    source: Source, path: Path, first_block: bytes, encoding: Encoding, usual: str | None
) -> str:
    """The delimiter for which the first record is a header with the column names.

    Without such a header, the one for which most records have an equal, sufficient number of cells;
    of several, `usual`, which the file suffix implies.
    """
    if source.layout == "lines":
        head = b"".join(first_block.splitlines(keepends=True)[:HEAD])
        return next((mark for mark in DELIMITERS if mark.encode() in head), "\t")
    least = len(required_columns(source))
    best, most = usual or "\t", 0
    marks = DELIMITERS if source.kind == "baskets" else DELIMITERS.rstrip()
    for mark in dict.fromkeys((usual or "") + marks):
        dialect = Dialect(mark.encode(), _has_quoting(mark), encoding, source.longest_line)
        records = read_head(first_block, dialect)
        if source.header is not False and _is_header(source, records):
            return mark
        widths = _count_widths(records)
        width, count = max(widths.items(), key=lambda seen: (seen[1], seen[0]), default=(0, 0))
        if width >= least and count > most:
            best, most = mark, count
    if first_block.strip() and not most and usual is None:
        raise MalformedInputError(
            f"{path.name} must have at least {least} cells per line; splitting by tab, comma, "
            "semicolon or bar gives fewer. Set delimiter."
        )
    return best


def _is_header(source: Source, head: Sequence[CsvRecord]) -> bool:
    """Whether the first record has the names of all columns, at least one of which is a name."""
    first = next((record.cells for record in head if not record.is_blank), None)
    named = any(isinstance(column, str) for column in source.columns)
    return named and first is not None and positions_by_name(source, first) is not None


def _has_quoting(delimiter: str) -> bool:
    """Whether files with this delimiter quote their cells, unless `quoting` is set."""
    return delimiter not in "\t "


def _count_widths(head: Sequence[CsvRecord]) -> Counter[int]:
    return Counter(len(record.cells) for record in head if record.cells is not None)
