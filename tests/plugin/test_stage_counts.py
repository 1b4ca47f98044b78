"""What is counted as it streams by, and what is counted by hash tables, is the same."""

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_dagster.quality import release_counts, stage_counts
from setanon_dagster.quality.stage_counts import count_clusters, count_lines, count_threads
from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.verifier.sql import query_counts

NUMBERS = st.one_of(st.none(), st.integers(0, 3))
LETTERS = st.one_of(st.none(), st.sampled_from("ab"))


def database(**tables):
    """Tables given as their columns' types and rows."""
    connection = duckdb.connect()
    for name, (columns, rows) in tables.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
        for row in rows:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {name} VALUES ({marks})", list(row))  # noqa: S608
    return connection


LOG = '"user" VARCHAR, time BIGINT, query VARCHAR, line BIGINT'
THREADS = 'thread BIGINT, "user" VARCHAR, time BIGINT, position BIGINT, query VARCHAR'
REJECTED = "line BIGINT, reason VARCHAR"


def sorted_or_not(rows, ordered):
    return sorted(rows, key=lambda row: [(x is not None, x) for x in row]) if ordered else rows


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(NUMBERS, LETTERS, NUMBERS), max_size=6),
    more=st.lists(st.tuples(LETTERS, NUMBERS), max_size=1),
    ordered=st.booleans(),
)
def test_threads_are_counted_alike_in_any_order(rows, more, ordered):
    threads = [(n, user, 1, at, user) for n, user, at in sorted_or_not(rows, ordered)]
    log = [(user, 1, user, 1) for _, user, _ in rows] + [(user, at, "c", 2) for user, at in more]
    with database(raw_log=(LOG, log), threads=(THREADS, threads)) as connection:
        found = count_threads(connection)
        due = query_counts(connection, stage_counts.THREADS)
    faults = ("lost_rows", "added_rows", "mixed_threads", "repeated_positions")
    assert {name: found[name] for name in ("rows", *faults)} == {
        name: due[name] for name in ("rows", *faults)
    }
    assert found["threads"] == due["threads"]


@settings(max_examples=60)
@given(
    lines=st.lists(NUMBERS, max_size=5),
    rejected=st.lists(NUMBERS, max_size=3),
    raw=st.sampled_from(["raw_log", "raw_baskets"]),
    ordered=st.booleans(),
)
def test_lines_are_counted_as_the_obvious_loops_count_them(lines, rejected, raw, ordered):
    lines = [n for (n,) in sorted_or_not([(n,) for n in lines], ordered)]
    tables = {
        raw: (LOG, [("a", 1, "b", line) for line in lines]),
        "rejected_rows": (REJECTED, [(line, "why") for line in rejected]),
    }
    with database(**tables) as connection:
        found = count_lines(connection, raw)
    known = [line for line in lines if line is not None]
    refused = [line for line in rejected if line is not None]
    once = len(set(known)) if raw == "raw_log" else len(known)
    twice = len(lines) - once + len(rejected) - len(set(refused))
    assert found == {
        "rows": len(lines),
        "accepted": len(set(known)),
        "rejected": len(set(refused)),
        "doubtful": twice + sum(line in known for line in refused),
        "empty": int(not lines),
    }


CLUSTERS = (
    'thread BIGINT, "user" VARCHAR, words VARCHAR[], lengths INT[], items VARCHAR[], keys UBIGINT[]'
)
GOOD = [
    (0, "ann", ["pine", "straw", "pine"], [2, 1], ["pine", "straw"], [1]),
    (1, "bob", ["pines"], [1], ["pine"], [1]),
    (2, "cem", [], [], [], [7]),
]


def test_clusters_need_no_name_and_one_key_is_enough():
    with database(clusters=(CLUSTERS, GOOD)) as connection:
        assert count_clusters(connection) == {
            "threads": 3,
            "clusters": 2,
            "largest_cluster": 2,
            "unnamed": 0,
            "without_keys": 0,
            "odd_sizes": 0,
        }


BAD = {
    "a thread twice": (0, {0: 1}, "unnamed"),
    "no thread": (0, {0: None}, "unnamed"),
    "no user": (0, {1: None}, "unnamed"),
    "no keys": (0, {5: []}, "without_keys"),
    "a key more": (0, {5: [1, 2]}, "without_keys"),
    "null words": (0, {2: None}, "odd_sizes"),
    "a word more": (0, {3: [2, 2]}, "odd_sizes"),
    "an item twice": (0, {4: ["pine", "pine"]}, "odd_sizes"),
    "more items than words": (1, {4: ["pine", "straw"]}, "odd_sizes"),
    "items of nothing": (2, {4: ["pine"]}, "odd_sizes"),
    "no items of something": (1, {4: []}, "odd_sizes"),
}


@pytest.mark.parametrize(("row", "change", "fault"), BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("way", [1, -1])
def test_a_thread_whose_columns_contradict_each_other_is_counted(row, change, fault, way):
    rows = [list(each) for each in GOOD]
    for place, value in change.items():
        rows[row][place] = value
    with database(clusters=(CLUSTERS, rows[::way])) as connection:
        assert count_clusters(connection)[fault] > 0


ANONYMIZED = 'thread_id VARCHAR, "group" BIGINT, position BIGINT, query VARCHAR'
LEDGER = 'thread_id VARCHAR, thread BIGINT, "user" VARCHAR'


@settings(max_examples=40)
@given(rows=st.lists(st.tuples(st.sampled_from("xyz"), NUMBERS), max_size=6), ordered=st.booleans())
def test_rows_and_threads_are_counted_alike_in_any_order(rows, ordered):
    published = [(name, 0, at, "pine") for name, at in sorted_or_not(rows, ordered)]
    tables = {
        "anonymized_threads": (ANONYMIZED, published),
        "ledger": (LEDGER, [(name, n, "ann") for n, name in enumerate("xyz")]),
        "clusters": (CLUSTERS, GOOD),
    }
    with database(**tables) as connection:
        found = release_counts.id_counts(connection, "queries").iloc[0]
    assert (found["rows"], found["distinct_rows"]) == (len(rows), len(set(rows)))


def test_files_are_opened_within_the_memory_that_is_given(tmp_path):
    path = tmp_path / "clusters.parquet"
    with database(clusters=(CLUSTERS, GOOD)) as connection:
        connection.execute(f"COPY clusters TO '{path}' (FORMAT parquet)")
    spill = tmp_path / "private" / "spill"
    with open_stages({"clusters": path}, memory="300MB", spill=spill) as connection:
        limit = connection.execute("SELECT current_setting('memory_limit')").fetchone()
        assert limit == ("286.1 MiB",)
        assert (
            str(spill)
            in connection.execute("SELECT current_setting('temp_directory')").df().iat[0, 0]
        )
    assert list(spill.iterdir()) == []
    assert spill.stat().st_mode & 0o077 == 0
