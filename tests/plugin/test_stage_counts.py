"""Counts of stages are the same for sorted and unsorted tables, and find each kind of fault."""

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.stage_files import GOOD as STAGES
from support.stage_files import write_stages

from setanon_core.partition import plan
from setanon_dagster.quality import stage_counts
from setanon_dagster.quality.release_tables import create_row_counts
from setanon_dagster.quality.stage_counts import (
    CLUSTER_CHECKS,
    LINE_CHECKS,
    THREAD_CHECKS,
    count_clusters,
    count_lines,
    count_threads,
)
from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.verifier.sql import query_counts

NUMBERS = st.one_of(st.none(), st.integers(0, 3))
LETTERS = st.one_of(st.none(), st.sampled_from("ab"))
examples = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def connection():
    """One database for all examples: opening one takes longer than a query."""
    with duckdb.connect() as connection:
        yield connection


def create(connection, **tables):
    """Create tables, given as the types of their columns, and rows."""
    connection.execute("DROP TABLE IF EXISTS row_counts")
    for name, (columns, rows) in tables.items():
        connection.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
        for row in rows:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {name} VALUES ({marks})", list(row))  # noqa: S608
    return connection


LOG = '"user" VARCHAR, time BIGINT, query VARCHAR, line BIGINT'
THREADS = 'thread BIGINT, "user" VARCHAR, time BIGINT, position BIGINT, query VARCHAR'
REJECTED = "line BIGINT, reason VARCHAR"


def sorted_if(is_sorted, rows):
    return sorted(rows, key=lambda row: [(x is not None, x) for x in row]) if is_sorted else rows


@examples
@given(
    rows=st.lists(st.tuples(NUMBERS, LETTERS, NUMBERS), max_size=6),
    more=st.lists(st.tuples(LETTERS, NUMBERS), max_size=1),
    is_sorted=st.booleans(),
)
def test_threads_are_counted_alike_in_any_order(connection, rows, more, is_sorted):
    threads = [(n, user, 1, at, user) for n, user, at in sorted_if(is_sorted, rows)]
    log = [(user, 1, user, 1) for _, user, _ in rows] + [(user, at, "c", 2) for user, at in more]
    create(connection, raw_log=(LOG, log), threads=(THREADS, threads))
    assert count_threads(connection) == query_counts(connection, stage_counts.THREADS)


@examples
@given(
    lines=st.lists(NUMBERS, max_size=5),
    rejected=st.lists(NUMBERS, max_size=3),
    raw=st.sampled_from(["raw_log", "raw_baskets"]),
    is_sorted=st.booleans(),
)
def test_lines_are_counted_as_by_simple_loops(connection, lines, rejected, raw, is_sorted):
    lines = [n for (n,) in sorted_if(is_sorted, [(n,) for n in lines])]
    create(
        connection,
        rejected_rows=(REJECTED, [(line, "why") for line in rejected]),
        **{raw: (LOG, [("a", 1, "b", line) for line in lines])},
    )
    accepted = [line for line in lines if line is not None]
    refused = [line for line in rejected if line is not None]
    distinct = len(set(accepted)) if raw == "raw_log" else len(accepted)
    repeated = len(lines) - distinct + len(rejected) - len(set(refused))
    assert count_lines(connection, raw) == {
        "rows": len(lines),
        "accepted": len(set(accepted)),
        "rejected": len(set(refused)),
        "doubtful": repeated + sum(line in accepted for line in refused),
        "empty": int(not lines),
    }


RAW_LOG, TYPED_THREADS, CLUSTERED = (STAGES[stage] for stage in ("raw_log", "threads", "clusters"))
BROKEN_STAGES = {
    "line accepted and rejected": (
        {"rejected_rows": "SELECT 1::BIGINT AS line, 'why' AS reason"},
        "every_line_is_accounted_for",
    ),
    "line accepted twice": (
        {"raw_log": f"{RAW_LOG} UNION ALL {RAW_LOG}"},
        "every_line_is_accounted_for",
    ),
    "no row": ({"raw_log": f"{RAW_LOG} WHERE false"}, "some_rows_are_usable"),
    "row lost": ({"threads": f"{TYPED_THREADS} WHERE line > 1"}, "every_row_is_in_one_thread"),
    "row changed": (
        {"threads": TYPED_THREADS.replace(" query", " 'x' AS query")},
        "every_row_is_in_one_thread",
    ),
    "users mixed": (
        {"threads": TYPED_THREADS.replace("line - 1", "0")},
        "no_thread_mixes_users",
    ),
    "no keys": ({"clusters": CLUSTERED.replace("[1, line]", "[]")}, "every_thread_has_keys"),
    "thread repeated": ({"clusters": CLUSTERED.replace("line - 1", "0")}, "every_thread_has_keys"),
    "words lost": (
        {"clusters": CLUSTERED.replace("[len(", "[1 + len(")},
        "keywords_and_items_agree",
    ),
}


@pytest.mark.parametrize("case", BROKEN_STAGES)
def test_broken_stage_fails_its_own_check(tmp_path, case):
    changed, broken = BROKEN_STAGES[case]
    checks = LINE_CHECKS | THREAD_CHECKS | CLUSTER_CHECKS
    for name, selects in (("good", {}), ("broken", changed)):
        (tmp_path / name).mkdir()
        with open_stages(write_stages(tmp_path / name, **selects)) as connection:
            counts = (
                count_lines(connection, "raw_log")
                | count_threads(connection)
                | count_clusters(connection)
            )
        is_broken = any(counts.get(count) for count in checks[broken].zero_counts)
        assert is_broken == (name == "broken")


CLUSTERS = (
    'thread BIGINT, "user" VARCHAR, words VARCHAR[], lengths INT[], items VARCHAR[], '
    "keys UBIGINT[], places SMALLINT[], savings TINYINT[]"
)
GOOD = [
    (0, "ann", ["pine", "straw", "pine"], [2, 1], ["pine", "straw"], [1], [1, 0], [2, 1]),
    (1, "bob", ["pines"], [1], ["pine"], [1], [-1], [0]),
    (2, "cem", [], [], [], [7], [0], [0]),
]


@pytest.fixture
def _two_places(monkeypatch):
    """Two threads have items."""
    monkeypatch.setattr(plan, "PLACE", 1)


@pytest.mark.usefixtures("_two_places")
def test_good_clusters_have_no_fault(connection):
    assert count_clusters(create(connection, clusters=(CLUSTERS, GOOD))) == {
        "threads": 3,
        "clusters": 2,
        "largest_cluster": 2,
        "unnamed": 0,
        "without_keys": 0,
        "odd_sizes": 0,
        "misplaced": 0,
    }


FAULTY = {
    "repeated thread": (0, {0: 1}, "unnamed"),
    "null thread": (0, {0: None}, "unnamed"),
    "null user": (0, {1: None}, "unnamed"),
    "no keys": (0, {5: []}, "without_keys"),
    "one key more": (0, {5: [1, 2]}, "without_keys"),
    "null words": (0, {2: None}, "odd_sizes"),
    "one word more": (0, {3: [2, 2]}, "odd_sizes"),
    "repeated item": (0, {4: ["pine", "pine"]}, "odd_sizes"),
    "more items than words": (1, {4: ["pine", "straw"]}, "odd_sizes"),
    "items without words": (2, {4: ["pine"]}, "odd_sizes"),
    "words without items": (1, {4: []}, "odd_sizes"),
    "null places": (0, {6: None}, "misplaced"),
    "no place": (2, {6: [], 7: []}, "misplaced"),
    "null place": (0, {6: [1, None]}, "misplaced"),
    "place beyond the last": (0, {6: [1, 2]}, "misplaced"),
    "place below the first": (1, {6: [-2]}, "misplaced"),
    "unchanged, and another place": (0, {6: [-1, 0]}, "misplaced"),
    "one saving less": (0, {7: [2]}, "misplaced"),
    "null saving": (2, {7: [None]}, "misplaced"),
    "null savings": (2, {7: None}, "misplaced"),
    "negative saving": (2, {7: [-1]}, "misplaced"),
}


@pytest.mark.parametrize(("row", "change", "fault"), FAULTY.values(), ids=FAULTY.keys())
@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.usefixtures("_two_places")
def test_thread_with_contradictory_columns_is_counted(connection, row, change, fault, step):
    rows = [list(each) for each in GOOD]
    for column, value in change.items():
        rows[row][column] = value
    create(connection, clusters=(CLUSTERS, rows[::step]))
    assert count_clusters(connection)[fault] > 0


ANONYMIZED = 'thread BIGINT, "group" BIGINT, position BIGINT, query VARCHAR'


@examples
@given(rows=st.lists(st.tuples(st.integers(1, 3), NUMBERS), max_size=6), is_sorted=st.booleans())
def test_rows_of_a_release_are_counted_alike_in_any_order(connection, rows, is_sorted):
    published = [(thread, 0, at, "pine") for thread, at in sorted_if(is_sorted, rows)]
    create(connection, anonymized_threads=(ANONYMIZED, published))
    create_row_counts(connection, "queries")
    counts = query_counts(connection, "SELECT rows, distinct_rows, threads FROM row_counts")
    threads = len({thread for thread, _ in rows})
    assert counts == {"rows": len(rows), "distinct_rows": len(set(rows)), "threads": threads}


def test_stages_are_opened_within_the_memory_limit_and_spill_into_a_private_folder(
    connection, tmp_path
):
    path = tmp_path / "clusters.parquet"
    create(connection, clusters=(CLUSTERS, GOOD))
    connection.execute(f"COPY clusters TO '{path}' (FORMAT parquet)")
    spill = tmp_path / "private" / "spill"
    with open_stages({"clusters": path}, memory="300MB", spill=spill) as stages:
        settings = stages.sql(
            "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
        )
        memory, folder = settings.fetchall()[0]
        assert memory == "286.1 MiB"
        assert str(spill) in folder
    assert list(spill.iterdir()) == []
    assert spill.stat().st_mode & 0o077 == 0
