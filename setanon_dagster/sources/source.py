"""The knobs of a source: frozen, and checked once when made."""

from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Final, Literal, get_args

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.ranges import check_choice, check_integer
from setanon_dagster.sources.csv_records import Encoding
from setanon_dagster.sources.times import time_sql

Kind = Literal["log", "baskets"]
Layout = Literal["pairs", "lines"]
Column = str | int

KINDS: Final[tuple[str, ...]] = get_args(Kind)
LAYOUTS: Final[tuple[str, ...]] = get_args(Layout)
ENCODINGS: Final[tuple[str, ...]] = get_args(Encoding)
NO_DELIMITER: Final = '"\r\n\0'


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows are and how they are written; columns go by name, or by position from 0."""

    uri: str | tuple[str, ...]
    """Path or glob of text (TSV, CSV, also gzip) or Parquet files, several, or a DuckDB file."""

    kind: Kind = "log"
    """`log`: user, time and query; `baskets`: records of items, with or without their users."""

    table: str | None = None
    """Table or view of the DuckDB file `uri`, with its schema if need be: `schema.table`."""

    user_column: Column | None = "user"
    """None: baskets without users. Left as it is, baskets may have such a column or not."""

    time_column: Column = "time"
    """Column of the times of a log, by name or by position from 0."""

    query_column: Column = "query"
    """Column of the queries of a log, by name or by position from 0."""

    record_column: Column = "record"
    """Column that says which basket a row is of, by name or by position from 0."""

    item_column: Column = "item"
    """Column of the items of baskets, by name or by position from 0."""

    header: bool | None = None
    """None: the first line is a header if it has the names of the columns, in any case."""

    delimiter: str | None = None
    """None: tab for .tsv, .log and .txt, comma for .csv; else found out from the first lines."""

    quoting: bool | None = None
    """Whether quotes enclose cells (RFC 4180); None: unless the delimiter is a tab or a blank."""

    encoding: Encoding = "utf-8"
    """How a text file is encoded."""

    time_format: str | None = None
    """iso, epoch, yymmddhhmmss, yyyymmddhhmmss or a format of strptime; None: found out.

    Found out means: the one of these four that reads most times among the first rows (8 MB of
    text) with any that can be read. It then holds for the whole file. Times with an offset
    become UTC, others stay as they are. To be found out, epoch seconds have 9 to 11 digits.
    """

    layout: Layout = "pairs"
    """Baskets as (record, item) pairs, or one basket a line, named by the number of its line."""

    with_user: bool = False
    """Whether the first cell of a line is the user, with `layout="lines"`."""

    longest_line: int = 1_000_000
    """Bytes; a line that is longer is set aside, and so is a quoted cell that never ends."""

    def __post_init__(self) -> None:
        """Refuse what is out of range, or does not go together."""
        check_choice("kind", self.kind, KINDS)
        check_choice("layout", self.layout, LAYOUTS)
        check_choice("encoding", self.encoding, ENCODINGS)
        object.__setattr__(self, "longest_line", check_integer("longest_line", self.longest_line))
        if self.longest_line < 1:
            raise InvalidParameterError(
                f"longest_line must be at least 1; got {self.longest_line}."
            )
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in NO_DELIMITER):
            raise InvalidParameterError(
                "delimiter must be one ASCII character, and no quote, line end or NUL; got "
                f"{len(mark)} characters."
            )
        if self.time_format is not None:
            time_sql(self.time_format)
        if (self.layout == "lines" or self.user_column is None) and self.kind == "log":
            raise InvalidParameterError(
                "a log must have a row for each query, with its user; got "
                f"layout={self.layout!r}, user_column={self.user_column!r}. "
                "Use kind='baskets' for sets without users or times."
            )
        if self.with_user and self.layout != "lines":
            raise InvalidParameterError(
                "with_user must go with layout='lines'; got layout='pairs'. Set user_column."
            )
        tabular = self.table is not None or str(self.uri).lower().endswith((".parquet", ".pq"))
        if tabular and self.layout == "lines":
            raise InvalidParameterError(
                "layout='lines' must go with text files; tables have layout='pairs'."
            )
        for name in ("user_column", "time_column", "query_column", "record_column", "item_column"):
            _check_column(name, getattr(self, name))

    @property
    def name(self) -> str:
        """What to call the source in an error."""
        files = self.uri if isinstance(self.uri, str) else f"a source of {len(self.uri)} files"
        return files if self.table is None else f"table {self.table} of {files}"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns wanted, in the order of the table they go to."""
        if self.kind == "log":
            assert self.user_column is not None  # noqa: S101 - refused when made
            return self.user_column, self.time_column, self.query_column
        pair = self.record_column, self.item_column
        return pair if self.user_column is None else (*pair, self.user_column)

    @property
    def paths(self) -> list[Path]:
        """The files, in the order of their names; a missing one is refused."""
        named = (self.uri,) if isinstance(self.uri, str) else self.uri
        found: list[Path] = []
        for name in named:
            plain = Path(name).exists() or not has_magic(name)
            matches = [name] if plain else sorted(glob(name))  # noqa: PTH207 - absolute ones too
            paths = [Path(match) for match in matches]
            missing = not paths or not all(path.is_file() for path in paths)
            if missing:
                raise MalformedInputError(
                    f"{name} must be a file, or a pattern that files match; there is none. "
                    "Look for the path, and for the directory that it is relative to."
                )
            found.extend(paths)
        return found


def _check_column(name: str, column: object) -> None:
    """Refuse what is neither a name nor a position."""
    if column is None and name == "user_column":
        return
    if not (column.strip() if isinstance(column, str) else check_integer(name, column) >= 0):
        raise InvalidParameterError(f"{name} must be a name, or a position from 0 on.")


DEFAULTS: Final = Source("")
"""What the knobs are when nobody has turned them."""
