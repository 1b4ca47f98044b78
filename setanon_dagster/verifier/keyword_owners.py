"""Owners of keywords: how many users typed each published keyword.

Complexity: one scan of the users' keywords; keywords with enough owners in the first rows are not
            counted exactly.
"""
# ruff: noqa: S608 - statements are built from constants, integers and SQL of this package

from typing import Final

from setanon_dagster.verifier.sql import Connection, query_rows

PROBE: Final = 100_000
"""Rows of the users' keywords that are counted first. A keyword with enough owners in these rows
needs no exact count; this holds for most published keywords."""


def owners_per_keyword(
    connection: Connection, published: str, users: str, enough: int
) -> list[tuple[int, int]]:
    """Count published keywords by their number of owners; rows are (owners, keywords).

    `published` is a SELECT of one column `value`; `users` is a table with the columns user and
    words. Owners are counted up to `enough`, which must be at least 1.
    """
    return query_rows(
        connection,
        f"""
        WITH published AS MATERIALIZED (SELECT DISTINCT value FROM ({published})),
        common AS MATERIALIZED ({_common_values(users, "words", enough)}),
        doubtful AS MATERIALIZED (FROM published ANTI JOIN common USING (value)),
        counted AS (
            SELECT least(count(DISTINCT "user"), {enough}) AS owners FROM doubtful LEFT JOIN
                (SELECT "user", unnest(words) AS value FROM {users}) USING (value)
            GROUP BY value
            UNION ALL SELECT {enough} FROM published SEMI JOIN common USING (value))
        SELECT owners, count(*) FROM counted GROUP BY owners ORDER BY owners""",
    )


def count_rare_keywords(connection: Connection, published: str, users: str, min_owners: int) -> int:
    """Count the published keywords that fewer than `min_owners` users typed."""
    counts = owners_per_keyword(connection, published, users, max(min_owners, 1))
    return sum(keywords for owners, keywords in counts if owners < min_owners)


def rare_values_per_thread(threads: str, column: str, min_owners: int) -> str:
    """SELECT thread and the number `n` of its values that fewer than `min_owners` users have.

    `threads` is a table with the columns thread, user and the list `column`.
    """
    return f"""
        WITH doubtful AS MATERIALIZED (
            FROM (SELECT thread, "user", unnest({column}) AS value FROM {threads})
            ANTI JOIN ({_common_values(threads, column, min_owners)}) USING (value)),
        rare AS (SELECT value FROM doubtful GROUP BY value
            HAVING count(DISTINCT "user") < {min_owners})
        SELECT thread, count(*) AS n FROM doubtful SEMI JOIN rare USING (value) GROUP BY thread"""


def _common_values(table: str, column: str, owners: int) -> str:
    """SELECT the values of a list column with at least `owners` users in the first rows."""
    return f"""SELECT value FROM (
        SELECT DISTINCT "user", unnest({column}) AS value FROM (FROM {table} LIMIT {PROBE}))
        GROUP BY value HAVING count("user") >= {owners}"""
