"""The layouts of a published file: columns, thread ids and, as SQL, lists and sets of the threads.

The spelling of a thread is all that is published of it except its id: the list of its keywords
("sets"), or the list of its queries in order of position, joined by newlines ("queries").
Spellings with the same keywords are the same set. Spellings and sets are compared character by
character, never by a hash.
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


FORMATS: Final = ("queries", "edited", "sets")
"""The formats of a release; separate from the parameters, so that they cannot change together."""


def layout_of(form: str) -> str:
    """The layout of a format, which the file has: edited queries have the columns of queries."""
    return "queries" if form == "edited" else form


WELL_FORMED_ID: Final = "regexp_full_match(thread_id, '[0-9a-f]{32}')"
"""SQL condition: a thread id is a keyed hash in hexadecimal."""

SEPARATOR: Final = "chr(10)"
"""SQL of the character between the queries of a spelling. A query that contains it, or another
control character, is a fault: two lists could have the same spelling."""

CONTROL_CHARACTERS: Final = r"'[\x00-\x09\x0b-\x1f\x7f-\x{9f}]'"
"""SQL of a pattern: control characters except the separator."""

SPELLED_LIST: Final[Mapping[str, str]] = {
    "sets": "spelling",
    "queries": f"string_split(replace(spelling, {SEPARATOR}, ' '), ' ')",
}
"""Expression for the list of the keywords of a spelling."""

JOINED: Final = 8
"""Queries of a sorted thread that are joined without grouping; few threads have more."""

SET_OF_SPELLING: Final[Mapping[str, str]] = {
    "sets": "list_sort(list_distinct(spelling))",
    # As text, which is faster to compare; keywords of queries contain no blank, so no two sets
    # have the same text. Two blanks in a row give an empty keyword.
    "queries": f"array_to_string(list_sort(list_distinct({SPELLED_LIST['queries']})), ' ')",
}
"""Expression for the set of a spelling; the result is called `keywords` in all tables."""

SET_IF_SORTED: Final[Mapping[str, str]] = {**SET_OF_SPELLING, "sets": "spelling"}
"""Expression for the set of a spelling if published lists are sorted sets, as they must be."""

KEYWORD_LIST: Final[Mapping[str, str]] = {
    "sets": "keywords",
    "queries": "string_split(keywords, ' ')",
}
"""Expression for the list of the keywords of a set."""


def closest_layout(
    columns: Columns, layout: str | None = None, attributes: Columns = ()
) -> tuple[str, int]:
    """Return the layout, by default that with the fewest differing columns, and how many differ.

    `attributes` are the columns that follow those of the layout.
    """
    wrong, closest = min(
        (sum(seen != due for seen, due in zip_longest(columns, expected + attributes)), name)
        for name, expected in RELEASE_COLUMNS.items()
        if layout in {None, name}
    )
    return closest, wrong


def rows_with_previous(form: str, table: str, extra: str | None = None) -> str:
    """SELECT thread_id and position of each row of a table, and those of the row before it.

    Rows of the format "sets" have position 0. `extra` is the name of a further column.
    """
    position = "position" if form == "queries" else "0"
    more = f', "{extra}"' if extra else ""
    previous = f', lag("{extra}") OVER () AS "previous_{extra}"' if extra else ""
    return f"""SELECT *, lag(thread_id) OVER () AS previous_id,
            lag(position) OVER () AS previous_position{previous}
        FROM (SELECT thread_id, {position} AS position{more} FROM {table})"""


def thread_spellings(form: str, table: str, extra: str = "") -> str:
    """SELECT thread_id and spelling of each thread of a table, whose rows may have any order.

    `extra` are further expressions: aggregates for "queries", columns for "sets".
    """
    more = f", {extra}" if extra else ""
    if form == "sets":
        return f"SELECT thread_id, keywords AS spelling{more} FROM {table}"
    # Ordered by the query too, so that a repeated position gives the same spelling in every run.
    return f"""SELECT thread_id,
            string_agg(query, {SEPARATOR} ORDER BY position, query) AS spelling{more}
        FROM {table} GROUP BY thread_id"""


def sorted_thread_spellings(form: str, table: str) -> str:
    """SELECT thread_id and spelling of each thread of a table whose rows are sorted.

    Faster than `thread_spellings`. The rows of a thread must be adjacent, with the positions 0, 1,
    2, and so on: then the row that is n rows below another, and whose position is greater by n,
    belongs to the same thread.
    """
    if form == "sets":
        return thread_spellings(form, table)
    below = "".join(
        f", lead(position, {n}) OVER () AS position_{n}, lead(query, {n}) OVER () AS query_{n}"
        for n in range(1, JOINED + 1)
    )
    texts = "".join(
        f", CASE WHEN position_{n} = {n} THEN {SEPARATOR} || query_{n} END"
        for n in range(1, JOINED)
    )
    longer = f"SELECT thread_id FROM {table} WHERE position = {JOINED}"
    return f"""SELECT thread_id, concat(query{texts}) AS spelling
        FROM (SELECT thread_id, position, query{below} FROM {table})
        WHERE position = 0 AND position_{JOINED} IS DISTINCT FROM {JOINED}
        UNION ALL {thread_spellings(form, f"{table} SEMI JOIN ({longer}) USING (thread_id)")}"""


def sets_of_spellings(table: str, expression: str) -> str:
    """SELECT the set of each distinct spelling: many threads have the same one."""
    return f"""SELECT spelling, {expression} AS keywords
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
