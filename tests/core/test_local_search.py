"""Local search, shaking and re-opening: never dearer, never fewer than k users."""

import numpy as np
import pytest
from support.oracles import fewest_users, grouping_cost, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.improve import local_search as module
from setanon_core.grouping.improve.local_search import local_search, perturb
from setanon_core.grouping.improve.neighbourhoods import neighbourhoods
from setanon_core.grouping.improve.reopen import reopen
from setanon_core.grouping.starts.exact import optimum
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params


def groupings(count, largest=60):
    """Random records with feasible labels: big groups, heavy users, numbers with gaps."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(3, largest)), int(rng.integers(2, 5))
        operations = OPERATIONS[seed % 3]
        data = random_records(rng, n, int(rng.integers(2, 8)), (None, n // 2 + 1, 5)[seed % 4 % 3])
        if seed % 4 == 3:
            users = np.where(rng.random(n) < 0.7, 0, data.users)
            data = Records(data.items, data.offsets, users)
        if data.n_users < k:
            continue
        labels = rng.integers(0, max(n // (2 * k), 1), n)
        if operations != "additions":
            labels[rng.random(n) < 0.2] = WITHDRAWN
        for label in np.unique(labels):
            if len(np.unique(data.users[labels == label])) < k:
                labels[labels == label] = WITHDRAWN
        if operations == "additions" and (labels == WITHDRAWN).any():
            labels[:] = 0
        names = rng.permutation(3 * n)
        yield data, np.where(labels < 0, WITHDRAWN, names[labels]), Params(k, operations=operations)


def holds(data, before, after, params):
    """Whether `after` is no dearer than `before`, and safe."""
    operations = params.operations
    assert after.shape == before.shape
    assert grouping_cost(data, after.tolist(), operations) <= grouping_cost(
        data, before.tolist(), operations
    )
    assert (fewest_users(data, after.tolist()) or params.k) >= params.k
    assert operations != "additions" or (after >= 0).all()
    return True


def same_groups(a, b):
    return len(np.unique(a)) == len(np.unique(b)) == len(np.unique(np.stack((a, b)), axis=1).T)


@pytest.mark.parametrize("step", [local_search, perturb, reopen])
def test_no_step_costs_more_or_leaves_a_group_with_too_few_users(step):
    for data, labels, params in groupings(90):
        given = labels.copy()
        assert holds(data, labels, step(data, labels, params), params)
        assert (labels == given).all()  # what was given stays as it was


@pytest.mark.parametrize("size", [2, 3, 5, 9])
def test_neither_does_a_search_in_many_small_blocks(size, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", size)
    for data, labels, params in groupings(90):
        assert holds(data, labels, local_search(data, labels, params), params)


@pytest.mark.parametrize("label", range(5, 30))
def test_a_group_too_large_for_a_block_is_not_mixed_up_with_others(label, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 2)
    data = Records.from_sets([{1}] * 6 + [{2}] * 2 + [{3}] * 2, [0, 0, 0, 0, 0, 1, 2, 3, 4, 5])
    labels = np.array([label] * 6 + [1, 1, 0, 0])
    found = local_search(data, labels, Params(2))
    assert grouping_cost(data, found.tolist(), "both") == 0


@pytest.mark.parametrize("step", [local_search, perturb, reopen])
def test_an_optimal_grouping_stays_what_it_is(step):
    for seed in range(30):
        data = random_records(np.random.default_rng(seed), 9, 5, (None, 5)[seed % 2])
        params = Params(2 + seed % 2, operations=OPERATIONS[seed % 3])
        if data.n_users < params.k:
            continue
        best, labels = optimum(data, params)
        found = step(data, labels, params)
        assert grouping_cost(data, found.tolist(), params.operations) == best
        if step is local_search:
            assert same_groups(found, labels)


def test_a_second_search_finds_nothing_more():
    for data, labels, params in groupings(30):
        once = local_search(data, labels, params)
        assert same_groups(local_search(data, once, params), once)


def test_one_big_group_is_split_where_that_helps():
    data = Records.from_sets([{1, 2}] * 4 + [{3, 4}] * 4 + [{5}] * 4)
    for operations in OPERATIONS:
        found = local_search(data, np.zeros(12, np.int64), Params(2, operations=operations))
        assert grouping_cost(data, found.tolist(), operations) == 0


def test_shaking_depends_on_the_seed_alone_and_leaves_large_inputs_alone():
    data = random_records(np.random.default_rng(5), 40, 8)
    labels = np.arange(40) // 4
    for seed in (0, 1):
        first, second = (perturb(data, labels, Params(3, seed=seed)) for _ in range(2))
        assert (first == second).all()
    large = random_records(np.random.default_rng(6), module.PERTURB_LIMIT + 1, 8)
    labels = np.zeros(len(large), np.int64)
    assert perturb(large, labels, Params(3)) is labels


def test_withdrawn_records_alone_are_grouped_where_that_helps():
    data = Records.from_sets([{1, 2}, {1, 2}, {1, 2, 3}, {4}])
    found = local_search(data, np.full(4, WITHDRAWN), Params(2))
    assert grouping_cost(data, found.tolist(), "both") == 2
    assert reopen(data, np.full(4, WITHDRAWN), Params(2)).tolist() == [0, 0, 0, WITHDRAWN]


@pytest.mark.parametrize("size", [2, 3, 8, 20])
@pytest.mark.parametrize("rarest_first", [True, False])
def test_blocks_are_disjoint_and_cut_no_group_below_k_users(size, rarest_first):
    for data, labels, params in groupings(45):
        parts = neighbourhoods(data, labels, params, size, rarest_first=rarest_first)
        seen = np.concatenate(parts) if parts else np.empty(0, np.int64)
        assert len(np.unique(seen)) == len(seen)
        assert all(len(part) <= max(2 * size, size) for part in parts)
        left_out = np.setdiff1d(np.arange(len(data)), seen)
        for part in [*parts, left_out]:
            for label in np.unique(labels[part]):
                inside = part[labels[part] == label]
                if label != WITHDRAWN:
                    assert len(np.unique(data.users[inside])) >= params.k


def test_withdrawn_records_are_in_some_block_each():
    for data, labels, params in groupings(20):
        alone = np.full(len(labels), WITHDRAWN)
        parts = neighbourhoods(data, alone, params, 4)
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(data)))
        assert all(len(part) <= 4 for part in parts[:-1])
