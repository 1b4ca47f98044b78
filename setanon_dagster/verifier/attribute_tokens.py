"""Attributes in a published file: columns of sorted lists of values, equal in all rows of a thread.

For the verifier, a value is one more word of its thread: the token of attribute and value, which no
keyword can be, since it begins with a control character. So all that k users must share, and all
that needs `min_owners` users, is checked for whole rows by the rules for keywords.

Guarantee:  two threads have the same words if and only if they have the same keywords and the same
            values of each attribute: a token is a bijection of attribute and value, except for
            values and keywords with control characters, which are faults.
Complexity: one scan of the file.
"""
# ruff: noqa: S608 - statements are built from constants and from checked names of attributes

from collections.abc import Sequence
from typing import Final

from setanon_dagster.verifier.sql import Columns, Connection, execute, query_counts

MARK: Final = "chr(31)"
"""SQL of the character that begins a token, and takes the place of blanks in it."""

STAGE_PREFIX: Final = "attribute_"
"""Begins the columns of attributes in the stages."""

CONTROLS: Final = r"'[\x00-\x1f\x7f-\x{9f}]'"
"""SQL of a pattern: control characters, line ends included."""


def attribute_columns(attributes: Sequence[str]) -> Columns:
    """Names and types of the published columns."""
    return tuple((name, "VARCHAR[]") for name in attributes)


def create_file_view(connection: Connection, layout: str, attributes: Sequence[str]) -> None:
    """Create the view `file` of the view `published_rows`: its rows with tokens.

    The first query of a thread has them as further words; a set has them as its first keywords.
    """
    if not attributes:
        execute(connection, "CREATE VIEW file AS FROM published_rows")
        return
    tokens = _tokens({name: f'"{name}"' for name in attributes})
    if layout == "sets":
        text = (
            f"CASE WHEN keywords IS NOT NULL THEN list_concat({tokens}, keywords) END AS keywords"
        )
    else:
        text = f"""position, query || CASE WHEN position = 0 AND len({tokens}) > 0
            THEN ' ' || array_to_string({tokens}, ' ') ELSE '' END AS query"""
    execute(connection, f"CREATE VIEW file AS SELECT thread_id, {text} FROM published_rows")


def create_vocabularies(connection: Connection, attributes: Sequence[str]) -> None:
    """Create the view `vocabularies` (user, words) of the view `typed_words`, with tokens."""
    if not attributes:
        execute(connection, "CREATE VIEW vocabularies AS FROM typed_words")
        return
    tokens = _tokens({name: f'"{STAGE_PREFIX}{name}"' for name in attributes})
    execute(
        connection,
        f"""CREATE VIEW vocabularies AS
        SELECT "user", list_concat(words, {tokens}) AS words FROM typed_words""",
    )


def _tokens(columns: dict[str, str]) -> str:
    """SQL of the list of tokens, ascending if the values are; `columns` has the list of each name.

    The mark sorts before all other characters, and a blank sorts before all but the mark.
    """
    lists = (
        f"""list_transform(coalesce({column}, []), lambda v:
            {MARK} || '{name}' || {MARK} || replace(v, ' ', {MARK}))"""
        for name, column in sorted(columns.items())
    )
    return f"list_concat([]::VARCHAR[], {', '.join(lists)})"


def count_attribute_faults(
    connection: Connection, layout: str, attributes: Sequence[str]
) -> dict[str, int]:
    """Count the faults of the view `published_rows` that tokens do not show."""
    names = [f'"{name}"' for name in attributes]
    text = "query" if layout == "queries" else "array_to_string(keywords, '')"
    no_keyword = "len(keywords) = 0" if layout == "sets" else "false"
    malformed = " OR ".join(f"({_is_malformed(name)})" for name in names)
    differs = " OR ".join(f"{name} IS DISTINCT FROM _previous_{n}" for n, name in enumerate(names))
    # No attribute has a name with _ first: a name of the file would hide one of these.
    previous = ", ".join(f"lag({name}) OVER () AS _previous_{n}" for n, name in enumerate(names))
    null = " OR ".join(f"{name} IS NULL" for name in names)
    return query_counts(
        connection,
        f"""SELECT count(*) FILTER ({null}) AS nulls,
            count(*) FILTER ({malformed}) AS malformed_values,
            count(*) FILTER (thread_id = _previous_id AND ({differs})) AS differing_values,
            count(*) FILTER (regexp_matches({text}, {CONTROLS})) AS malformed_texts,
            count(*) FILTER ({no_keyword}) AS empty_sets
        FROM (SELECT *, {previous},
            lag(thread_id) OVER () AS _previous_id FROM published_rows)""",
    )


def _is_malformed(values: str) -> str:
    """SQL condition: a list is no sorted set of texts without control characters."""
    return f"""list_sort({values}) <> {values} OR list_unique({values}) <> len({values})
        OR list_contains({values}, '') OR len({values}) > list_count({values})
        OR regexp_matches(array_to_string({values}, ''), {CONTROLS})"""


def count_values(
    connection: Connection, layout: str, attributes: Sequence[str]
) -> tuple[tuple[str, int], ...]:
    """The number of published values of each attribute, each counted once per thread."""
    first = "true" if layout == "sets" else "position = 0"
    columns = ", ".join(f'coalesce(sum(len("{name}")), 0) AS "{name}"' for name in attributes)
    counts = query_counts(connection, f"SELECT {columns} FROM published_rows WHERE {first}")
    return tuple(counts.items())
