"""The CSV reader compared with a character-by-character oracle on random malformed files."""

# ruff: noqa: SLF001 - the fast and the slow parser are compared
import re
from collections import Counter
from datetime import UTC, datetime
from unicodedata import normalize

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.source_rows import accepted, rejected

from setanon_dagster.sources import csv_batches, csv_records, text_reader
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source


def split_lines(data):
    """Lines with their ends: LF, CR LF or CR."""
    lines, line, position = [], b"", 0
    while position < len(data):
        end = b"\r\n" if data[position : position + 2] == b"\r\n" else data[position : position + 1]
        line += end
        position += len(end)
        if end in {b"\n", b"\r", b"\r\n"}:
            lines.append(line)
            line = b""
    return [*lines, line] if line else lines


def without_end(line):
    return line.rstrip(b"\r\n")


def split_cells(text, mark):
    """Cells by RFC 4180; "open" if a quote is not closed, None if the quoting is invalid."""
    cells, cell, state = [], b"", "start"
    for byte in (text[position : position + 1] for position in range(len(text))):
        if state == "quoted":
            state, cell = ("quote", cell) if byte == b'"' else (state, cell + byte)
        elif state == "quote" and byte == b'"':
            state, cell = "quoted", cell + byte
        elif byte == mark:
            cells, cell, state = [*cells, cell], b"", "start"
        elif byte == b'"' and state == "start":
            state = "quoted"
        elif byte in {b'"', b"\r", b"\n"} or state == "quote":
            return None
        else:
            cell, state = cell + byte, "plain"
    return "open" if state == "quoted" else [*cells, cell]


def oracle_records(data, mark, quoting, longest, encoding):
    """(line, cells or reason) of every record, and the number of blank lines."""
    records, blank, index = [], 0, 0
    lines = split_lines(data.removeprefix(b"\xef\xbb\xbf"))
    while index < len(lines):
        number, text, spanned = index + 1, without_end(lines[index]), 1
        if not text:
            blank += 1
        elif len(text) > longest:
            records.append((number, "line too long"))
        else:
            cells = text.split(mark)
            if quoting and b'"' in text:
                # A record ends where its number of quotes is even.
                while text.count(b'"') % 2 and index + spanned < len(lines):
                    spanned += 1
                    last = lines[index + spanned - 1]
                    text = b"".join(lines[index : index + spanned - 1]) + without_end(last)
                cells = split_cells(text, mark) if len(text) <= longest else None
                if cells in (None, "open"):
                    cells, spanned = None, 1
            try:
                if cells is None:
                    records.append((number, "quote"))
                elif b"\0" in b"".join(cells):
                    records.append((number, "encoding"))
                else:
                    records.append((number, [cell.decode(encoding) for cell in cells]))
            except UnicodeDecodeError:
                records.append((number, "encoding"))
        index += spanned
    return records, blank


def parse_iso(text):
    if not re.fullmatch(
        r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z| ?[+-]\d\d(:?\d\d)?)?)?",
        text,
        re.ASCII,
    ):
        return None
    try:
        moment = datetime.fromisoformat(text.replace(" +", "+").replace(" -", "-"))
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return None


def oracle(data, mark, quoting, longest, encoding):
    """Accepted rows, rejected lines and the number of blank lines."""
    accepted_rows, rejected_lines = [], []
    records, blank = oracle_records(data, mark, quoting, longest, encoding)
    for number, cells in records:
        reason = cells if isinstance(cells, str) else None
        if reason is None and len(cells) != 3:
            reason = "columns"
        if reason is None:
            user, time, query = cells
            moment = parse_iso(time)
            if not user.strip(" "):
                reason = "user missing"
            elif not time.strip(" "):
                reason = "time missing"
            elif moment is None:
                reason = "time unreadable"
            else:
                accepted_rows.append((normalize("NFC", user).strip(" "), moment, query, number))
        if reason:
            rejected_lines.append((number, reason))
    return accepted_rows, rejected_lines, blank


FRAGMENTS = [
    b"u1", b"2024-01-02 03:04:05", b"2024-01-02T03:04Z", b"2024-01-02T03:04:05.25+05:30",
    b"2024-01-02 03:04:05 -0100", b"infinity", b"2024-02-30", b"0000-01-01", b"0001-01-01T00:00+01",
    b"2024-01-02T24:00:00", b"\t", b"\t", b",", b",", b"\n", b"\n", b"\r\n", b"\r", b'"', b'"',
    b'""', b" ", b"\0", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xef\xbb\xbf",
    b"x" * 30, b"#", b"\\",
    b"u2\t2024-01-02\tpine straw\n", b"u2,2024-01-02,pine straw\n",
    b'u3,2024-01-02,"a ""b"", c\nd"\n',
    b'u3\t2024-01-02\tone " quote\r\n', b"NULL", b"NA",
]  # fmt: skip
MALFORMED = st.lists(st.sampled_from(FRAGMENTS), max_size=20).map(b"".join)


@pytest.fixture(scope="module")
def connection():
    # One for all examples: opening a database takes longer than reading a small file.
    with duckdb.connect(config={"threads": 1}) as opened:
        yield opened


@pytest.mark.parametrize("quoting", [False, True])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    MALFORMED,
    st.sampled_from([30, 1 << 23]),
    st.sampled_from([40, 1_000_000]),
    st.sampled_from(["utf-8", "latin-1"]),
)
@example(b'"open\nu,2024-01-02,q\n', 30, 40, "utf-8")
@example(b'u,2024-01-02,"q\n' + b"x" * 50 + b'"\n', 30, 40, "utf-8")
def test_malformed_files_are_read_as_by_the_oracle(  # noqa: PLR0913, PLR0917
    tmp_path, monkeypatch, connection, quoting, data, block_size, longest, encoding
):
    monkeypatch.setattr(csv_records.line_blocks, "__defaults__", (block_size,))
    monkeypatch.setattr(text_reader, "HEAD", 1)
    mark = b"," if quoting else b"\t"
    data = mark.join([b"u0", b"2024-01-01", b"q"]) + b"\n" + data
    path = tmp_path / "log"
    path.write_bytes(data)
    source = Source(
        str(path),
        header=False,
        user_column=0,
        time_column=1,
        query_column=2,
        delimiter=mark.decode(),
        longest_line=longest,
        encoding=encoding,
        max_rejected=1,
    )

    accepted_rows, rejected_lines, blank = oracle(data, mark, quoting, longest, encoding)
    result = read_source(source, connection=connection)
    assert accepted(result) == accepted_rows
    assert rejected(result) == rejected_lines
    assert (result.lines, result.blank_lines) == (len(accepted_rows) + len(rejected_lines), blank)
    assert result.rejected_by_reason == Counter(reason for _, reason in rejected_lines)


@pytest.mark.parametrize("mark", [b"\t", b","])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_characters='\0\r\n\t,"', codec="utf-8"))] * 3),
        min_size=1,
    ),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_fast_and_slow_parser_agree_on_clean_lines(mark, cells, end):
    data = b"".join(mark.join(cell.encode() for cell in row) + end for row in cells)
    dialect = csv_records.Dialect(mark, mark == b",", "utf-8", 1_000_000)
    layout = csv_batches.ColumnLayout(3, (2, 0, 1))
    fast = csv_batches._parse_fast(data, dialect, layout, 5)
    slow, consumed = csv_batches._parse_slow(data, dialect, layout, 5, last=True)
    assert consumed == len(data)
    assert fast is not None or data.startswith(csv_records.BOM)
    assert fast is None or fast.to_pylist() == slow.table.to_pylist()
