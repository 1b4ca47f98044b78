"""One pass over sorted rows accepts exactly the files without a fault, in batches of any size."""

from itertools import groupby
from operator import itemgetter

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from setanon_core.errors import MalformedInputError
from setanon_dagster.verifier import sql
from setanon_dagster.verifier.sorted_threads import create_members

FIRST, SECOND, THIRD = (f"{number:032x}" for number in (1, 2, 0xFF))
USERS = {FIRST: "ann", SECOND: "bob", THIRD: None}
SCHEMAS = {
    "sets": {"thread_id": pa.string(), "keywords": pa.list_(pa.string())},
    "queries": {"thread_id": pa.string(), "position": pa.int64(), "query": pa.string()},
    "ledger": {"thread_id": pa.string(), "user": pa.string()},
}


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        yield connection


def table(schema, rows):
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    arrays = [pa.array(list(c), t) for c, t in zip(columns, schema.values(), strict=True)]
    return pa.table(arrays, list(schema))


def read(connection, form, rows, ledger):
    """Whether the rows are accepted, and the members; a ledger of None: without one."""
    connection.execute("DROP TABLE IF EXISTS members")
    for name, schema, values in (("file", form, rows), ("ledger", "ledger", ledger or [])):
        connection.register("given_rows", table(SCHEMAS[schema], values))
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given_rows")
        connection.unregister("given_rows")
    accepted = create_members(connection, form, with_ledger=ledger is not None)
    return accepted, connection.execute("FROM members").fetchall()


def rows_of(lists):
    return [(name, n, text) for name, texts in lists for n, text in enumerate(texts)]


LISTS = [(FIRST, ["a", "b", "c"]), (SECOND, ["a"]), (THIRD, ["b", "c"])]
LEDGER = list(USERS.items())


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5, 6, 7])
def test_threads_that_cross_the_bounds_of_batches_are_joined(connection, monkeypatch, batch):
    monkeypatch.setattr(sql, "BATCH_ROWS", batch)
    spellings = ["a\nb\nc", "a", "b\nc"]
    members = list(zip(spellings, USERS.values(), strict=True))
    assert read(connection, "queries", rows_of(LISTS), LEDGER) == (True, members)
    without_users = [(spelling, None) for spelling in spellings]
    assert read(connection, "queries", rows_of(LISTS), None) == (True, without_users)


@pytest.mark.parametrize("batch", [1, 2, 9])
def test_each_row_with_keywords_is_a_thread(connection, monkeypatch, batch):
    monkeypatch.setattr(sql, "BATCH_ROWS", batch)
    rows = [(FIRST, ["a", "b"]), (SECOND, None), (THIRD, [None])]
    members = [(["a", "b"], "ann"), (None, "bob"), ([None], None)]
    assert read(connection, "sets", rows, LEDGER) == (True, members)


@pytest.mark.parametrize("batch", [2, 3, 4, 5])
def test_entries_of_several_batches_belong_to_the_threads_in_order(connection, monkeypatch, batch):
    monkeypatch.setattr(sql, "BATCH_ROWS", batch)
    names = [f"{number:032x}" for number in range(9)]
    lists = [(name, ["a"] * (1 + n % 3)) for n, name in enumerate(names)]
    ledger = [(name, f"user {n}") for n, name in enumerate(names)]
    accepted, members = read(connection, "queries", rows_of(lists), ledger)
    assert accepted
    assert [user for _, user in members] == [user for _, user in ledger]
    assert read(connection, "sets", lists, ledger) == (
        True,
        [(texts, user) for (_, texts), (_, user) in zip(lists, ledger, strict=True)],
    )


def is_faultless(rows, ledger):
    """Brute force: compare ids, positions and entries one by one."""
    threads = [(name, list(group)) for name, group in groupby(rows, key=itemgetter(0))]
    names = [name for name, _ in threads]
    return (
        None not in names
        and names == sorted(set(names))
        and all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in names)
        and all([row[1] for row in group] == list(range(len(group))) for _, group in threads)
        and all(row[2] is not None for row in rows)
        and (ledger is None or names == [name for name, _ in ledger])
    )


WRONG_IDS = (None, "1" * 31, "1" * 33, "A" * 32, "1" * 32 + "\n", "1" * 31 + "g", "\n" + "1" * 32)
FAULTS = {
    "a row is missing": lambda rows, _: rows.pop(1),
    "the first row is missing": lambda rows, _: rows.pop(0),
    "a row is repeated": lambda rows, _: rows.insert(1, rows[1]),
    "the first rows are exchanged": lambda rows, _: rows.insert(0, rows.pop(1)),
    "the first thread is last": lambda rows, _: rows.extend([rows.pop(0) for _ in range(3)]),
    "a null position": lambda rows, _: rows.__setitem__(4, (THIRD, None, "a")),
    "a position continues": lambda rows, _: rows.__setitem__(3, (SECOND, 3, "a")),
    "a position starts in a thread": lambda rows, _: rows.__setitem__(5, (THIRD, 0, "a")),
    "a negative position": lambda rows, _: rows.__setitem__(0, (FIRST, -1, "a")),
    "a null query": lambda rows, _: rows.__setitem__(4, (THIRD, 0, None)),
    "another id in a thread": lambda rows, _: rows.__setitem__(1, (SECOND, 1, "b")),
    "an id is repeated": lambda rows, _: rows.__setitem__(3, (FIRST, 0, "a")),
    "no entry for the last thread": lambda _, ledger: ledger.pop(),
    "no entry for a thread": lambda _, ledger: ledger.pop(1),
    "two entries for the last thread": lambda _, ledger: ledger.append(ledger[-1]),
    "another entry": lambda _, ledger: ledger.append(("f" * 32, "eve")),
    "entries in another order": lambda _, ledger: ledger.reverse(),
    "a null entry": lambda _, ledger: ledger.__setitem__(0, (None, "ann")),
}


@pytest.mark.parametrize("batch", [2, 9])
@pytest.mark.parametrize("change", FAULTS.values(), ids=FAULTS.keys())
def test_each_fault_is_found(connection, monkeypatch, change, batch):
    monkeypatch.setattr(sql, "BATCH_ROWS", batch)
    rows, ledger = rows_of(LISTS), list(LEDGER)
    change(rows, ledger)
    assert not is_faultless(rows, ledger)
    assert not read(connection, "queries", rows, ledger)[0]


@pytest.mark.parametrize("wrong", WRONG_IDS)
def test_malformed_ids_are_found_in_both_formats(connection, wrong):
    # In the order of ids, and not the last thread, which is read alone.
    names = [FIRST, wrong, "e" * 32, "f" * 32]
    ledger = [(name, "ann") for name in names]
    assert not read(connection, "queries", [(name, 0, "a") for name in names], ledger)[0]
    assert not read(connection, "sets", [(name, ["a"]) for name in names], ledger)[0]


@pytest.mark.parametrize("batch", [1, 9])
def test_repeated_ids_of_sets_are_found(connection, monkeypatch, batch):
    monkeypatch.setattr(sql, "BATCH_ROWS", batch)
    rows, ledger = [(FIRST, ["a"]), (FIRST, ["a"])], [(FIRST, "ann"), (FIRST, "ann")]
    assert not read(connection, "sets", rows, ledger)[0]


@pytest.mark.parametrize("batch", [1, 2, 9])
def test_ids_of_sets_that_do_not_ascend_are_found(connection, monkeypatch, batch):
    monkeypatch.setattr(sql, "BATCH_ROWS", batch)
    names = [FIRST, THIRD, SECOND, "f" * 32]  # the last thread is read alone
    rows, ledger = [(name, ["a"]) for name in names], [(name, "ann") for name in names]
    assert not read(connection, "sets", rows, ledger)[0]


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_empty_file_has_an_empty_ledger(connection, form):
    assert read(connection, form, [], []) == (True, [])
    assert read(connection, form, [], None) == (True, [])
    assert not read(connection, form, [], LEDGER)[0]


@st.composite
def files(draw):
    """Rows of threads and a ledger; both are correct, or one of them has a change."""
    names = sorted(draw(st.sets(st.sampled_from(list(USERS)))))
    rows = rows_of((name, ["a"] * draw(st.integers(1, 3))) for name in names)
    ledger = [(name, USERS[name]) for name in names]
    if rows and draw(st.booleans()):
        n = draw(st.integers(0, len(rows) - 1))
        ids, positions = st.sampled_from([FIRST, SECOND]), st.integers(0, 2)
        rows[n] = (draw(ids), draw(positions), "b")
    return rows, ledger


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=files(), batch=st.integers(1, 5))
def test_files_without_a_fault_are_accepted_and_no_others(connection, drawn, batch):
    rows, ledger = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql, "BATCH_ROWS", batch)
        accepted, members = read(connection, "queries", rows, ledger)
    assert accepted == is_faultless(rows, ledger)
    if accepted:
        texts = ["\n".join(row[2] for row in group) for _, group in groupby(rows, itemgetter(0))]
        assert members == list(zip(texts, (user for _, user in ledger), strict=True))


def test_column_of_another_type_is_refused_without_its_values(connection):
    read(connection, "queries", [], None)
    connection.execute("DROP TABLE members")
    connection.execute(
        f"CREATE OR REPLACE TABLE file AS SELECT '{FIRST}' AS thread_id, 0 AS position, 1 AS query"
    )
    with pytest.raises(MalformedInputError) as caught:
        create_members(connection, "queries", with_ledger=False)
    assert FIRST not in str(caught.value)
