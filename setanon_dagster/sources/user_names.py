"""Spellings of one user in a table of rows, found by folding the distinct users only."""
# ruff: noqa: S608 - the name of the table is a constant or generated

from duckdb import DuckDBPyConnection

from setanon_core.columns.user_names import PLAIN_NAME, fold_name, other_spellings
from setanon_core.params import UserNames


def user_spellings(
    connection: DuckDBPyConnection, table: str, user_names: UserNames
) -> dict[str, str]:
    """The users that another spelling stands for, each with that spelling.

    An empty spelling stands for users without any visible character. `table` is a table or view
    with the column user.
    """
    if user_names == "exact":
        return {}
    distinct = f'SELECT DISTINCT "user" FROM {table} WHERE "user" IS NOT NULL'
    doubtful = [
        name
        for (name,) in connection.execute(
            f'FROM ({distinct}) WHERE NOT regexp_full_match("user", ?)', [PLAIN_NAME.pattern]
        ).fetchall()
    ]
    if not doubtful:
        return {}
    folded = {name: fold_name(name, user_names) for name in doubtful}
    plain = connection.execute(
        f'FROM ({distinct}) WHERE "user" IN (SELECT unnest(?::VARCHAR[]))', [[*folded.values()]]
    ).fetchall()
    spellings = other_spellings({*doubtful, *(name for (name,) in plain)}, user_names)
    return spellings | {name: "" for name, form in folded.items() if not form}


def records_are_users(connection: DuckDBPyConnection, table: str) -> bool:
    """Whether baskets have no users: the user of each row is its record."""
    equal = f'SELECT coalesce(bool_and(record = "user"), false) FROM {table}'
    return bool(connection.execute(equal).fetchall()[0][0])
