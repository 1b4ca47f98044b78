"""Published keywords that look personal: e-mail addresses, long numbers and rare names.

Only what a pattern can see: a name typed in lower case, or a nickname, is not found. Private: words
of users, which are also in the published file.
Complexity: one pass over the published rows, and one over the queries of the source.
"""
# ruff: noqa: S608 - statements are built from constants and integers

from dataclasses import dataclass, field
from typing import Final

from duckdb import DuckDBPyConnection

from setanon_dagster.report.release_facts import RAW

LEAST_DIGITS: Final = 5
"""Digits of a long number: years and prices are shorter; telephone numbers are longer."""

RARE: Final = 5
"""A name is rare if fewer than this many times k users typed it."""

LISTED: Final = 100
"""Words listed of each kind; the rarest first."""

EMAIL: Final = r"[^@]+@[^@]+\.[^@.]+"
NUMBER: Final = rf"[0-9](?:[.,-]?[0-9]){{{LEAST_DIGITS - 1},}}"
LETTERS: Final = r"[\p{L}\p{M}]+"

KINDS: Final = {
    "email": "E-mail addresses",
    "number": f"Numbers of {LEAST_DIGITS} or more digits",
    "name": "Rare words that are mostly capitalized",
}


@dataclass(frozen=True, slots=True)
class PersonalWords:
    """Published keywords of one kind: how many, and the rarest with their numbers of users."""

    kind: str
    count: int
    listed: tuple[tuple[str, int], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class PersonalSearch:
    """The words that were found, and the share of the queries that have a capital letter."""

    words: tuple[PersonalWords, ...]
    capitalized: float | None = None
    """None: capital letters were not looked at, since baskets have no queries."""


def find_personal_words(connection: DuckDBPyConnection, k: int) -> PersonalSearch:
    """Find personal-looking keywords; `connection` is of `open_stages`, with the view `raw`.

    A name is a word that is capitalized in at least half of its occurrences in the source, without
    queries in capital letters only, and that fewer than `RARE * k` users typed.
    """
    columns = connection.view("anonymized_threads").columns
    words = "keywords" if "keywords" in columns else "string_split(query, ' ')"
    is_log = "query" in connection.view(RAW).columns
    names, capitalized = "SELECT NULL::VARCHAR AS word WHERE false", None
    if is_log:
        names = f"""SELECT lower(typed) AS word FROM
            (SELECT unnest(regexp_extract_all(query, '{LETTERS}')) AS typed FROM {RAW}
                WHERE query <> upper(query) OR query = lower(query))
            GROUP BY word
            HAVING 2 * count(*) FILTER (regexp_full_match(typed, '\\p{{Lu}}[\\p{{Ll}}\\p{{M}}]+'))
                >= count(*)"""
        ((capitalized,),) = connection.execute(
            f"SELECT coalesce(avg((query <> lower(query))::INT), 0) FROM {RAW}"
        ).fetchall()
    rows = connection.execute(
        f"""
        WITH published AS MATERIALIZED (
            SELECT DISTINCT unnest({words}) AS word FROM anonymized_threads),
        names AS ({names}),
        found AS MATERIALIZED (SELECT word, CASE
                WHEN regexp_full_match(word, $email) THEN 'email'
                WHEN regexp_full_match(word, $number) THEN 'number'
                WHEN names.word IS NOT NULL THEN 'name' END AS kind
            FROM published LEFT JOIN names USING (word)),
        users AS (SELECT word, count(DISTINCT "user") AS users
            FROM (SELECT "user", unnest(words) AS word FROM clusters)
            SEMI JOIN (FROM found WHERE kind IS NOT NULL) USING (word) GROUP BY word)
        SELECT kind, word, coalesce(users, 0) AS users FROM found LEFT JOIN users USING (word)
        WHERE kind IS NOT NULL AND (kind <> 'name' OR coalesce(users, 0) < $rare)
        ORDER BY users, word""",
        {"email": EMAIL, "number": NUMBER, "rare": RARE * k},
    ).fetchall()
    found = {kind: [(word, users) for each, word, users in rows if each == kind] for kind in KINDS}
    return PersonalSearch(
        tuple(PersonalWords(kind, len(all_), tuple(all_[:LISTED])) for kind, all_ in found.items()),
        capitalized,
    )
