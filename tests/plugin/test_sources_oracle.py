# ruff: noqa: SLF001 - both ways of reading are compared
import re
from collections import Counter
from datetime import UTC, datetime
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from setanon_dagster.sources import csv_batches, csv_detection, csv_records, line_blocks
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source

# An oracle: character by character, one file, no engine.


def physical(data):
    """Lines with their ends: LF, CR LF or CR."""
    found, line, place = [], b"", 0
    while place < len(data):
        end = b"\r\n" if data[place : place + 2] == b"\r\n" else data[place : place + 1]
        line += end
        place += len(end)
        if end in {b"\n", b"\r", b"\r\n"}:
            found.append(line)
            line = b""
    return [*found, line] if line else found


def bare(line):
    return line.rstrip(b"\r\n")


def machine(text, mark):
    """Cells by RFC 4180; 'open' if a quote is, None if broken."""
    cells, cell, state = [], b"", "start"
    for byte in (text[place : place + 1] for place in range(len(text))):
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
    """(line, cells or reason) of every record, and the blank lines."""
    found, blank, place = [], 0, 0
    all_lines = physical(data.removeprefix(b"\xef\xbb\xbf"))
    while place < len(all_lines):
        number, text, taken = place + 1, bare(all_lines[place]), 1
        if not text:
            blank += 1
        elif len(text) > longest:
            found.append((number, "line too long"))
        else:
            cells = text.split(mark)
            if quoting and b'"' in text:
                # A record ends where its quotes are even; what then is no record, is broken.
                while text.count(b'"') % 2 and place + taken < len(all_lines):
                    taken += 1
                    text = b"".join(all_lines[place : place + taken - 1]) + bare(
                        all_lines[place + taken - 1]
                    )
                cells = machine(text, mark) if len(text) <= longest else None
                if cells in (None, "open"):
                    cells, taken = None, 1
            try:
                if cells is None:
                    found.append((number, "quote"))
                elif b"\0" in b"".join(cells):
                    found.append((number, "encoding"))
                else:
                    found.append((number, [cell.decode(encoding) for cell in cells]))
            except UnicodeDecodeError:
                found.append((number, "encoding"))
        place += taken
    return found, blank


def iso(text):
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
    accepted, rejected = [], []
    found, blank = oracle_records(data, mark, quoting, longest, encoding)
    for number, cells in found:
        reason = cells if isinstance(cells, str) else None
        if reason is None and len(cells) != 3:
            reason = "columns"
        if reason is None:
            user, time, query = cells
            moment = iso(time)
            if not user.strip(" "):
                reason = "user missing"
            elif not time.strip(" "):
                reason = "time missing"
            elif moment is None:
                reason = "time unreadable"
            else:
                accepted.append((normalize("NFC", user).strip(" "), moment, query, number))
        if reason:
            rejected.append((number, reason))
    return accepted, rejected, blank


SCRAPS = [
    b"u1", b"2024-01-02 03:04:05", b"2024-01-02T03:04Z", b"2024-01-02T03:04:05.25+05:30",
    b"2024-01-02 03:04:05 -0100", b"infinity", b"2024-02-30", b"0000-01-01", b"0001-01-01T00:00+01",
    b"2024-01-02T24:00:00", b"\t", b"\t", b",", b",", b"\n", b"\n", b"\r\n", b"\r", b'"', b'"',
    b'""', b" ", b"\0", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xef\xbb\xbf",
    b"x" * 30, b"#", b"\\",
    b"u2\t2024-01-02\tpine straw\n", b"u2,2024-01-02,pine straw\n",
    b'u3,2024-01-02,"a ""b"", c\nd"\n',
    b'u3\t2024-01-02\tone " quote\r\n', b"NULL", b"NA",
]  # fmt: skip
NASTY = st.lists(st.sampled_from(SCRAPS), max_size=20).map(b"".join)


def same(path, data, expected, **knobs):
    path.write_bytes(data)
    accepted, rejected, blank = expected
    source = Source(str(path), header=False, user_column=0, time_column=1, query_column=2, **knobs)
    found = read_source(source)
    assert found.accepted.fetchall() == accepted
    assert found.rejected.fetchall() == rejected
    assert (found.lines, found.blank_lines) == (len(accepted) + len(rejected), blank)
    assert found.rejected_by_reason == Counter(reason for _, reason in rejected)


@pytest.mark.parametrize("quoting", [False, True])
@pytest.mark.parametrize("block", [30, 1 << 23])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NASTY, st.sampled_from([40, 1_000_000]), st.sampled_from(["utf-8", "latin-1"]))
@example(b'"open\nu,2024-01-02,q\n', 40, "utf-8")
@example(b'u,2024-01-02,"q\n' + b"x" * 50 + b'"\n', 40, "utf-8")
def test_nasty_files_are_read_as_the_oracle_reads_them(  # noqa: PLR0913, PLR0917
    tmp_path, monkeypatch, quoting, block, data, longest, encoding
):
    monkeypatch.setattr(line_blocks.line_blocks, "__defaults__", (block,))
    monkeypatch.setattr(csv_detection, "HEAD", 1)
    mark = b"," if quoting else b"\t"
    clean = mark.join([b"u0", b"2024-01-01", b"q"]) + b"\n"
    whole = clean + data
    expected = oracle(whole, mark, quoting, longest, encoding)
    knobs = {"delimiter": mark.decode(), "longest_line": longest, "encoding": encoding}
    same(tmp_path / "log", whole, expected, **knobs)


@pytest.mark.parametrize("mark", [b"\t", b","])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_characters='\0\r\n\t,"', codec="utf-8"))] * 3),
        min_size=1,
    ),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_the_fast_way_and_the_careful_way_agree_on_clean_lines(mark, cells, end):
    data = b"".join(mark.join(cell.encode() for cell in row) + end for row in cells)
    dialect = csv_records.Dialect(mark, mark == b",", "utf-8", 1_000_000)
    wanted = csv_batches.ColumnLayout(3, (2, 0, 1))
    fast = csv_batches._parse_fast(data, dialect, wanted, 5)
    careful, used = csv_batches._parse_slow(data, dialect, wanted, 5, last=True)
    assert used == len(data)
    assert fast is not None or data.startswith(line_blocks.BOM)
    assert fast is None or fast.to_pylist() == careful.table.to_pylist()
