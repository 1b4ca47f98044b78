"""Groups of threads for one k or several: rounds, sweeps, and the paper's clusters."""

from unittest.mock import Mock

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import ReleaseParams, anonymize_log
from setanon_core.keywords.minhash import SCHEME
from setanon_core.pipeline import group_threads
from setanon_core.pipeline import log as log_module
from setanon_core.pipeline.group_threads import sweep_threads
from setanon_core.pipeline.log import threads_of_log

SECRET = b"for tests only"
METHODS = ["best", "paper"]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.integers(-3, 5),
        st.lists(st.sampled_from(["lamp", "palm", "red", "stone"]), max_size=4).map(" ".join),
    ),
    max_size=25,
)


def cost_of(rows, **params):
    return anonymize_log(rows, **{"k": 2, "secret": SECRET, **params}).cost


def random_log(n):
    """Topics have no letter in common, so queries on two topics are two threads."""
    rng = np.random.default_rng(8)
    topics = (12 * rng.random(n) ** 2).astype(int)
    return [
        (f"u{rng.integers(n // 2)}", time, " ".join("abcdefghijkl"[topic] * m for m in lengths))
        for time, topic in enumerate(topics.tolist())
        for lengths in [np.unique(rng.integers(3, 8, 4)).tolist()]
    ]


def check_rounds(cost):
    totals = [done.cost.total for done in cost.rounds]
    assert all(isinstance(done.name, str) and done.name for done in cost.rounds)
    assert cost.rounds[-1].cost == cost.certificate.cost
    assert totals == sorted(totals, reverse=True)


@settings(max_examples=40)
@given(ROWS, st.sampled_from(METHODS), st.integers(2, 4))
def test_no_round_costs_more_than_the_previous_and_the_last_is_the_cost(rows, method, k):
    cost = cost_of(rows + [(100 + n, 0, "red") for n in range(k)], method=method, k=k)

    check_rounds(cost)
    assert method == "best" or len(cost.rounds) == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", [[], [(1, 1, "red")], [(1, 1, ""), (2, 1, "")]])
def test_logs_of_too_few_users_have_a_round(rows, method):
    check_rounds(cost_of(rows, method=method))


@pytest.mark.parametrize(("method", "identity"), [("best", "exact"), ("paper", "minhash")])
def test_a_sweep_costs_the_same_as_each_release_and_clusters_once(monkeypatch, method, identity):
    rows, ks = random_log(100), (2, 3, 6, 200)
    expected = [cost_of(rows, k=k, method=method, identity=identity) for k in ks]
    separate = Mock(wraps=log_module.separate_threads)
    keys = Mock(wraps=group_threads.cluster_keys)
    monkeypatch.setattr(log_module, "separate_threads", separate)
    monkeypatch.setattr(group_threads, "cluster_keys", keys)

    params = ReleaseParams(2, method=method, identity=identity)
    costs = list(sweep_threads(threads_of_log(rows, params), params, iter(ks)))

    assert costs == expected
    check_rounds(costs[0])
    assert separate.call_count == 1
    assert keys.call_count == (method == "paper")


@pytest.mark.parametrize("p", [1, 2, 4])
def test_clusters_are_computed_before_rare_keywords_are_removed(p):
    """Without the rare keyword, both threads would have the same key."""

    def key(words):
        hashes = [MinHash(num_perm=1, seed=seed, scheme=SCHEME) for seed in range(1, p + 1)]
        for minhash in hashes:
            minhash.update_batch([word.encode() for word in words])
        return [minhash.hashvalues.tolist() for minhash in hashes]

    same_cluster = []
    for rare in (f"rare{n}" for n in range(30)):
        rows = [(0, 0, "pine straw"), (1, 0, f"pine straw {rare}")]
        same_cluster.append(key(["pine", "straw"]) == key(["pine", "straw", rare]))
        result = anonymize_log(rows, 2, method="paper", p=p)
        assert result.release.queries == (("pine straw",) * 2 if same_cluster[-1] else ())
    assert set(same_cluster) == {True, False}


def test_with_the_papers_method_the_cost_grows_with_k_and_is_mostly_deletions():
    params = ReleaseParams(2, method="paper")
    threads = threads_of_log(random_log(800), params)

    costs = [cost.certificate.cost for cost in sweep_threads(threads, params, (2, 3, 5, 8, 13, 20))]

    totals = [cost.total for cost in costs]
    assert totals == sorted(set(totals))
    assert all(3 * cost.additions < cost.total for cost in costs)
