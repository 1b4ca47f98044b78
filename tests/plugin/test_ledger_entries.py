"""Wrong entries of a ledger are counted, in sorted and in unsorted files."""

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from setanon_dagster.verifier.ledger_entries import count_wrong_entries, wrong_ledger_entries

THREADS = [(1, "ann"), (2, "bob"), (3, "ann"), (5, "cem")]


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        yield connection


def create(connection, table, rows):
    connection.execute(f'CREATE OR REPLACE TABLE {table} (thread BIGINT, "user" VARCHAR)')
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES (?, ?)", row)  # noqa: S608


def wrong(connection, ledger, clusters):
    create(connection, "ledger", ledger)
    create(connection, "clusters", clusters)
    return sum(count_wrong_entries(connection).values())


def test_entries_are_counted_from_files(connection, tmp_path):
    for table, rows in (("ledger", [(1, "ann"), (2, "ann")]), ("clusters", THREADS)):
        create(connection, table, rows)
        connection.execute(f"COPY {table} TO '{tmp_path / table}.parquet' (FORMAT parquet)")
    ledger, clusters = tmp_path / "ledger.parquet", tmp_path / "clusters.parquet"
    assert wrong_ledger_entries(ledger, clusters) == 1
    assert wrong_ledger_entries(ledger, clusters, cores=1, memory="200MB", spill=tmp_path) == 1


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("ledger", [THREADS, THREADS[1:], THREADS[::-1], []])
def test_correct_ledger_has_no_wrong_entry(connection, ledger, step):
    assert wrong(connection, ledger, THREADS[::step]) == 0


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("entry", [(1, "bob"), (1, None), (4, "ann"), (None, "ann"), (2, "bob")])
def test_entry_with_wrong_user_or_thread_or_repeated_thread_is_counted(connection, entry, step):
    others = [other for other in THREADS if other[0] != entry[0] or other == entry]
    assert wrong(connection, [entry, *others], THREADS[::step]) > 0


@pytest.mark.parametrize("between", [[], [(None, "dan")]])
def test_repeated_cluster_does_not_hide_a_wrong_entry(connection, between):
    clusters = [(1, "ann"), *between, (1, "ann"), (2, "bob")]
    assert wrong(connection, [(1, "ann"), (2, "ann")], clusters) > 0


def test_names_of_one_number_are_not_one_user(connection):
    create(connection, "ledger", [(1, "1"), (2, "01"), (3, "001")])
    connection.execute('CREATE OR REPLACE TABLE clusters (thread BIGINT, "user" BIGINT)')
    connection.execute("INSERT INTO clusters VALUES (1, 1), (2, 1), (3, 1)")
    assert count_wrong_entries(connection) == {"wrong_users": 2, "repeated_threads": 0}


def test_user_that_is_null_in_ledger_and_clusters_is_wrong(connection):
    assert wrong(connection, [(1, None)], [(1, None)]) == 1


ENTRIES = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["ann", "bob"])), max_size=6)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ledger=ENTRIES, clusters=ENTRIES, is_sorted=st.booleans())
def test_every_wrong_entry_is_found(connection, ledger, clusters, is_sorted):
    clusters = sorted(clusters) if is_sorted else clusters
    threads = [thread for thread, _ in ledger]
    # A thread has one row in the clusters; otherwise no entry for it is correct.
    correct = all(
        [user for other, user in clusters if other == thread] == [owner] for thread, owner in ledger
    ) and len(set(threads)) == len(threads)
    assert (wrong(connection, ledger, clusters) == 0) == correct
