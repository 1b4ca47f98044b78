"""Which cells of a source are the columns wanted: by header, by name, by position."""

# ruff: noqa: S608 - names are quoted, and the rest are constants of this package

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from setanon_core.errors import MalformedInputError
from setanon_dagster.sources.blocks import NAMES, Basket, Chunk, Columns, chunks
from setanon_dagster.sources.lines import Dialect, Record, blocks, open_text, records
from setanon_dagster.sources.source import DEFAULTS, Column, Source

DELIMITERS: Final = {".tsv": "\t", ".log": "\t", ".txt": "\t", ".csv": ","}
CANDIDATES: Final = "\t,;| "
HEAD: Final = 100
"""Records that are looked at to find out delimiter, header and width."""

ROWS: Final = 100_000
"""Rows of a table that are held at once."""

NESTED: Final = {"array", "blob", "list", "map", "struct", "union", "variant"}


def text_chunks(source: Source, path: Path, line: int) -> Iterator[Chunk]:
    """A text file; its first line has this number."""
    with open_text(path) as stream:
        pieces = blocks(stream, source.longest_line)
        first = next(pieces, b"")
        dialect = _dialect(source, path, first)
        head = list(islice(records(first, dialect, last=True), HEAD))
        layout, header = _layout(source, path, head)
        size = lines = blank = 0
        for record in head if header else ():
            size, lines = size + record.size, lines + record.lines
            if record.cells is not None or record.reason:
                break
            blank += 1
        yield Chunk(None, 0, blank, lines)
        yield from chunks(chain([first[size:]], pieces), dialect, layout, line + lines)


def table_chunks(
    source: Source, connection: duckdb.DuckDBPyConnection, rows: str, line: int
) -> Iterator[Chunk]:
    """A table, or whatever SQL has instead of its name; its first row has this number."""
    shape = connection.sql(f"SELECT * FROM {rows} LIMIT 0")
    named = dict(zip(shape.columns, shape.types, strict=True))
    positions = _positions(source, shape.columns)
    if positions is None:
        # Not the names: a table made of a file without a header has somebody's query for one.
        raise _missing(source, f"it has {len(named)} columns")
    found = [shape.columns[position] for position in positions]
    if any(named[name].id in NESTED for name in found):
        raise MalformedInputError(
            "columns must hold text, numbers or times, one in each row; "
            f"{sum(named[name].id in NESTED for name in found)} of those wanted hold other things."
        )
    timed = source.kind == "log"
    cells = [
        _cell(name, str(named[name]), timed=timed and place == 1)
        for place, name in enumerate(found)
    ]
    texts = ", ".join(f"CAST({name} AS VARCHAR)" for name in NAMES)
    query = (
        f"SELECT CASE WHEN contains(concat({texts}), chr(0)) THEN 'encoding' END AS reason, * FROM "
        f"(SELECT {', '.join(map(' AS '.join, zip(cells, NAMES, strict=True)))} FROM {rows})"
    )
    for batch in connection.sql(query).to_arrow_reader(ROWS):
        count = len(batch)
        numbers = pa.array(np.arange(line, line + count, dtype=np.int64))
        table = pa.Table.from_batches([batch]).add_column(0, "line", numbers)
        yield Chunk(table, count, 0, count)
        line += count


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def _cell(name: str, kind: str, *, timed: bool) -> str:
    """SQL for a column as text, or as a timestamp in UTC where it is one."""
    if timed and kind == "TIMESTAMP WITH TIME ZONE":
        # Infinity has no microseconds, and is unreadable, not missing.
        moment = f"make_timestamp(epoch_us({quoted(name)}))"
        return f"CASE WHEN {quoted(name)} IS NOT NULL THEN coalesce({moment}, 'infinity') END"
    if timed and kind.startswith(("TIMESTAMP", "DATE")):
        return f"CAST({quoted(name)} AS TIMESTAMP)"
    text = f"CAST({quoted(name)} AS VARCHAR)"
    if kind.startswith(("DOUBLE", "FLOAT", "DECIMAL")):
        # Whole numbers with a gap among them become 7.0: one user must not count as two.
        whole = f"CAST(TRY_CAST({quoted(name)} AS HUGEINT) AS VARCHAR)"
        text = (
            f"CASE WHEN isnan(CAST({quoted(name)} AS DOUBLE)) THEN NULL "
            f"WHEN {quoted(name)} = TRY_CAST({quoted(name)} AS HUGEINT) THEN {whole} "
            f"ELSE {text} END"
        )
    return text


def _dialect(source: Source, path: Path, first: bytes) -> Dialect:
    """The delimiter that was asked for, that the name tells, or that the first lines tell."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    mark = source.delimiter
    # A basket a line in a .txt may as well have blanks: there, only .csv and .tsv tell.
    if mark is None and (source.layout == "pairs" or suffix in {".csv", ".tsv"}):
        mark = DELIMITERS.get(suffix)
    if mark is None:
        mark = _found_out(source, path, first)
    quoting = mark not in "\t " if source.quoting is None else source.quoting
    return Dialect(mark.encode(), quoting, source.encoding, source.longest_line)


def _found_out(source: Source, path: Path, first: bytes) -> str:
    """The delimiter that gives most of the first lines the same number of cells, enough of them."""
    if source.layout == "lines":
        head = b"".join(first.splitlines(keepends=True)[:HEAD])
        return next((mark for mark in CANDIDATES if mark.encode() in head), "\t")
    best, most = "\t", 0
    for mark in CANDIDATES if source.kind == "baskets" else CANDIDATES.rstrip():
        dialect = Dialect(mark.encode(), mark not in "\t ", source.encoding, source.longest_line)
        widths = _widths(list(islice(records(first, dialect, last=True), HEAD)))
        width, count = max(widths.items(), key=lambda found: (found[1], found[0]), default=(0, 0))
        if width >= len(_required(source)) and count > most:
            best, most = mark, count
    if first.strip() and not most:
        raise MalformedInputError(
            f"{path.name} must have at least {len(_required(source))} cells a line; neither tab "
            "nor comma, semicolon or bar separates as many. Set delimiter."
        )
    return best


def _layout(source: Source, path: Path, head: Sequence[Record]) -> tuple[Columns | Basket, bool]:
    """Where the cells are, and whether the first record is a header."""
    if source.layout == "lines":
        return Basket(source.with_user), bool(source.header)
    widths = _widths(head)
    written = [record for record in head if record.cells is not None or record.reason]
    names = (written[0].cells or []) if written else []
    header = source.header
    if header is None:
        header = any(isinstance(column, str) for column in source.columns)
        header = header and _positions(source, names) is not None
        if not header and _wanted(source) & {name.strip().casefold() for name in names}:
            # By position, a column of another name might be published for the queries.
            raise _missing(source, f"the first line of {path.name} names some of them", "header, ")
    width = len(names)
    positions = _positions(source, names) if header else None
    if not header:
        # Where nothing could be cut, the lines shall be set aside for that reason, not refused.
        least = max([len(_required(source)), *(1 + column for column in _numbers(source))])
        width = max(widths, key=lambda found: (widths[found], found), default=least)
        positions = _by_place(source, width)
    if not written:
        positions, header = (0, 0, 0), False
    if positions is None:
        # Not the names: without a header, what looks like one is somebody's query.
        raise _missing(source, f"{path.name} has {width} columns", "header, ")
    return Columns(width, positions), header


def _widths(head: Sequence[Record]) -> Counter[int]:
    return Counter(len(record.cells) for record in head if record.cells is not None)


def _required(source: Source) -> tuple[Column, ...]:
    """The columns that must be there: baskets may do without the user, if nobody named one.

    Only where there is no other column: one that is there may well be the user, by another name.
    """
    optional = source.kind == "baskets" and source.user_column == DEFAULTS.user_column
    return source.columns[:-1] if optional else source.columns


def _positions(source: Source, names: Sequence[str]) -> tuple[int, int, int] | None:
    """Positions of the columns under these names, in any case; None if one is not there once."""
    folded = [name.strip().casefold() for name in names]
    found: list[int] = []
    for column in source.columns:
        if isinstance(column, int):
            places = [column] if column < len(names) else []
        else:
            places = [place for place, name in enumerate(names) if name == column]
            wanted = column.strip().casefold()
            places = places or [place for place, name in enumerate(folded) if name == wanted]
        if len(places) == 1:
            found.append(places[0])
        elif places or column in _required(source):
            return None
    if len(found) < len(source.columns) < len(names) + 1:
        return None
    return _three(found)


def _wanted(source: Source) -> set[str]:
    return {column.strip().casefold() for column in source.columns if isinstance(column, str)}


def _numbers(source: Source) -> list[int]:
    return [column for column in source.columns if isinstance(column, int)]


def _by_place(source: Source, width: int) -> tuple[int, int, int] | None:
    """Positions without a header: those given, or the columns in their order if no more are there.

    A name that somebody has given is not forgotten for that.
    """
    given = _numbers(source)
    if len(given) >= len(_required(source)):
        return _three(given) if max(given) < width else None
    named = {source.user_column, source.time_column, source.query_column}
    named |= {source.record_column, source.item_column}
    turned = named - {None, "user", "time", "query", "record", "item"}
    return None if turned or width != len(_required(source)) else _three(list(range(width)))


def _three(found: list[int]) -> tuple[int, int, int]:
    """Where there is no user, the record is its own."""
    first, second, third = found if len(found) == len(NAMES) else (*found, found[0])
    return first, second, third


def _missing(source: Source, seen: str, also: str = "") -> MalformedInputError:
    wanted = ", ".join(str(column) for column in _required(source))
    return MalformedInputError(
        f"the source must have the columns {wanted}, each once; {seen}. Set {also}"
        "user_column and the others to names, or to positions from 0."
    )
