"""Logs in text files: how they may be written, and which lines are set aside."""

# ruff: noqa: DTZ001 - times of a log have no zone

import gzip
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.sourced import HEADER, ROW, refused, rows

from setanon_core.errors import MalformedInputError
from setanon_dagster.sources import csv_batches
from setanon_dagster.sources.line_blocks import line_blocks
from setanon_dagster.sources.loading import REASONS
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source


def test_clean_blocks_take_the_fast_way(read, monkeypatch):
    monkeypatch.setattr(csv_batches, "_parse_slow", None)
    assert read(HEADER + b"u1\t2024-01-02 03:04:05\tpine straw\n" * 3).accepted_lines == 3


@pytest.mark.parametrize(
    "data",
    [
        b"user\ttime\tquery\nu1\t2024-01-02 03:04:05\tpine straw\n",
        b"\xef\xbb\xbfUSER\tTime\tquery\r\nu1\t2024-01-02 03:04:05\tpine straw",
        b"Query\textra\tUSER\ttime\npine straw\t\tu1\t2024-01-02T03:04:05Z\n",
        b"time\tquery\tuser\n1704164645\tpine straw\tu1\r",
        b"user\ttime\tquery\nu1\t240102030405\tpine straw\n",
        b"user\ttime\tquery\nu1\t20240102030405\tpine straw\n",
        b"user\ttime\tquery\nu1\t2024-01-02T05:04:05+02:00\tpine straw\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_log_with_a_header_may_come_in_many_ways(read, data, packed):
    found = read(gzip.compress(data) if packed else data, "x.tsv.gz" if packed else "x.tsv")
    assert rows(found) == [(*ROW, 2)]
    assert (found.lines, found.accepted_lines, found.blank_lines, found.rejected_by_reason) == (
        1,
        1,
        0,
        {},
    )
    assert [str(kind) for kind in found.accepted.types] == [
        "VARCHAR", "TIMESTAMP", "VARCHAR", "BIGINT",
    ]  # fmt: skip


def test_without_a_header_three_columns_are_user_time_query(read):
    assert rows(read(b"u1\t240102030405\tpine straw\n", "x.log")) == [(*ROW, 1)]


def test_positions_count_from_0(read):
    found = read(
        b"pine straw,-,u1,2024-01-02 03:04:05\n", "x.csv",
        user_column=2, time_column=3, query_column=0,
    )  # fmt: skip
    assert rows(found) == [(*ROW, 1)]


def test_names_may_have_blanks_and_any_letters(read):
    data = "Übung Nr;wann;was\nu1;2024-01-02 03:04:05;pine straw\n".encode()
    found = read(
        data, "x.dat", user_column="übung nr", time_column="wann", query_column="was"
    )  # fmt: skip
    assert rows(found) == [(*ROW, 2)]


def test_quotes_are_letters_in_tsv(read):
    found = read(HEADER + b'u1\t2024-01-02\t"pine straw\nu1\t2024-01-02\t5" pipe\n')
    assert [row[2] for row in rows(found)] == ['"pine straw', '5" pipe']


def test_a_quoted_cell_spans_lines_and_a_broken_one_loses_its_line_only(read):
    found = read(
        b"user,time,query\n"
        b'u1,2024-01-02,"pine, ""straw""\r\nmulch"\n'
        b'u2,2024-01-02,"never closed\n'
        b'u3,2024-01-02,"closed"\n\n'
        b"u4,2024-01-02,\n",
        "x.csv",
    )
    assert [(row[0], row[2], row[3]) for row in rows(found)] == [
        ("u1", 'pine, "straw"\r\nmulch', 2), ("u3", "closed", 5), ("u4", "", 7),
    ]  # fmt: skip
    assert refused(found) == [(4, "quote")]
    assert (found.lines, found.blank_lines) == (4, 1)


def test_every_reason_is_given_with_its_line(read):
    data = HEADER + b"".join(
        [
            b"u1\t2024-01-02\tok\n",
            b"u1\t2024-01-02\t\xff\n",
            b"u1\t2024-01-02\ta\0b\n",
            b"u1\t2024-01-02\n",
            b"u1\t2024-01-02\ta\tb\n",
            b" \t2024-01-02\ta\n",
            b"u1\t\ta\n",
            b"u1\tyesterday\ta\n",
            b"u1\t2024-01-02\t" + b"x" * 100 + b"\n",
            b"u1\t2024-01-02\t\n",
        ]
    )
    found = read(data, longest_line=100)
    assert refused(found) == [
        (3, "encoding"), (4, "encoding"), (5, "columns"), (6, "columns"), (7, "user missing"),
        (8, "time missing"), (9, "time unreadable"), (10, "line too long"),
    ]  # fmt: skip
    assert set(found.rejected_by_reason) < set(REASONS)
    assert [row[2:] for row in rows(found)] == [("ok", 2), ("", 11)]


def test_a_line_without_end_is_held_only_as_far_as_it_may_be_long():
    class Endless:
        left = 1000

        def read(self, size):
            self.left -= 1
            return b"x" * size if self.left > 0 else b""

    assert [len(block) for block in line_blocks(Endless(), 50, size=1000)] == [52]


def test_latin_1_is_read_when_asked_for(read):
    data = HEADER + "u1\t2024-01-02\tcafé\n".encode("latin-1")
    assert rows(read(data, encoding="latin-1"))[0][2] == "café"


def test_a_file_has_one_notation_of_times(read):
    found = read(HEADER + b"u\t2024-01-02\ta\nu\t2024-01-03\tb\nu\t240102030405\tc\n")
    assert refused(found) == [(4, "time unreadable")]


@pytest.mark.parametrize(
    ("time_format", "text"),
    [
        ("%d/%m/%Y %H.%M.%S", "02/01/2024 03.04.05"),
        ("%Y-%m-%d %H:%M:%S %z", "2024-01-02 04:04:05 +0100"),
        ("epoch", "1704164645.0"),
        ("yymmddhhmmss", "240102030405"),
    ],
)
def test_a_notation_of_times_can_be_asked_for(read, time_format, text):
    found = read(HEADER + f"u1\t{text}\tpine straw\n".encode(), time_format=time_format)
    assert rows(found) == [(*ROW, 2)]


def test_few_digits_are_seconds_only_when_asked_for(read):
    data = HEADER + b"u1\t20240102\tq\n"
    with pytest.raises(MalformedInputError, match="time unreadable: 1"):
        read(data)
    assert rows(read(data, time_format="epoch"))[0][1] == datetime(1970, 1, 1) + timedelta(
        seconds=20240102
    )


def test_a_window_holds_its_start_and_not_its_end(read):
    data = HEADER + b"".join(b"u\t2024-01-0%d\tq\n" % day for day in range(1, 6)) + b"u\tx\tq\n"
    found = read(data, window=(datetime(2024, 1, 2), datetime(2024, 1, 4, tzinfo=UTC)))
    assert [row[3] for row in rows(found)] == [3, 4]
    assert (found.lines, found.accepted_lines, found.outside_window, found.rejected_by_reason) == (
        6, 2, 3, {"time unreadable": 1},
    )  # fmt: skip


def test_a_window_may_be_empty_of_rows(read):
    start = datetime(2030, 1, 1)
    found = read(HEADER + b"u\t2024-01-01\tq\n", window=(start, start + timedelta(days=1)))
    assert (rows(found), found.outside_window) == ([], 1)


def test_several_files_are_one_source_and_lines_run_on(tmp_path):
    (tmp_path / "b.tsv").write_bytes(b"query\ttime\tuser\nb\t240102030405\tu2\n")
    (tmp_path / "a.tsv").write_bytes(HEADER + b"\nu1\t2024-01-02\ta\n")
    (tmp_path / "c.tsv").write_bytes(b"")
    expected = [("u1", "a", 3), ("u2", "b", 5)]
    for uri in (str(tmp_path / "*.tsv"), (str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv"))):
        found = read_source(Source(uri))
        assert [(row[0], row[2], row[3]) for row in rows(found)] == expected
        assert (found.lines, found.blank_lines) == (2, 1)


def test_one_user_written_in_two_ways_is_one(tmp_path):
    moment = [datetime(2024, 1, 1)]
    for name, user in (("a", [7]), ("b", [7.0])):
        table = pa.table({"user": user, "time": moment, "query": ["q"]})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    text = tmp_path / "log.tsv"
    text.write_text("Zo\u00e9 \t2024-01-01\tq\nZoe\u0301\t2024-01-01\tq\n")

    for uri in (tmp_path / "*.parquet", text):
        found = read_source(Source(str(uri))).accepted.fetchall()
        assert len(found) == 2
        assert len({row[0] for row in found}) == 1
