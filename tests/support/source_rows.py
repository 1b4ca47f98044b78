"""Rows of a source that was read, and DuckDB files to read from."""

# ruff: noqa: DTZ001 - times of a log have no zone

from datetime import datetime

import duckdb

ROW = ("u1", datetime(2024, 1, 2, 3, 4, 5), "pine straw")
HEADER = b"user\ttime\tquery\n"


def accepted(result):
    return result.accepted.fetchall()


def rejected(result):
    return result.rejected.fetchall()


def write_duckdb_file(path, query):
    """A file with a table "my log" of this query, and a view of it."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(f'CREATE TABLE "my log" AS {query}').fetchall()
        connection.execute('CREATE VIEW log_view AS FROM "my log"').fetchall()
    return path
