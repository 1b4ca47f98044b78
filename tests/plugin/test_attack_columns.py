"""Attack data from the tables of the stages equal the core's, for logs and baskets."""

from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from setanon_core.errors import MalformedInputError
from setanon_core.model.inputs import Baskets, Log
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.baskets import release_baskets
from setanon_core.pipeline.log import release_log
from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.combinations import combination_owners
from setanon_core.risk.homogeneity import homogeneity
from setanon_core.risk.views import view_uniqueness
from setanon_dagster.risk.attack_columns import attack_data
from setanon_dagster.risk.stored_stages import read_clusters
from setanon_dagster.risk.versions import ReleasedTables, attacked_versions, release_tables
from setanon_dagster.stages.clusters import basket_clusters_table, clusters_table
from setanon_dagster.stages.threads import threads_table

SECRET = bytes(32)
WORDS = ("pine", "straw", "mulch", "tea", "pot", "kettle")
ATTACKS = (view_uniqueness, homogeneity, combination_owners)


def log_rows(users=12, seed=1):
    """Users with a few queries each, some without keywords, some repeated."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        for time in range(int(rng.integers(1, 6))):
            words = rng.choice(WORDS, int(rng.integers(0, 4))).tolist()
            rows.append((f"user{user:02d}", user * 100 + time, " ".join(words) or "?!"))
    return rows


def log_tables(rows, **options):
    params = ReleaseParams(k=2, secret=SECRET, **options)
    users, times, queries = zip(*rows, strict=True)
    times = pa.array(times, pa.timestamp("us"))
    raw = pa.table({"user": users, "time": times, "query": queries})
    return clusters_table(threads_table(raw, params), params), params


@pytest.mark.parametrize("form", ["queries", "edited", "sets"])
def test_attacks_on_tables_of_a_log_count_as_the_core_does(form):
    rows = log_rows()
    clusters, params = log_tables(rows, format=form)
    released = release_tables(clusters, params)
    data = attack_data(clusters, released.published, released.ledger, 2)
    expected = AttackData.from_result(rows, release_log(Log.from_rows(rows), params))

    for attack in ATTACKS:
        assert attack(data) == attack(expected)
        assert attack(data.unedited()) == attack(expected.unedited())


def test_items_of_baskets_may_contain_blanks():
    baskets = [("whole milk", "butter"), ("whole", "milk butter"), ("whole milk", "butter")]
    rows = [(str(n), item) for n, items in enumerate(baskets * 2) for item in items]
    records, items = zip(*rows, strict=True)
    clusters = basket_clusters_table(pa.table({"record": records, "item": items, "user": records}))
    params = ReleaseParams(k=2, format="sets", secret=SECRET)
    released = release_tables(clusters, params)
    data = attack_data(clusters, released.published, released.ledger, 2)
    source = Baskets(records, items, records)
    expected = AttackData.from_result(source, release_baskets(source, params))

    assert [attack(data) for attack in ATTACKS] == [attack(expected) for attack in ATTACKS]
    assert view_uniqueness(data).views[0].distinct == 2


def test_raw_log_has_lists_of_queries_even_if_sets_are_published():
    clusters, params = log_tables(log_rows(), format="sets")
    released = release_tables(clusters, params)
    data = attacked_versions(clusters, released, None, 2, has_queries=True)

    assert [view.view for view in view_uniqueness(data.release).views] == ["set"]
    raw = view_uniqueness(data.raw)
    assert raw.views[-1].view == "list of queries"
    assert raw.views[-1].threads == len(clusters)
    assert data.paper is None


def test_attack_data_do_not_depend_on_the_secret():
    columns = []
    for secret in (bytes(32), bytes([1] * 32)):
        clusters, params = log_tables(log_rows())
        released = release_tables(clusters, replace(params, secret=secret))
        published = attack_data(clusters, released.published, released.ledger, 2).published
        columns.append([published.keywords.items, published.queries, published.sources])

    first, second = columns
    assert all(map(np.array_equal, first, second))


def test_without_a_ledger_threads_are_counted():
    clusters, params = log_tables(log_rows())
    released = release_tables(clusters, params)

    assert not view_uniqueness(attack_data(clusters, released.published, None, 2)).counts_users


def test_empty_release_has_no_threads():
    clusters, params = log_tables([("ann", 1, "pine"), ("bob", 2, "tea")])
    released = release_tables(clusters, params)
    data = attack_data(clusters, released.published, released.ledger, 2)

    assert view_uniqueness(data).views[0].threads == 0
    assert len(data.typed.keywords) == 2


def test_tables_that_do_not_belong_together_are_refused_without_data():
    clusters, params = log_tables(log_rows())
    released = release_tables(clusters, params)
    with pytest.raises(MalformedInputError, match="numbered from 0") as unsorted:
        attack_data(clusters.slice(1), released.published, released.ledger, 2)
    with pytest.raises(MalformedInputError, match="the ledger must name") as missing:
        attack_data(clusters, released.published, released.ledger.slice(1), 2)
    rows = released.published
    unordered = pa.concat_tables([rows.slice(1), rows])
    with pytest.raises(MalformedInputError, match="sorted by thread") as shuffled:
        attack_data(clusters, unordered, None, 2)
    for error in (unsorted, missing, shuffled):
        assert not [word for word in (*WORDS, "user0") if word in str(error.value)]
    assert "pine" not in repr(ReleasedTables(released.published, released.ledger))


@pytest.mark.parametrize("method", ["best", "paper"])
def test_stored_clusters_have_the_columns_of_every_method(method):
    clusters, params = log_tables(log_rows())
    with duckdb.connect() as connection:
        connection.register("clusters", clusters)
        stored = read_clusters(connection)
    released = release_tables(stored, replace(params, method=method))
    assert released.ledger == release_tables(clusters, replace(params, method=method)).ledger
