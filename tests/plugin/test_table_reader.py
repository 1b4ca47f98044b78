"""Logs in Parquet files, and in tables and views of DuckDB files."""

# ruff: noqa: DTZ001 - times of a log have no zone

from datetime import datetime

import duckdb
import pytest
from support.source_rows import ROW, accepted, rejected, write_duckdb_file

from setanon_dagster.sources import table_reader
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source

TABLE = """SELECT * FROM (VALUES
  (1, TIMESTAMPTZ '2024-01-02 05:04:05+02', 'pine straw'), (NULL, TIMESTAMPTZ '2024-01-02', 'a'),
  (2, NULL, 'a'), (3, TIMESTAMPTZ '2024-01-02', NULL), (4, TIMESTAMPTZ 'infinity', 'a'),
  (5, TIMESTAMPTZ '2024-01-02 00:00:00+00', 'a' || chr(0)),
  (6, TIMESTAMPTZ '2024-01-02 00:00+00', '')
) AS t("User", time, query)"""
TABLE_ACCEPTED = [("1", *ROW[1:], 1), ("6", datetime(2024, 1, 2), "", 7)]
TABLE_REJECTED = [
    (2, "user missing"), (3, "time missing"), (4, "query missing"), (5, "time unreadable"),
    (6, "encoding"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["my log", "main.my log", "log_view"])
def test_duckdb_tables_and_views_are_read(tmp_path, name):
    path = write_duckdb_file(tmp_path / "x.duckdb", TABLE)
    result = read_source(Source(str(path), table=name, max_rejected=1))
    assert (accepted(result), rejected(result)) == (TABLE_ACCEPTED, TABLE_REJECTED)


def test_parquet_files_are_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(table_reader, "BATCH_ROWS", 2)
    path = tmp_path / "it's.parquet"
    duckdb.sql(TABLE).write_parquet(str(path))
    result = read_source(Source(str(path), max_rejected=1))
    assert (accepted(result), rejected(result)) == (TABLE_ACCEPTED, TABLE_REJECTED)
    assert result.lines == 7


@pytest.mark.parametrize(
    ("column_type", "value"),
    [("TIMESTAMP_S", "2024-01-02"), ("TIMESTAMP_NS", "2024-01-02"), ("DATE", "2024-01-02"),
     ("BIGINT", "1704153600"), ("VARCHAR", "2024-01-02"), ("BIGINT", "240102000000")],
)  # fmt: skip
def test_time_columns_of_tables_may_have_many_types(tmp_path, column_type, value):
    path = tmp_path / "x.parquet"
    row = f"SELECT 'u' AS user, CAST('{value}' AS {column_type}) AS time, 'q' AS query"
    duckdb.sql(row).write_parquet(str(path))
    assert accepted(read_source(Source(str(path)))) == [("u", datetime(2024, 1, 2), "q", 1)]
