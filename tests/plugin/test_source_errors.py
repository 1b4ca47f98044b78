"""Sources that are refused: error messages name parameters and counts, never cells."""

# ruff: noqa: DTZ001, SLF001 - times of a log have no zone; a lost line is simulated

import gzip
from datetime import datetime, timedelta

import pytest
from support.source_rows import HEADER, write_duckdb_file

from setanon_core.errors import InvalidParameterError, MalformedInputError, SetanonError
from setanon_dagster.sources.loading import RowLoader
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source

CANARY = "zyxcanary"


@pytest.mark.parametrize("data", [b"", b"\n\n", HEADER, HEADER + b"u1\tx\n"])
def test_a_source_without_a_usable_row_is_refused(read, data):
    with pytest.raises(MalformedInputError, match="must have a usable row"):
        read(data)


def test_utf_16_without_a_mark_is_refused_with_a_reason(read):
    with pytest.raises(MalformedInputError, match="encoding: 2"):
        read("u1\t2024-01-02\tq\n".encode("utf-16-le"))


def test_invalid_utf_16_is_refused(read):
    with pytest.raises(MalformedInputError, match="UnicodeDecodeError"):
        read("u1\t2024-01-02\tq".encode("utf-16") + b"\x00\xd8" + "\n".encode("utf-16-le"))


@pytest.mark.parametrize(
    ("name", "data", "parameters"),
    [
        ("x.tsv", f"{CANARY}\t{CANARY}\n", {}),
        ("x.tsv", f"{CANARY}\t{CANARY}\t{CANARY}\t{CANARY}\n", {}),
        ("x.tsv", f"{CANARY}\t{CANARY}\t{CANARY}\n", {}),
        ("x.tsv", f"{CANARY}\t{CANARY}\t{CANARY}\n", {"header": True}),
        ("x.tsv", f"{CANARY}\t2024-01-02\t{CANARY}\n", {"user_column": "AnonID"}),
        (
            "x.tsv",
            f"user\ttime\tquery\tuser\n{CANARY}\t2024-01-02\t{CANARY}\tu\n",
            {"header": True},
        ),
        ("x.dat", f"{CANARY} {CANARY} {CANARY}\n", {}),
        ("x.parquet", f"PAR1{CANARY}", {}),
        ("x.duckdb", f"{CANARY}", {"table": "log"}),
        ("x.tsv", f"\x1f\x00{CANARY}", {}),
    ],
)
def test_error_messages_contain_no_data(read, name, data, parameters):
    with pytest.raises(MalformedInputError) as caught:
        read(data.encode(), name, **parameters)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_truncated_gzip_file_is_refused(read):
    compressed = gzip.compress(HEADER + b"u1\t2024-01-02\tq\n" * 99)
    with pytest.raises(MalformedInputError, match="EOFError"):
        read(compressed[:-20], "x.tsv.gz")


def test_missing_files_tables_and_columns_are_refused(tmp_path):
    for uri in (tmp_path / "none.tsv", tmp_path / "*.tsv", tmp_path):
        with pytest.raises(MalformedInputError, match="must be a file, or a pattern"):
            read_source(Source(str(uri)))
    path = write_duckdb_file(tmp_path / "x.duckdb", "SELECT 1 AS client, [1] AS time, 'q' AS query")
    with pytest.raises(
        MalformedInputError, match="user is missing; the columns are client, time, query"
    ):
        read_source(Source(str(path), table="my log"))
    with pytest.raises(MalformedInputError, match="1 of them have nested or binary types"):
        read_source(Source(str(path), table="my log", user_column="client"))
    with pytest.raises(MalformedInputError, match="CatalogException"):
        read_source(Source(str(path), table="nowhere"))


def test_missing_columns_are_named_with_those_of_the_header(read):
    data = b"account,time,text,time\nu1,2024-01-02,pine,x\n"
    message = "user is missing, time is repeated, query is missing; the columns are account, time,"
    with pytest.raises(MalformedInputError, match=message):
        read(data, "x.csv")
    with pytest.raises(MalformedInputError, match="txt is missing; the columns are account, time,"):
        read(data, "x.csv", header=True, user_column="account", time_column=1, query_column="txt")


def test_a_row_that_became_the_names_of_a_table_is_not_quoted(tmp_path):
    row = f'SELECT 1 AS {CANARY}, 2 AS "2024-01-02", 3 AS {CANARY}2'
    path = write_duckdb_file(tmp_path / "x.duckdb", row)
    with pytest.raises(MalformedInputError, match="the table has 3 columns") as caught:
        read_source(Source(str(path), table="my log"))
    assert CANARY not in str(caught.value)


def test_windows_require_a_log_and_a_start_before_the_end():
    day = datetime(2024, 1, 1)
    with pytest.raises(InvalidParameterError, match="start before it ends"):
        read_source(Source("x"), (day, day))
    with pytest.raises(InvalidParameterError, match="must belong to a source with kind='log'"):
        read_source(Source("x", kind="baskets"), (day, day + timedelta(days=1)))


def test_a_lost_line_is_an_error(read, monkeypatch):
    insert = RowLoader._insert

    def insert_and_lose_a_line(self, parse_time):
        insert(self, parse_time)
        self.connection.execute(f"DELETE FROM {self.table} WHERE line = 2").fetchall()  # noqa: S608

    monkeypatch.setattr(RowLoader, "_insert", insert_and_lose_a_line)
    with pytest.raises(SetanonError, match="every line must be accepted"):
        read(HEADER + b"u\t2024-01-01\tq\n" * 3)


@pytest.mark.parametrize("header", ["query\ttime\tuid", "Search\tWhen\tAnonID"])
def test_a_header_with_other_names_is_not_read_as_a_row(tmp_path, header):
    path = tmp_path / "log.tsv"
    path.write_text(header + "\npine straw\t2024-01-02\tu1\nmulch\t2024-01-02\tu2\n")

    with pytest.raises(MalformedInputError, match="Set header"):
        read_source(Source(str(path)))
    result = read_source(Source(str(path), header=False, max_rejected=1))
    assert result.rejected_by_reason == {"time unreadable": 1}


def test_more_rejected_lines_than_max_rejected_are_refused_with_reasons(read):
    good, bad = b"u1\t2024-01-02\tpine\n", f"{CANARY}\t02/03/2024\t{CANARY}\n".encode()
    short = f"{CANARY}\n".encode()
    assert read(good * 198 + bad * 2, max_rejected=0.01).lines == 200
    with pytest.raises(MalformedInputError) as caught:
        read(good * 198 + bad * 2 + short, max_rejected=0.01)
    message = str(caught.value)
    assert "max_rejected = 0.01" in message
    assert (
        "3 of 201 were (time unreadable: 2, first line 199; columns: 1, first line 201)" in message
    )
    assert "Set time_format" in message
    assert "Set delimiter" in message
    assert CANARY not in message


def test_a_source_is_refused_above_one_percent_by_default(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("u1\t2024-01-02\tpine\n" * 98 + "u1\tyesterday\tpine\n" * 2)
    with pytest.raises(MalformedInputError, match="2 of 100 were"):
        read_source(Source(str(path)))
