"""Published sets that too few users typed whole: for releases with `combinations: typed`.

Guarantee:  exact: each set is compared keyword by keyword with every thread that has its rarest
            keyword; the code shares nothing with the stages.
Complexity: one scan of the published file and two of the users' keywords, and one comparison for
            each pair of a set and a thread with its rarest keyword.
"""
# ruff: noqa: S608 - statements are built from constants, integers and SQL of this package

from pathlib import Path

from setanon_core.errors import NotAnonymousError
from setanon_core.ranges import check_k
from setanon_dagster.verifier.release_format import (
    KEYWORD_LIST,
    SET_OF_SPELLING,
    closest_layout,
    sets_of_spellings,
    thread_spellings,
)
from setanon_dagster.verifier.sql import Limits, create_view, open_connection, query_counts


def require_typed_sets(path: Path, words: Path, k: int, limits: Limits) -> None:
    """Refuse a file with a set that fewer than k users typed whole, each in one thread."""
    untyped = count_untyped_sets(path, words, k, **limits)
    if untyped:
        raise NotAnonymousError(
            f"with combinations typed, at least k = {k} users must have typed each set whole; "
            f"{untyped} sets have fewer. Nothing was published; the latest release is unchanged."
        )


def count_untyped_sets(  # noqa: PLR0913 - two files and four limits
    path: Path,
    words: Path,
    k: int,
    *,
    cores: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> int:
    """Count the published sets that fewer than k users typed whole, each in one thread.

    `words` (user, words) has one row per thread with the keywords that its user typed.
    """
    k = check_k(k)
    with open_connection(cores, memory, spill) as connection:
        form, _ = closest_layout(create_view(connection, "file", path))
        create_view(connection, "typed", words)
        threads = thread_spellings(form, "file")
        counts = query_counts(
            connection,
            f"""
            WITH threads AS MATERIALIZED ({threads}),
            sets AS MATERIALIZED (
                SELECT keywords, row_number() OVER () AS number FROM (
                    SELECT DISTINCT {KEYWORD_LIST[form]} AS keywords
                    FROM ({sets_of_spellings("threads", SET_OF_SPELLING[form])}))),
            frequencies AS (
                SELECT value, count(*) AS n
                FROM (SELECT unnest(list_distinct(words)) AS value FROM typed) GROUP BY value),
            rarest AS (
                SELECT number, any_value(keywords) AS keywords,
                    arg_min(value, coalesce(n, 0)) AS value
                FROM (SELECT number, keywords, unnest(keywords) AS value FROM sets)
                LEFT JOIN frequencies USING (value) GROUP BY number),
            occurrences AS (
                SELECT "user", words, unnest(list_distinct(words)) AS value FROM typed),
            owners AS (
                SELECT number, count(DISTINCT "user") AS users FROM rarest
                JOIN occurrences USING (value) WHERE list_has_all(words, keywords) GROUP BY number)
            SELECT (SELECT count(*) FROM sets)
                - (SELECT count(*) FROM owners WHERE users >= {k}) AS untyped""",
        )
    return counts["untyped"]
