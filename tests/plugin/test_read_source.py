"""Time windows, several files, and user ids that are spelled in two ways."""

# ruff: noqa: DTZ001 - times of a log have no zone

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.source_rows import HEADER, accepted

from setanon_core.errors import MalformedInputError
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source


def test_a_window_includes_its_start_and_excludes_its_end(read):
    data = HEADER + b"".join(b"u\t2024-01-0%d\tq\n" % day for day in range(1, 6)) + b"u\tx\tq\n"
    result = read(data, window=(datetime(2024, 1, 2), datetime(2024, 1, 4, tzinfo=UTC)))
    assert [row[3] for row in accepted(result)] == [3, 4]
    assert (result.lines, result.accepted_lines, result.outside_window) == (6, 2, 3)
    assert result.rejected_by_reason == {"time unreadable": 1}


def test_a_source_without_lines_is_accepted_with_a_window_only(read):
    window = datetime(2024, 1, 2), datetime(2024, 1, 3)
    assert read(HEADER, window=window).lines == read(b"", window=window).lines == 0
    for data, parameters in ((HEADER, {}), (HEADER + b"u\tnever\tq\n", {"window": window})):
        with pytest.raises(MalformedInputError, match="must have a usable row"):
            read(data, **parameters)


def test_a_window_without_rows_is_accepted(read):
    start = datetime(2030, 1, 1)
    result = read(HEADER + b"u\t2024-01-01\tq\n", window=(start, start + timedelta(days=1)))
    assert (accepted(result), result.outside_window) == ([], 1)


def test_line_numbers_continue_from_file_to_file(tmp_path):
    (tmp_path / "b.tsv").write_bytes(b"query\ttime\tuser\nb\t240102030405\tu2\n")
    (tmp_path / "a.tsv").write_bytes(HEADER + b"\nu1\t2024-01-02\ta\n")
    (tmp_path / "c.tsv").write_bytes(b"")
    expected = [("u1", "a", 3), ("u2", "b", 5)]
    for uri in (str(tmp_path / "*.tsv"), (str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv"))):
        result = read_source(Source(uri))
        assert [(row[0], row[2], row[3]) for row in accepted(result)] == expected
        assert (result.lines, result.blank_lines) == (2, 1)


def test_two_spellings_of_a_user_id_become_one(tmp_path):
    time = [datetime(2024, 1, 1)]
    for name, user in (("a", [7]), ("b", [7.0])):
        table = pa.table({"user": user, "time": time, "query": ["q"]})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    text = tmp_path / "log.tsv"
    text.write_text("Zo\u00e9 \t2024-01-01\tq\nZoe\u0301\t2024-01-01\tq\n")

    for uri in (tmp_path / "*.parquet", text):
        rows = accepted(read_source(Source(str(uri))))
        assert len(rows) == 2
        assert len({row[0] for row in rows}) == 1
