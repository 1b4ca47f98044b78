"""Whose a thread is, and how many typed a keyword: the verifier's counts, and the checks'."""

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from setanon_dagster.quality import release_counts
from setanon_dagster.verifier.owners import wrong_ledger_entries

TRUE = [(1, "ann"), (2, "bob"), (3, "ann"), (5, "cem")]


def written(path, rows):
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE made (thread BIGINT, "user" VARCHAR)')
        if rows:
            connection.executemany("INSERT INTO made VALUES (?, ?)", rows)
        connection.execute(f"COPY made TO '{path}' (FORMAT parquet)")
    return path


def false_of(folder, ledger, threads):
    return wrong_ledger_entries(
        written(folder / "ledger.parquet", ledger), written(folder / "clusters.parquet", threads)
    )


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize("entries", [TRUE, TRUE[1:], TRUE[::-1], []])
def test_a_true_ledger_has_no_false_entry(tmp_path, entries, way):
    assert false_of(tmp_path, entries, TRUE[::way]) == 0


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize("entry", [(1, "bob"), (1, None), (4, "ann"), (None, "ann"), (2, "bob")])
def test_an_entry_that_is_another_s_or_nobody_s_or_repeated_is_counted(tmp_path, entry, way):
    ledger = [entry, *(true for true in TRUE if true[0] != entry[0] or true == entry)]
    assert false_of(tmp_path, ledger, TRUE[::way]) > 0


@pytest.mark.parametrize("between", [[], [(None, "dan")]])
def test_a_thread_of_two_users_does_not_hide_a_false_entry(tmp_path, between):
    threads = [(1, "ann"), *between, (1, "ann"), (2, "bob")]
    assert false_of(tmp_path, [(1, "ann"), (2, "ann")], threads) > 0


ENTRIES = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["ann", "bob"])), max_size=6)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ledger=ENTRIES, threads=ENTRIES, ordered=st.booleans())
def test_no_false_entry_goes_by_unseen(tmp_path, ledger, threads, ordered):
    threads = sorted(threads) if ordered else threads
    numbers = [thread for thread, _ in ledger]
    # A thread of the log comes once: where it does not, nothing is true of it.
    true = all(
        [user for number, user in threads if number == thread] == [owner]
        for thread, owner in ledger
    ) and len(set(numbers)) == len(numbers)
    assert (false_of(tmp_path, ledger, threads) == 0) == true


@pytest.mark.parametrize("probe", [0, 1, 3, 100])
def test_owners_are_counted_up_to_what_is_asked_whatever_settles_the_common_ones(
    monkeypatch, probe
):
    monkeypatch.setattr(release_counts, "PROBE", probe)
    typed = [("ann", ["pine"]), ("bob", ["pine", "straw"]), ("cem", ["pine", "straw", "pine"]),
             ("ann", ["pine"]), ("dan", ["pine"]), ("eve", ["fern"])]  # fmt: skip
    with duckdb.connect() as connection:
        connection.execute(
            """CREATE TABLE anonymized_threads (thread_id VARCHAR, "group" BIGINT,
                keywords VARCHAR[]);
            CREATE TABLE ledger (thread_id VARCHAR, thread BIGINT, "user" VARCHAR);
            CREATE TABLE clusters (thread BIGINT, "user" VARCHAR, words VARCHAR[]);
            INSERT INTO anonymized_threads VALUES ('a', 0, ['pine', 'straw']),
                ('b', 1, ['fern', 'pine', 'rose'])"""
        )
        rows = [(thread, *each) for thread, each in enumerate(typed)]
        connection.executemany("INSERT INTO clusters VALUES (?, ?, ?)", rows)
        found = release_counts.owners_per_keyword(connection, "sets", 3)
    assert found.to_dict("list") == {"owners": [0, 1, 2, 3], "keywords": [1, 1, 1, 1]}
