"""Rows, ledger and counts of anonymized clusters, with small batches and words stored in files."""

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from setanon_core.params import ReleaseParams
from setanon_dagster.stages import anonymize
from setanon_dagster.stages.anonymize import anonymize_clusters, smallest_group
from setanon_dagster.stages.clusters import clusters_table
from setanon_dagster.stages.threads import threads_table

START = datetime(2006, 3, 1)  # noqa: DTZ001 - the times of a log have no zone
USERS = {"pine straw": "abc", "garden hose": "abcd", "copper kettle": "a"}


def params_with(form):
    return ReleaseParams(k=3, format=form, secret=b"made up for a test")


@pytest.fixture(scope="module")
def clusters():
    rows = [(user, query) for query, users in USERS.items() for user in users]
    raw = pa.table(
        {
            "user": [user for user, _ in rows],
            "time": [START + timedelta(days=n) for n in range(len(rows))],
            "query": [query for _, query in rows],
        }
    )
    return clusters_table(threads_table(raw, params_with("queries")), params_with("queries"))


def tables(result):
    rows = result.threads.read_all()
    return rows, result.ledger.read_all(), result.cost()


@pytest.mark.parametrize("form", ["queries", "edited", "sets"])
def test_rows_do_not_change_if_words_are_stored_while_threads_are_grouped(
    clusters, tmp_path, monkeypatch, form
):
    expected = tables(anonymize_clusters(clusters, params_with(form)))
    group_threads, words = anonymize.group_threads, []

    def group(threads, *arguments):
        words.append(len(threads.typed.words) + len(threads.typed.threads))
        assert len(list(tmp_path.iterdir())) == 1
        return group_threads(threads, *arguments)

    monkeypatch.setattr(anonymize, "group_threads", group)
    stored = tables(anonymize_clusters(clusters, params_with(form), tmp_path))
    assert words == [0]
    assert stored == expected
    assert not list(tmp_path.iterdir())


def test_groups_users_and_withdrawn_threads_are_counted(clusters):
    result = anonymize_clusters(clusters, params_with("queries"))
    rows, ledger, cost = tables(result)
    assert (result.published, result.groups, result.smallest_group) == (7, 2, 3)
    assert sorted(rows["query"].to_pylist()) == ["garden hose"] * 4 + ["pine straw"] * 3
    assert rows["position"].to_pylist() == [0] * 7
    assert rows["thread"].to_pylist() == [
        thread
        for _, thread in sorted(
            zip(rows["group"].to_pylist(), rows["thread"].to_pylist(), strict=True)
        )
    ]
    assert ledger["thread"].to_pylist() == sorted(rows["thread"].to_pylist())
    assert cost.to_pylist()[-1]["withdrawals"] == 1


@pytest.mark.parametrize("batch", [1, 2, 3, 7])
def test_ledger_has_the_same_entries_in_batches_of_any_size(clusters, monkeypatch, batch):
    ledger = anonymize_clusters(clusters, params_with("sets")).ledger.read_all()
    monkeypatch.setattr(anonymize, "BATCH_THREADS", batch)
    batches = list(anonymize_clusters(clusters, params_with("sets")).ledger)
    assert pa.Table.from_batches(batches) == ledger
    assert {len(each) for each in batches[:-1]} <= {batch}
    assert len(batches) == -(-7 // batch)


@pytest.mark.parametrize(
    ("groups", "users", "smallest"),
    [([], [], 0), ([4], [9], 1), ([0, 0, 1, 1, 1], [5, 5, 5, 6, 5], 1), ([2, 2, 2], [1, 2, 1], 2)],
)
def test_users_of_the_smallest_group_are_counted_once(groups, users, smallest):
    assert smallest_group(np.array(groups, int), np.array(users, int)) == smallest


@pytest.mark.parametrize("form", ["queries", "sets"])
def test_no_cluster_gives_empty_tables(clusters, form):
    result = anonymize_clusters(clusters.slice(0, 2), params_with(form))
    rows, ledger, _ = tables(result)
    assert (len(rows), len(ledger)) == (0, 0)
    assert (result.published, result.groups, result.smallest_group) == (0, 0, 0)
    columns = {"queries": ["position", "query"], "sets": ["keywords"]}
    assert rows.column_names == ["thread", "group", *columns[form]]
