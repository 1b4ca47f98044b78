"""Enumerated centers and cheapest groups, against random groups and all subsets."""

import numpy as np
from support.oracles import random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.starts.cooccurrence import (
    FAR,
    centers_of,
    cheapest_groups,
    members_of_cheapest,
)
from setanon_core.params import Params


def test_the_majority_center_of_every_group_is_enumerated() -> None:
    rng = np.random.default_rng(5)
    for _ in range(100):
        k = int(rng.integers(2, 5))
        records = random_records(rng, 15, 6, users=10)
        centers = centers_of(records, Params(k=k), 3000)
        assert centers.complete
        enumerated = {row.tobytes() for row in centers.distances}
        group = rng.choice(15, int(rng.integers(k, 2 * k + 1)), replace=False).tolist()
        if len(set(records.users[group].tolist())) < k:
            continue
        masks = records.bitmasks()
        center = sum(
            1 << e for e in range(6) if 2 * sum(masks[i] >> e & 1 for i in group) > len(group)
        )
        distances = np.asarray([(mask ^ center).bit_count() for mask in masks])
        assert center == 0 or distances.tobytes() in enumerated


def test_the_cheapest_group_of_k_users_is_found_for_any_costs() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        costs, users, k = rng.integers(-3, 6, (1, 7)), rng.integers(0, 4, 7), 3
        if len(np.unique(users)) < k:
            continue
        subsets = [np.flatnonzero(s >> np.arange(7) & 1) for s in range(1 << 7)]
        feasible = [s for s in subsets if len(set(users[s].tolist())) >= k]
        least = min(costs[0, s].sum() for s in feasible)
        assert cheapest_groups(costs, users, k)[0] == least
        members = np.flatnonzero(members_of_cheapest(costs, users, k)[0])
        assert costs[0, members].sum() == least
        assert len(set(users[members].tolist())) >= k


def test_under_deletions_centers_that_are_no_subset_are_far() -> None:
    records = Records.from_sets([{1}, {1, 2}, {1, 2}, {3}, {3}])
    distances = centers_of(records, Params(k=2, operations="deletions"), 100).distances
    assert distances.tolist() == [[0, 1, 1, FAR, FAR], [FAR, 0, 0, FAR, FAR], [FAR, FAR, FAR, 0, 0]]
