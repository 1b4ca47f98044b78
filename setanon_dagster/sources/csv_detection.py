"""Detect delimiter, header and column layout from the first records of a text file."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from setanon_core.errors import MalformedInputError
from setanon_dagster.sources.column_positions import (
    missing_columns,
    names_any_column,
    numbered_columns,
    positions_by_name,
    positions_without_header,
    required_columns,
)
from setanon_dagster.sources.csv_batches import BasketLayout, ColumnLayout
from setanon_dagster.sources.csv_records import CsvRecord, Dialect, parse_records
from setanon_dagster.sources.source import Source

DELIMITER_OF_SUFFIX: Final = {".tsv": "\t", ".log": "\t", ".txt": "\t", ".csv": ","}
DELIMITERS: Final = "\t,;| "
"""Delimiters to try, in this order."""

HEAD: Final = 100
"""Number of non-blank records that delimiter, header and width are detected from."""


def detect_dialect(source: Source, path: Path, first_block: bytes) -> Dialect:
    """The delimiter that is set, implied by the file suffix, or detected; and the quoting."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    delimiter = source.delimiter
    # One basket per line in a .txt or .log file is as likely to be separated by spaces.
    if delimiter is None and (source.layout == "pairs" or suffix in {".csv", ".tsv"}):
        delimiter = DELIMITER_OF_SUFFIX.get(suffix)
    if delimiter is None:
        delimiter = _detect_delimiter(source, path, first_block)
    quoting = _has_quoting(delimiter) if source.quoting is None else source.quoting
    return Dialect(delimiter.encode(), quoting, source.encoding, source.longest_line)


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
        return ColumnLayout(0, (0, 0, 0)), False
    names = first.cells or []
    header = source.header
    if header is None:
        header = any(isinstance(column, str) for column in source.columns)
        header = header and positions_by_name(source, names) is not None
        if not header and names_any_column(source, names):
            # Selecting by position instead might publish another column as the queries.
            seen = f"the first line of {path.name} names only some of them"
            raise missing_columns(source, seen, "header, ")
    if header:
        width, positions = len(names), positions_by_name(source, names)
    else:
        # If no record could be parsed, its lines are rejected one by one, and not the file.
        least = max(
            [len(required_columns(source)), *(1 + column for column in numbered_columns(source))]
        )
        width = max(widths, key=lambda seen: (widths[seen], seen), default=least)
        positions = positions_without_header(source, width)
    if positions is None:
        # Without the names: if there is no header, the first line is data.
        raise missing_columns(source, f"{path.name} has {width} columns", "header, ")
    return ColumnLayout(width, positions), header


def _detect_delimiter(source: Source, path: Path, first_block: bytes) -> str:
    """The delimiter for which most records have one and the same sufficient number of cells."""
    if source.layout == "lines":
        head = b"".join(first_block.splitlines(keepends=True)[:HEAD])
        return next((mark for mark in DELIMITERS if mark.encode() in head), "\t")
    least = len(required_columns(source))
    best, most = "\t", 0
    for mark in DELIMITERS if source.kind == "baskets" else DELIMITERS.rstrip():
        dialect = Dialect(mark.encode(), _has_quoting(mark), source.encoding, source.longest_line)
        widths = _count_widths(read_head(first_block, dialect))
        width, count = max(widths.items(), key=lambda seen: (seen[1], seen[0]), default=(0, 0))
        if width >= least and count > most:
            best, most = mark, count
    if first_block.strip() and not most:
        raise MalformedInputError(
            f"{path.name} must have at least {least} cells per line; splitting by tab, comma, "
            "semicolon or bar gives fewer. Set delimiter."
        )
    return best


def _has_quoting(delimiter: str) -> bool:
    """Whether files with this delimiter quote their cells, unless `quoting` is set."""
    return delimiter not in "\t "


def _count_widths(head: Sequence[CsvRecord]) -> Counter[int]:
    return Counter(len(record.cells) for record in head if record.cells is not None)
