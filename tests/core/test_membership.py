"""Membership against a recount of users after every departure."""

import numpy as np
from support.groupings import feasible_groupings

from setanon_core.grouping.improve.membership import Membership
from setanon_core.model.groups import WITHDRAWN


def n_users_without(records, labels, departed, i):
    """Users of the group of record i without it and without the departed records."""
    stay = (labels == labels[i]) & ~np.isin(np.arange(len(labels)), [*departed, i])
    return len(set(records.users[stay].tolist()))


def test_a_record_leaves_only_if_its_group_keeps_k_users():
    for records, labels, params in feasible_groupings(30, 30):
        membership = Membership(records, labels, params.k)
        departed: list[int] = []
        for i in np.random.default_rng(len(records)).permutation(len(records)).tolist():
            others = n_users_without(records, labels, departed, i)
            may_leave = bool(labels[i] == WITHDRAWN or others >= params.k)
            if not departed:
                assert membership.may_leave[i] == may_leave
            assert membership.must_stay(i) == (not may_leave)
            assert membership.leave(i) == may_leave
            if may_leave:
                departed.append(i)


def test_rejoining_undoes_leaving():
    for records, labels, params in feasible_groupings(10, 30):
        membership = Membership(records, labels, params.k)
        before = [membership.must_stay(i) for i in range(len(records))]
        for i in range(len(records)):
            if membership.leave(i):
                membership.rejoin(i)
        assert [membership.must_stay(i) for i in range(len(records))] == before
