"""Star greedy: k users in every group, no star in vain, and blocks for larger inputs."""

import numpy as np
import pytest
from support.oracles import fewest_users, group_cost, grouping_cost, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.starts import star as module
from setanon_core.grouping.starts.halving import halving
from setanon_core.grouping.starts.star import star
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params


def instances(count, largest=50):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, largest))
        data = random_records(rng, n, int(rng.integers(2, 8)), (None, n // 2 + 1, 4)[seed % 3])
        yield data, Params(int(rng.integers(2, 5)), operations=("both", "deletions")[seed % 2])


@pytest.mark.parametrize("block", [module.STAR_BLOCK, 7])
def test_every_group_has_k_users_and_beats_withdrawing_it(block, monkeypatch):
    monkeypatch.setattr(module, "STAR_BLOCK", block)
    for data, params in instances(60):
        labels = star(data, params).labels
        assert (fewest_users(data, labels.tolist()) or params.k) >= params.k
        masks = data.bitmasks()
        for label in set(labels.tolist()) - {WITHDRAWN}:
            group = [masks[i] for i in np.flatnonzero(labels == label)]
            withdrawn = sum(mask.bit_count() for mask in group)
            assert group_cost(group, params.operations) < withdrawn


def test_what_k_users_share_whole_costs_nothing():
    for operations in ("both", "deletions"):
        data = Records.from_sets([{1, 2}] * 3 + [{3, 4, 5}] * 4 + [{6}])
        labels = star(data, Params(3, operations=operations)).labels
        assert grouping_cost(data, labels.tolist(), operations) == 1
        assert labels[-1] == WITHDRAWN


def test_a_record_left_over_joins_the_nearest_star_where_that_is_cheaper():
    data = Records.from_sets([{1, 2, 3}] * 3 + [{1, 2, 3, 4}, {3}])
    labels = star(data, Params(3)).labels.tolist()
    assert labels[3] == labels[0]
    assert labels[4] == WITHDRAWN  # it would need two additions


def test_the_center_need_not_be_a_record():
    # No two are equal, and none lies inside the others: only {1, 2, 3} is common to all.
    data = Records.from_sets([{1, 2, 3, 4}, {1, 2, 3, 5}, {1, 2, 3, 6}])
    for operations in ("both", "deletions"):
        labels = star(data, Params(3, operations=operations)).labels
        assert grouping_cost(data, labels.tolist(), operations) == 3


def test_groups_of_different_blocks_are_different_groups(monkeypatch):
    monkeypatch.setattr(module, "STAR_BLOCK", 4)
    data = Records.from_sets([{i // 2} for i in range(40)])
    labels = star(data, Params(2)).labels
    assert grouping_cost(data, labels.tolist(), "both") == 0
    assert len(np.unique(labels)) == 20


@pytest.mark.parametrize("limit", [1, 5])
def test_fewer_candidates_still_give_safe_groups(limit, monkeypatch):
    monkeypatch.setattr(module, "MAX_CENTERS", limit)
    for data, params in instances(20):
        labels = star(data, params).labels
        assert (fewest_users(data, labels.tolist()) or params.k) >= params.k


def test_for_additions_records_are_halved():
    data = random_records(np.random.default_rng(1), 40, 6)
    params = Params(3, operations="additions")
    assert (star(data, params).labels == halving(data, params).labels).all()


def test_empty_records_open_nothing():
    assert star(Records.from_sets([set()] * 5), Params(2)).labels.tolist() == [WITHDRAWN] * 5
