"""What a source has given, as tests look at it."""

# ruff: noqa: DTZ001 - times of a log have no zone

from datetime import datetime

import duckdb

ROW = ("u1", datetime(2024, 1, 2, 3, 4, 5), "pine straw")
HEADER = b"user\ttime\tquery\n"


def rows(found):
    return found.accepted.fetchall()


def refused(found):
    return found.rejected.fetchall()


def table_of(path, query):
    with duckdb.connect(str(path)) as connection:
        connection.execute(f'CREATE TABLE "my log" AS {query}').fetchall()
        connection.execute('CREATE VIEW seen AS FROM "my log"').fetchall()
    return path
