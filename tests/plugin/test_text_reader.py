"""Logs in text files: accepted formats, and the reasons for rejected lines."""

import codecs
import gzip

import pytest
from support.source_rows import HEADER, ROW, accepted, rejected

from setanon_dagster.sources import csv_batches
from setanon_dagster.sources.csv_records import ENOUGH_LINES, detect_encoding, line_blocks
from setanon_dagster.sources.loading import REASONS


def test_clean_blocks_are_parsed_by_the_fast_parser(read, monkeypatch):
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
@pytest.mark.parametrize("compressed", [False, True])
def test_logs_with_a_header_are_read_in_many_formats(read, data, compressed):
    result = read(
        gzip.compress(data) if compressed else data, "x.tsv.gz" if compressed else "x.tsv"
    )
    assert accepted(result) == [(*ROW, 2)]
    assert (result.lines, result.accepted_lines, result.blank_lines) == (1, 1, 0)
    assert result.rejected_by_reason == {}
    assert [str(column_type) for column_type in result.accepted.types] == [
        "VARCHAR", "TIMESTAMP", "VARCHAR", "BIGINT",
    ]  # fmt: skip


def test_three_columns_without_a_header_are_user_time_query(read):
    assert accepted(read(b"u1\t240102030405\tpine straw\n", "x.log")) == [(*ROW, 1)]


def test_column_positions_count_from_0(read):
    result = read(
        b"pine straw,-,u1,2024-01-02 03:04:05\n", "x.csv",
        user_column=2, time_column=3, query_column=0,
    )  # fmt: skip
    assert accepted(result) == [(*ROW, 1)]


def test_column_names_may_have_spaces_and_non_ascii_letters(read):
    data = "Übung Nr;wann;was\nu1;2024-01-02 03:04:05;pine straw\n".encode()
    result = read(data, "x.dat", user_column="übung nr", time_column="wann", query_column="was")
    assert accepted(result) == [(*ROW, 2)]


def test_quotes_in_tsv_are_ordinary_characters(read):
    result = read(HEADER + b'u1\t2024-01-02\t"pine straw\nu1\t2024-01-02\t5" pipe\n')
    assert [row[2] for row in accepted(result)] == ['"pine straw', '5" pipe']


def test_a_quoted_cell_may_span_lines_and_a_broken_quote_rejects_one_line(read):
    result = read(
        b"user,time,query\n"
        b'u1,2024-01-02,"pine, ""straw""\r\nmulch"\n'
        b'u2,2024-01-02,"never closed\n'
        b'u3,2024-01-02,"closed"\n\n'
        b"u4,2024-01-02,\n",
        "x.csv",
    )
    assert [(row[0], row[2], row[3]) for row in accepted(result)] == [
        ("u1", 'pine, "straw"\r\nmulch', 2), ("u3", "closed", 5), ("u4", "", 7),
    ]  # fmt: skip
    assert rejected(result) == [(4, "quote")]
    assert (result.lines, result.blank_lines) == (4, 1)


def test_rejected_lines_have_their_number_and_reason(read):
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
    result = read(data, longest_line=100, encoding="utf-8")
    assert rejected(result) == [
        (3, "encoding"), (4, "encoding"), (5, "columns"), (6, "columns"), (7, "user missing"),
        (8, "time missing"), (9, "time unreadable"), (10, "line too long"),
    ]  # fmt: skip
    assert set(result.rejected_by_reason) < set(REASONS)
    assert [row[2:] for row in accepted(result)] == [("ok", 2), ("", 11)]


def test_a_line_without_end_is_kept_in_memory_only_up_to_the_limit():
    class EndlessLine:
        reads_left = 1000

        def read(self, size):
            self.reads_left -= 1
            return b"x" * size if self.reads_left > 0 else b""

    assert [len(block) for block in line_blocks(EndlessLine(), 50, size=1000)] == [52]


@pytest.mark.parametrize("block_size", [8, 1 << 23])
def test_a_header_is_found_after_many_blank_lines(read, monkeypatch, block_size):
    monkeypatch.setattr(line_blocks, "__defaults__", (block_size,))
    result = read(b"\n" * 200 + HEADER + b"\nu1\t2024-01-02 03:04:05\tpine straw\n")
    assert accepted(result) == [(*ROW, 203)]
    assert (result.lines, result.blank_lines) == (1, 201)


def test_the_columns_of_baskets_are_found_after_many_blank_lines(read):
    result = read(b"\r\n" * 200 + b"r1,milk\r\n", "x.csv", kind="baskets")
    assert accepted(result) == [("r1", "milk", "r1", 201)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "windows-1252"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_the_encoding_is_detected_and_named(read, encoding, compress):
    text = "u1\t2024-01-02\tcafé € “pine”\nu1\t2024-01-02\tpine\n"
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    result = read(compress(mark + text.encode(encoding)))
    assert [row[2] for row in accepted(result)] == ["café € “pine”", "pine"]
    assert result.encodings == (encoding.removesuffix("-sig").removesuffix("-be"),)
    assert result.rejected_by_reason == {}


def test_a_few_damaged_lines_do_not_change_the_encoding(read):
    line, damaged = "u1\t2024-01-02\tcafé\n".encode(), b"u1\t2024-01-02\tcaf\xe9\n"
    result = read(line + line + damaged)
    assert result.encodings == ("utf-8",)
    assert rejected(result) == [(3, "encoding")]
    assert [row[2] for row in accepted(read(line + damaged + damaged))][-1] == "café"


def test_detection_of_the_encoding_ends_with_a_clear_majority(tmp_path, monkeypatch):
    path = tmp_path / "x.tsv"
    path.write_bytes("u1\t2024-01-02\tcafé\n".encode() * (ENOUGH_LINES + 99) + b"\xe9\n" * 3000)
    monkeypatch.setattr(line_blocks, "__defaults__", (1000,))
    assert detect_encoding(path, 99) == "utf-8"
    path.write_bytes(b"\xe9\n" * 3 + "é\n".encode() * 2)
    assert detect_encoding(path, 99) == "windows-1252"


@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "log.txt", "log"])
@pytest.mark.parametrize("mark", [";", "|", ",", "\t"])
@pytest.mark.parametrize("header", ["user{0}time{0}query\n", ""])
def test_the_delimiter_is_detected_whatever_the_suffix(read, name, mark, header):
    lines = "u1{0}2024-01-02{0}pine straw\n" * 3
    result = read((header + lines).format(mark).encode(), name)
    assert [row[2] for row in accepted(result)] == ["pine straw"] * 3


def test_iso_times_and_milliseconds_may_be_mixed(read):
    iso, epoch = b"u1\t2024-01-02 03:04:05\tpine straw\n", b"u1\t1704164645000\tpine straw\n"
    result = read(HEADER + iso * 7 + epoch * 3)
    assert [row[:3] for row in accepted(result)] == [ROW] * 10


def test_latin_1_files_are_read_if_the_encoding_is_set(read):
    data = HEADER + "u1\t2024-01-02\tcafé\n".encode("latin-1")
    assert accepted(read(data, encoding="latin-1"))[0][2] == "café"


def test_the_delimiter_of_the_header_is_used_although_most_lines_have_another(read):
    data = HEADER + b"u1\t2024-01-02 03:04:05\tpine straw\n" + b"a,b,c\n" * 5
    result = read(data, "x")
    assert accepted(result) == [(*ROW, 2)]
    assert result.rejected_by_reason == {"columns": 5}
