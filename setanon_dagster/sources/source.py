"""Parameters of a source: a frozen dataclass, checked when it is built."""

from dataclasses import dataclass, field, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from setanon_core.declarations import check_parameters
from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.ranges import AtLeast, Share, check_integer
from setanon_dagster.sources.csv_records import Encoding
from setanon_dagster.sources.times import NAMED_FORMATS, time_sql

Kind = Literal["log", "baskets"]
Layout = Literal["pairs", "lines"]

NOT_DELIMITERS: Final = '"\r\n\0'
PARQUET_SUFFIXES: Final = (".parquet", ".pq")


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """Column names that are not blank, and column positions."""

    text: str = "a column name, or a position from 0"

    def check(self, name: str, value: object) -> str | int:
        """Return the name unchanged, or the position as a plain integer."""
        column = value if isinstance(value, str) else check_integer(name, value)
        if not column.strip() if isinstance(column, str) else column < 0:
            raise InvalidParameterError(f"{name} must be {self.text}.")
        return column

    def schema(self) -> dict[str, Any]:
        """Return the range as JSON schema keywords."""
        return {"minimum": 0, "minLength": 1}


@dataclass(frozen=True, slots=True)
class DelimiterRange:
    """Single ASCII characters except quote, line end and NUL."""

    text: str = "one ASCII character other than a quote, line end or NUL"

    def check(self, name: str, value: object) -> str:
        """Return the character unchanged."""
        if not isinstance(value, str):
            raise InvalidParameterError(
                f"{name} must be {self.text}; got a value of type {type(value).__name__}."
            )
        if len(value) != 1 or not value.isascii() or value in NOT_DELIMITERS:
            raise InvalidParameterError(f"{name} must be {self.text}; got {len(value)} characters.")
        return value

    def schema(self) -> dict[str, Any]:
        """Return the range as JSON schema keywords."""
        return {"minLength": 1, "maxLength": 1}


@dataclass(frozen=True, slots=True)
class TimeFormatRange:
    """The named time formats, and every strptime format that DuckDB accepts."""

    text: str = f"one of {', '.join(NAMED_FORMATS)}, or a strptime format such as %d/%m/%Y"

    def check(self, name: str, value: object) -> str:  # noqa: ARG002 - part of the protocol
        """Return the format unchanged."""
        time_sql(str(value))
        return str(value)

    def schema(self) -> dict[str, Any]:
        """Return no keywords: JSON schema cannot express the range."""
        return {}


Column = Annotated[str | int, ColumnRange()]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows are, and how they are written."""

    uri: str | tuple[str, ...]
    """Path, glob or list of text files (TSV, CSV, also gzip) or Parquet files; or a DuckDB file."""

    kind: Kind = "log"
    """log: rows of user, time and query; baskets: sets of items, with or without users."""

    table: str | None = None
    """Table or view of the DuckDB file; `schema.table` outside the default schema."""

    user_column: Column | None = "user"
    """Column of the users: whose queries or baskets the rows are, such as an account or a card
    number. Baskets may lack the default column. None: baskets without users."""

    time_column: Column = "time"
    """Column of the times of a log: when the query was typed, such as 2026-03-02 09:30:00."""

    query_column: Column = "query"
    """Column of the queries of a log: the text as it was typed, one query per row."""

    record_column: Column = "record"
    """Column of the baskets: which basket a row belongs to, such as a receipt number."""

    item_column: Column = "item"
    """Column of the items of baskets: one article, page or word per row."""

    header: bool | None = None
    """Whether the first line is a header; None: yes if it has the column names, ignoring case."""

    delimiter: Annotated[str, DelimiterRange()] | None = None
    """Separator of cells; None: detected, at first tab for .tsv, .log and .txt, comma for .csv."""

    quoting: bool | None = None
    """Whether quotes enclose cells (RFC 4180); None: unless the delimiter is a tab or space."""

    encoding: Encoding | None = None
    """Encoding of text files; None: detected (UTF-16 by its mark, Windows-1252 if not UTF-8)."""

    time_format: Annotated[str, TimeFormatRange()] | None = None
    """Format of the times; None: detected.

    Detection selects the named format that reads most times of the first rows (8 MB of text), and
    applies it to the complete file; ISO and epoch times may occur beside it. Times are
    converted to UTC, those without an offset from the time zone of the release. Epoch seconds are
    detected if they have 9 to 11 digits, milliseconds 13, microseconds 16.
    """

    layout: Layout = "pairs"
    """Baskets as pairs (record, item), one per row; or as lines, each named by its line number."""

    with_user: bool = False
    """Whether the first cell of a line is the user, for layout lines."""

    max_rejected: Share = 0.01
    """Share of rejected lines above which the source is refused; 1: never."""

    longest_line: Annotated[int, AtLeast(1)] = 1_000_000
    """Bytes per line; longer lines and quoted cells without an end are rejected."""

    attribute_columns: tuple[str, ...] = field(default=(), init=False)
    """Further columns to read; not a parameter: they follow from the attributes of the release."""

    def __post_init__(self) -> None:
        """Check all fields, then their combinations."""
        check_parameters(self)
        if (self.layout == "lines" or self.user_column is None) and self.kind == "log":
            raise InvalidParameterError(
                "a log must have one row per query, with its user; got "
                f"layout={self.layout!r}, user_column={self.user_column!r}. "
                "Use kind='baskets' for sets without users or times."
            )
        if self.with_user and self.layout != "lines":
            raise InvalidParameterError(
                "with_user must be used with layout='lines'; got layout='pairs'. Set user_column."
            )
        parquet = any(uri.lower().endswith(PARQUET_SUFFIXES) for uri in self.uris)
        if (self.table is not None or parquet) and self.layout == "lines":
            raise InvalidParameterError(
                "layout='lines' must be used with text files; got a table or a Parquet file. "
                "Use layout='pairs'."
            )

    @property
    def uris(self) -> tuple[str, ...]:
        """The paths and globs, as a tuple even if there is only one."""
        return (self.uri,) if isinstance(self.uri, str) else tuple(self.uri)

    @property
    def name(self) -> str:
        """The source as error messages name it."""
        files = self.uri if isinstance(self.uri, str) else f"a source of {len(self.uri)} files"
        return files if self.table is None else f"table {self.table} of {files}"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns to read, in the order of the target table."""
        if self.kind == "log":
            assert self.user_column is not None  # noqa: S101 - checked in __post_init__
            return (
                self.user_column,
                self.time_column,
                self.query_column,
                *self.attribute_columns,
            )
        pair = self.record_column, self.item_column
        user = () if self.user_column is None else (self.user_column,)
        return *pair, *user, *self.attribute_columns

    def with_attribute_columns(self, columns: tuple[str, ...]) -> "Source":
        """A copy of this source that also reads these columns."""
        if columns and self.layout == "lines":
            raise InvalidParameterError(
                "attributes must be columns; layout='lines' has none. Use layout='pairs'."
            )
        require_other_columns(sum(column in self.columns for column in columns))
        source = replace(self)
        object.__setattr__(source, "attribute_columns", columns)
        return source

    @property
    def paths(self) -> list[Path]:
        """The files, those of a glob sorted by name; `MalformedInputError` if there is none."""
        files: list[Path] = []
        for uri in self.uris:
            is_glob = has_magic(uri) and not Path(uri).exists()
            matches = sorted(glob(uri)) if is_glob else [uri]  # noqa: PTH207 - also absolute globs
            paths = [Path(match) for match in matches]
            if not paths or not all(path.is_file() for path in paths):
                raise MalformedInputError(
                    f"{uri} must be a file, or a pattern that files match; there is none. "
                    "Check the path, and the directory that it is relative to."
                )
            files.extend(paths)
        return files


def require_other_columns(known: int) -> None:
    """Refuse attributes that are columns of users, times or queries: so many are."""
    if known:
        raise InvalidParameterError(
            "attributes must be other columns than those of users, times, queries, records and "
            f"items; {known} of them are. Leave them out, or write day, week, month, weekday "
            "or hour for a part of the time."
        )


DEFAULTS: Final = Source("")
"""A source with all default values."""
