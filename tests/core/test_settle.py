"""Settling crowds: who needs no grouping, counted set by set and user by user."""

import numpy as np
import pytest
from oracles import random_records

from setanon_core.grouping import settle as module
from setanon_core.grouping.settle import IN_PLAY, settled
from setanon_core.params import OPERATIONS, Params
from setanon_core.records import Records


def by_hand(data, k, in_play):
    """Of each set that enough users share, the records of all but the first `in_play` * k users."""
    masks, users = data.masks(), data.users.tolist()
    done = [False] * len(masks)
    for mask in set(masks) - {0}:
        crowd = sorted({user for user, own in zip(users, masks, strict=True) if own == mask})
        if len(crowd) >= (in_play + 1) * k:
            for i, own in enumerate(masks):
                done[i] |= own == mask and users[i] in crowd[in_play * k :]
    return done


@pytest.mark.parametrize("in_play", [1, 2, 3])
def test_the_users_beyond_those_in_play_are_settled(in_play, monkeypatch):
    monkeypatch.setattr(module, "IN_PLAY", in_play)
    some = 0
    for seed in range(30):
        data = random_records(np.random.default_rng(seed), 80, 3, (None, 40, 20)[seed % 3])
        for k in (2, 3):
            done = settled(data, Params(k)).tolist()
            assert done == by_hand(data, k, in_play)
            some += any(done)
    assert some


def test_settled_records_of_a_set_have_k_users_and_as_many_stay_in_play_as_promised():
    for k in (2, 5):
        for n in range(IN_PLAY * k, (IN_PLAY + 2) * k):
            data = Records.from_sets([{1, 2}] * n + [{3}])
            done = settled(data, Params(k))
            assert int(done.sum()) == (n - IN_PLAY * k if n >= (IN_PLAY + 1) * k else 0)


@pytest.mark.parametrize("operations", OPERATIONS)
def test_empty_records_and_records_of_few_users_are_not_settled(operations):
    params = Params(2, operations=operations)
    assert not settled(Records.from_sets([set()] * 100), params).any()
    assert not settled(Records.from_sets([{1}] * 100, [0, 1] * 50), params).any()


def test_all_records_of_a_user_with_one_set_are_settled_or_none():
    users = [i // 3 for i in range(120)]
    done = settled(Records.from_sets([{1}] * 120, users), Params(2))
    assert done.any()
    for user in range(40):
        assert len(set(done[3 * user : 3 * user + 3].tolist())) == 1
