"""Settling crowds: who needs no grouping, counted set by set and user by user."""

import numpy as np
import pytest
from support.oracles import random_records

from setanon_core import anonymize
from setanon_core.columns.records import Records
from setanon_core.grouping.improve import duplicates as module
from setanon_core.grouping.improve.duplicates import MIN_REMAINING, surplus_duplicates
from setanon_core.params import OPERATIONS, Params


def by_hand(data, k, times):
    """Of each set that enough users share, the records of all but the users in play.

    In play are `times` k users, and k - 1 for each poor set that holds the least wanted item.
    """
    masks, users = data.bitmasks(), data.users.tolist()
    crowds = {
        mask: sorted({user for user, own in zip(users, masks, strict=True) if own == mask})
        for mask in set(masks)
    }
    poor = [mask for mask, crowd in crowds.items() if len(crowd) < k]
    done = [False] * len(masks)
    for mask in set(masks) - {0}:
        items = [item for item in range(mask.bit_length()) if mask >> item & 1]
        wanted = min(sum(own >> item & 1 for own in poor) for item in items)
        in_play = times * k + (k - 1) * wanted
        if len(crowds[mask]) >= in_play + k:
            for i, own in enumerate(masks):
                done[i] |= own == mask and users[i] in crowds[mask][in_play:]
    return done


@pytest.mark.parametrize("in_play", [1, 2, 3])
def test_the_users_beyond_those_in_play_are_settled(in_play, monkeypatch):
    monkeypatch.setattr(module, "MIN_REMAINING", in_play)
    some = 0
    for seed in range(30):
        data = random_records(np.random.default_rng(seed), 80, 3, (None, 40, 20)[seed % 3])
        for k in (2, 3):
            done = surplus_duplicates(data, Params(k)).tolist()
            assert done == by_hand(data, k, in_play)
            some += any(done)
    assert some


def test_settled_records_of_a_set_have_k_users_and_as_many_stay_in_play_as_promised():
    for k in (2, 5):
        for n in range(MIN_REMAINING * k, (MIN_REMAINING + 2) * k):
            data = Records.from_sets([{1, 2}] * n + [{3}])
            done = surplus_duplicates(data, Params(k))
            assert int(done.sum()) == (n - MIN_REMAINING * k if n >= (MIN_REMAINING + 1) * k else 0)


@pytest.mark.parametrize("operations", OPERATIONS)
def test_empty_records_and_records_of_few_users_are_not_settled(operations):
    params = Params(2, operations=operations)
    assert not surplus_duplicates(Records.from_sets([set()] * 100), params).any()
    assert not surplus_duplicates(Records.from_sets([{1}] * 100, [0, 1] * 50), params).any()


def test_all_records_of_a_user_with_one_set_are_settled_or_none():
    users = [i // 3 for i in range(120)]
    done = surplus_duplicates(Records.from_sets([{1}] * 120, users), Params(2))
    assert done.any()
    for user in range(40):
        assert len(set(done[3 * user : 3 * user + 3].tolist())) == 1


def test_a_crowd_spares_as_many_users_as_poor_sets_want():
    crowd = [{"a", "b"}] * 1_000
    poor = [{"a", "b", f"c{i}", f"d{i}", f"e{i}"} for i in range(100) for _ in range(2)]

    result = anonymize(crowd + poor, k=3, min_owners=0)

    # One of the crowd joins each pair, at three additions; nothing does better.
    assert result.cost.total == 300
