# ruff: noqa: DTZ001, SLF001 - times of a log have no zone; a loss is staged
import gzip
from datetime import UTC, datetime, timedelta

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from setanon_core.errors import InvalidParameterError, MalformedInputError, SetanonError
from setanon_dagster.sources import REASONS, Source, blocks, columns, lines, read_source
from setanon_dagster.sources.intake import Intake

ROW = ("u1", datetime(2024, 1, 2, 3, 4, 5), "pine straw")
CANARY = "zyxcanary"
HEADER = b"user\ttime\tquery\n"


@pytest.fixture
def read(tmp_path):
    def reading(data, name="log.tsv", window=None, **knobs):
        path = tmp_path / name
        path.write_bytes(data)
        return read_source(Source(str(path), **knobs), window)

    return reading


def rows(found):
    return found.accepted.fetchall()


def refused(found):
    return found.rejected.fetchall()


def test_clean_blocks_take_the_fast_way(read, monkeypatch):
    monkeypatch.setattr(blocks, "_careful", None)
    assert read(HEADER + b"u1\t2024-01-02 03:04:05\tpine straw\n" * 3).kept == 3


# Text by hand.


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
    assert (found.lines, found.kept, found.blank, found.reasons) == (1, 1, 0, {})
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
    assert (found.lines, found.blank) == (4, 1)


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
    assert set(found.reasons) < set(REASONS)
    assert [row[2:] for row in rows(found)] == [("ok", 2), ("", 11)]


def test_a_line_without_end_is_held_only_as_far_as_it_may_be_long():
    class Endless:
        left = 1000

        def read(self, size):
            self.left -= 1
            return b"x" * size if self.left > 0 else b""

    assert [len(block) for block in lines.blocks(Endless(), 50, size=1000)] == [52]


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
    assert (found.lines, found.kept, found.outside, found.reasons) == (
        6, 2, 3, {"time unreadable": 1},
    )  # fmt: skip


def test_a_window_may_be_empty_of_rows(read):
    start = datetime(2030, 1, 1)
    found = read(HEADER + b"u\t2024-01-01\tq\n", window=(start, start + timedelta(days=1)))
    assert (rows(found), found.outside) == ([], 1)


def test_several_files_are_one_source_and_lines_run_on(tmp_path):
    (tmp_path / "b.tsv").write_bytes(b"query\ttime\tuser\nb\t240102030405\tu2\n")
    (tmp_path / "a.tsv").write_bytes(HEADER + b"\nu1\t2024-01-02\ta\n")
    (tmp_path / "c.tsv").write_bytes(b"")
    expected = [("u1", "a", 3), ("u2", "b", 5)]
    for uri in (str(tmp_path / "*.tsv"), (str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv"))):
        found = read_source(Source(uri))
        assert [(row[0], row[2], row[3]) for row in rows(found)] == expected
        assert (found.lines, found.blank) == (2, 1)


# Tables.


def table_of(path, query):
    with duckdb.connect(str(path)) as connection:
        connection.execute(f'CREATE TABLE "my log" AS {query}').fetchall()
        connection.execute('CREATE VIEW seen AS FROM "my log"').fetchall()
    return path


TABLE = """SELECT * FROM (VALUES
  (1, TIMESTAMPTZ '2024-01-02 05:04:05+02', 'pine straw'), (NULL, TIMESTAMPTZ '2024-01-02', 'a'),
  (2, NULL, 'a'), (3, TIMESTAMPTZ '2024-01-02', NULL), (4, TIMESTAMPTZ 'infinity', 'a'),
  (5, TIMESTAMPTZ '2024-01-02 00:00:00+00', 'a' || chr(0)),
  (6, TIMESTAMPTZ '2024-01-02 00:00+00', '')
) AS t("User", time, query)"""
TABLE_ROWS = [("1", *ROW[1:], 1), ("6", datetime(2024, 1, 2), "", 7)]
TABLE_REFUSED = [
    (2, "user missing"), (3, "time missing"), (4, "query missing"), (5, "time unreadable"),
    (6, "encoding"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["my log", "main.my log", "seen"])
def test_a_duckdb_table_is_a_source(tmp_path, name):
    path = table_of(tmp_path / "x.duckdb", TABLE)
    found = read_source(Source(str(path), table=name))
    assert (rows(found), refused(found)) == (TABLE_ROWS, TABLE_REFUSED)


def test_a_parquet_file_is_a_source(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "ROWS", 2)
    path = tmp_path / "it's.parquet"
    duckdb.sql(TABLE).write_parquet(str(path))
    found = read_source(Source(str(path)))
    assert (rows(found), refused(found)) == (TABLE_ROWS, TABLE_REFUSED)
    assert found.lines == 7


@pytest.mark.parametrize(
    ("kind", "value"),
    [("TIMESTAMP_S", "2024-01-02"), ("TIMESTAMP_NS", "2024-01-02"), ("DATE", "2024-01-02"),
     ("BIGINT", "1704153600"), ("VARCHAR", "2024-01-02"), ("BIGINT", "240102000000")],
)  # fmt: skip
def test_times_of_a_table_may_have_many_types(tmp_path, kind, value):
    path = tmp_path / "x.parquet"
    row = f"SELECT 'u' AS user, CAST('{value}' AS {kind}) AS time, 'q' AS query"
    duckdb.sql(row).write_parquet(str(path))
    assert rows(read_source(Source(str(path)))) == [("u", datetime(2024, 1, 2), "q", 1)]


# Baskets.


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"record,item\nr1,milk\nr1,bread\nr2,\n",
         [("r1", "milk", "r1", 2), ("r1", "bread", "r1", 3)]),
        (b"r1,milk\n,bread\n", [("r1", "milk", "r1", 1)]),
        (b"item,user,record\nmilk,ann,r1\nmilk,,r2\n", [("r1", "milk", "ann", 2)]),
    ],
)  # fmt: skip
def test_baskets_may_come_as_pairs(read, data, expected):
    found = read(data, "x.csv", kind="baskets")
    assert rows(found) == expected
    assert found.accepted.columns == ["record", "item", "user", "line"]
    assert found.lines == found.kept + sum(found.reasons.values())


def test_baskets_may_come_one_a_line(read):
    found = read(b"12 7 \n7\n\n  \n", "x.dat", kind="baskets", layout="lines")
    assert rows(found) == [("1", "12", "1", 1), ("1", "7", "1", 1), ("2", "7", "2", 2)]
    assert refused(found) == [(4, "item missing")]
    assert (found.lines, found.kept, found.blank) == (3, 2, 1)


def test_a_basket_a_line_may_begin_with_its_user(read):
    found = read(
        b'ann,"milk, fresh",,bread\n,milk\nbob\n', "x.csv",
        kind="baskets", layout="lines", with_user=True,
    )  # fmt: skip
    assert rows(found) == [("1", "milk, fresh", "ann", 1), ("1", "bread", "ann", 1)]
    assert refused(found) == [(2, "user missing"), (3, "item missing")]


# Refusals.


@pytest.mark.parametrize("data", [b"", b"\n\n", HEADER, HEADER + b"u1\tx\n"])
def test_a_source_without_a_usable_row_is_refused(read, data):
    with pytest.raises(MalformedInputError, match="must have a usable row"):
        read(data)


def test_utf_16_is_refused_with_its_reason(read):
    with pytest.raises(MalformedInputError, match="encoding: 2"):
        read("u1\t2024-01-02\tq\n".encode("utf-16"))


@pytest.mark.parametrize(
    ("name", "data", "knobs"),
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
def test_errors_tell_what_is_wanted_and_nothing_of_the_content(read, name, data, knobs):
    with pytest.raises(MalformedInputError) as caught:
        read(data.encode(), name, **knobs)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_broken_gzip_file_is_refused(read):
    whole = gzip.compress(HEADER + b"u1\t2024-01-02\tq\n" * 99)
    with pytest.raises(MalformedInputError, match="EOFError"):
        read(whole[:-20], "x.tsv.gz")


def test_missing_files_tables_and_columns_are_named(tmp_path):
    for uri in (tmp_path / "none.tsv", tmp_path / "*.tsv", tmp_path):
        with pytest.raises(MalformedInputError, match="must be a file, or a pattern"):
            read_source(Source(str(uri)))
    path = table_of(tmp_path / "x.duckdb", "SELECT 1 AS client, [1] AS time, 'q' AS query")
    with pytest.raises(MalformedInputError, match=r"user, time, query.*it has 3 columns"):
        read_source(Source(str(path), table="my log"))
    with pytest.raises(MalformedInputError, match="1 of those wanted hold other things"):
        read_source(Source(str(path), table="my log", user_column="client"))
    with pytest.raises(MalformedInputError, match="CatalogException"):
        read_source(Source(str(path), table="nowhere"))


@pytest.mark.parametrize(
    "knobs",
    [
        {"kind": "logs"}, {"layout": "lines"}, {"encoding": "utf-16"}, {"longest_line": 0},
        {"delimiter": '"'}, {"delimiter": "ab"}, {"time_format": "%Q"}, {"time_format": "when"},
        {"user_column": None}, {"user_column": -1}, {"time_column": True}, {"query_column": " "},
        {"with_user": True}, {"kind": "baskets", "layout": "lines", "table": "t"},
    ],
)  # fmt: skip
def test_knobs_out_of_range_are_refused(knobs):
    with pytest.raises(InvalidParameterError):
        Source("x", **knobs)


def test_windows_are_of_logs_and_start_before_they_end():
    day = datetime(2024, 1, 1)
    with pytest.raises(InvalidParameterError, match="start before it ends"):
        read_source(Source("x"), (day, day))
    with pytest.raises(InvalidParameterError, match="must be of a log"):
        read_source(Source("x", kind="baskets"), (day, day + timedelta(days=1)))


def test_a_lost_line_is_noticed(read, monkeypatch):
    insert = Intake._insert

    def forgetful(self, notation):
        insert(self, notation)
        self.connection.execute(f"DELETE FROM {self.table} WHERE line = 2").fetchall()  # noqa: S608

    monkeypatch.setattr(Intake, "_insert", forgetful)
    with pytest.raises(SetanonError, match="every line must be accepted"):
        read(HEADER + b"u\t2024-01-01\tq\n" * 3)


@pytest.mark.parametrize("header", ["query\ttime\tuid", "Search\tWhen\tAnonID"])
def test_a_header_of_other_names_is_not_taken_for_a_row(tmp_path, header):
    path = tmp_path / "log.tsv"
    path.write_text(header + "\npine straw\t2024-01-02\tu1\nmulch\t2024-01-02\tu2\n")

    with pytest.raises(MalformedInputError, match="Set header"):
        read_source(Source(str(path)))
    assert read_source(Source(str(path), header=False)).reasons == {"time unreadable": 1}


def test_baskets_with_a_column_that_may_be_the_user_must_name_it_or_say_none(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("record,item,customer\n1,tea,ann\n2,tea,ann\n")

    with pytest.raises(MalformedInputError, match="the columns record, item"):
        read_source(Source(str(path), kind="baskets"))
    named = read_source(Source(str(path), kind="baskets", user_column="customer"))
    assert {row[2] for row in named.accepted.fetchall()} == {"ann"}
    alone = read_source(Source(str(path), kind="baskets", user_column=None))
    assert {row[2] for row in alone.accepted.fetchall()} == {"1", "2"}


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
