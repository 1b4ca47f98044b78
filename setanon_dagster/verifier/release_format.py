"""The two formats of a published file: columns, thread ids and, as SQL, the sets of the threads.

The spelling of a thread is the list of its keywords ("sets"), or its queries joined by blanks
("queries"). Two spellings that differ only in order or repetition are the same set. Sets are
compared keyword by keyword, never by a hash.
"""
# ruff: noqa: S608 - statements are built from constants and from SQL of this package

from collections.abc import Mapping
from itertools import zip_longest
from typing import Final

from setanon_dagster.verifier.sql import Columns

RELEASE_COLUMNS: Final[Mapping[str, Columns]] = {
    "sets": (("thread_id", "VARCHAR"), ("keywords", "VARCHAR[]")),
    "queries": (("thread_id", "VARCHAR"), ("position", "BIGINT"), ("query", "VARCHAR")),
}
"""The only columns of a published file, by layout, in this order."""


def layout_of(form: str) -> str:
    """The layout of a format, which the file has: edited queries have the columns of queries."""
    return "queries" if form == "edited" else form


WELL_FORMED_ID: Final = "regexp_full_match(thread_id, '[0-9a-f]{32}')"
"""SQL condition: a thread id is a keyed hash in hexadecimal."""

SET_OF_SPELLING: Final[Mapping[str, str]] = {
    "sets": "list_sort(list_distinct(spelling))",
    # As text, which is faster to compare; keywords of queries contain no blank, so no two sets
    # have the same text. Two blanks in a row give an empty keyword.
    "queries": "array_to_string(list_sort(list_distinct(string_split(spelling, ' '))), ' ')",
}
"""Expression for the set of a spelling; the result is called `keywords` in all tables."""

SET_IF_SORTED: Final[Mapping[str, str]] = {**SET_OF_SPELLING, "sets": "spelling"}
"""Expression for the set of a spelling if published lists are sorted sets, as they must be."""

KEYWORD_LIST: Final[Mapping[str, str]] = {
    "sets": "keywords",
    "queries": "string_split(keywords, ' ')",
}
"""Expression for the list of the keywords of a set."""

SPELLED_LIST: Final[Mapping[str, str]] = {
    "sets": "spelling",
    "queries": "string_split(spelling, ' ')",
}
"""Expression for the list of the keywords of a spelling."""


def closest_format(columns: Columns) -> tuple[str, int]:
    """Return the format with the fewest differing columns, and how many differ."""
    wrong, form = min(
        (sum(seen != due for seen, due in zip_longest(columns, expected)), form)
        for form, expected in RELEASE_COLUMNS.items()
    )
    return form, wrong


def rows_with_previous(form: str, table: str) -> str:
    """SELECT thread_id and position of each row of a table, and those of the row before it.

    Rows of the format "sets" have position 0.
    """
    position = "position" if form == "queries" else "0"
    return f"""SELECT *, lag(thread_id) OVER () AS previous_id,
            lag(position) OVER () AS previous_position
        FROM (SELECT thread_id, {position} AS position FROM {table})"""


def keyword_rows(form: str, table: str) -> str:
    """SELECT thread_id, and keywords or query, of each row of a table."""
    columns = ", ".join(name for name, _ in RELEASE_COLUMNS[form] if name != "position")
    return f"SELECT {columns} FROM {table}"


def thread_spellings(form: str, rows: str, extra: str = "") -> str:
    """SELECT the spelling of each thread.

    `rows` is a SELECT of thread_id and keywords or query. `extra` are further expressions:
    aggregates for "queries", columns for "sets".
    """
    more = f", {extra}" if extra else ""
    if form == "sets":
        return f"SELECT thread_id, keywords AS spelling{more} FROM ({rows})"
    # A repeated query adds no keyword: drop it before the texts get long.
    return f"""SELECT thread_id, string_agg(query, ' ') AS spelling{more}
        FROM (SELECT DISTINCT * FROM ({rows})) GROUP BY thread_id"""


def sets_of_spellings(table: str, expression: str, extra: str = "") -> str:
    """SELECT the set of each distinct spelling: many threads have the same one."""
    more = f", {extra}" if extra else ""
    return f"""SELECT spelling, {expression} AS keywords{more}
        FROM (SELECT DISTINCT spelling FROM {table})"""


def published_keywords(form: str) -> str:
    """SELECT each keyword of each set in the table `groups`, as `value`."""
    return f"SELECT unnest({KEYWORD_LIST[form]}) AS value FROM groups"


def has_empty_keyword(keywords: str) -> str:
    """SQL condition: a list has an empty or null keyword."""
    return f"(list_contains({keywords}, '') OR len({keywords}) > list_count({keywords}))"


def is_not_a_sorted_set(keywords: str) -> str:
    """SQL condition: a list is not sorted, or has duplicates."""
    return f"""(list_sort({keywords}) <> {keywords}
        OR list_unique({keywords}) <> len({keywords}))"""
