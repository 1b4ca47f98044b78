"""Spellings of one user in a table of rows, found by folding the distinct users only."""
# ruff: noqa: S608 - the name of the table is a constant or generated

from typing import Final

from duckdb import DuckDBPyConnection

from setanon_core.columns.user_names import fold_name, other_spellings
from setanon_core.params import UserNames

ASCII_NAME: Final = "[!-~]*"
"""Printable ASCII without blanks: folding such a name is `lower`. Most names are like this."""


def user_spellings(
    connection: DuckDBPyConnection, table: str, user_names: UserNames
) -> dict[str, str]:
    """The users that another spelling stands for, each with that spelling.

    An empty spelling stands for users without any visible character. `table` is a table or view
    with the column user.
    """
    if user_names == "exact":
        return {}
    distinct = f'(SELECT DISTINCT "user" FROM {table} WHERE "user" IS NOT NULL)'
    others = connection.execute(
        f'FROM {distinct} WHERE NOT regexp_full_match("user", ?)', [ASCII_NAME]
    ).fetchall()
    folded = {name: fold_name(name, user_names) for (name,) in others}
    # Names in ASCII that are equal in lower case, or to another name that was folded.
    same = connection.execute(
        f"""SELECT list("user") FROM {distinct} WHERE regexp_full_match("user", ?)
        GROUP BY lower("user")
        HAVING count(*) > 1 OR lower("user") IN (SELECT unnest(?::VARCHAR[]))""",
        [ASCII_NAME, [*folded.values()]],
    ).fetchall()
    doubtful = {*folded, *(name for (names,) in same for name in names)}
    spellings = other_spellings(doubtful, user_names)
    return spellings | {name: "" for name, form in folded.items() if not form}


def records_are_users(connection: DuckDBPyConnection, table: str) -> bool:
    """Whether baskets have no users: the user of each row is its record."""
    equal = f'SELECT coalesce(bool_and(record = "user"), false) FROM {table}'
    return bool(connection.execute(equal).fetchall()[0][0])
