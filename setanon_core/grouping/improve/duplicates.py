"""Find the duplicates that need no grouping: of a set with very many users, a part is enough.

Paper:      none; identical records are a k-anonymous group that costs nothing.
Guarantee:  a surplus record costs nothing, and its group has k users. That the remaining records
            are enough for all other groups is a heuristic: a solution that needs more of them is
            not found.
Complexity: O(N log N) for N item occurrences.
Deviation:  not in the paper.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import user_ranks
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params

MIN_REMAINING: Final = 8
"""Users of each set that always remain to be grouped, in multiples of k."""


def surplus_duplicates(records: Records, params: Params) -> Bools:
    """Mark the records that can be published unchanged, without grouping.

    They are the records of the users beyond those that must remain, for each set where at least k
    users are beyond.
    """
    return surplus_of_sets(records, params, count_undersized(records, params, records.width))


def count_undersized(records: Records, params: Params, width: int) -> Ints:
    """For each of `width` items, the undersized sets that contain it.

    A set of fewer than k users is undersized. The counts of parts add up if each part has all
    records of its sets.
    """
    first, _, ranks = records.distinct
    _, n_users = user_ranks(ranks, records.users)
    undersized = records.take(first[n_users[first] < params.k])
    return np.bincount(undersized.items, minlength=width)


def surplus_of_sets(records: Records, params: Params, undersized: Ints) -> Bools:
    """Mark the surplus records of a part that has all records of its sets.

    `undersized` is the sum of `count_undersized` over all parts.
    """
    first, _, ranks = records.distinct
    rank, n_users = user_ranks(ranks, records.users)
    demand = _demand(records.take(first), undersized)
    remaining = MIN_REMAINING * params.k + (params.k - 1) * demand[ranks]
    return (n_users >= remaining + params.k) & (rank >= remaining) & (records.sizes > 0)


def add_surplus(records: Records, surplus: Bools, labels: Ints) -> Ints:
    """Labels of all records, given those of the records that are not surplus."""
    all_labels = np.empty(len(records), np.int64)
    all_labels[~surplus] = labels
    # One group per set; Algorithm 1 merges it with other groups of the same center.
    all_labels[surplus] = labels.max(initial=WITHDRAWN) + 1 + records.ranks[surplus]
    return all_labels


def _demand(distinct: Sets, undersized: Ints) -> Ints:
    """Upper bound, for each distinct set, on the undersized sets that may need users of it.

    Users who complete the group of an undersized set at low cost share its items, so demand <=
    undersized sets containing the rarest item. Each needs at most k - 1 users.
    """
    demand_of_item = undersized[distinct.items]
    demand = np.zeros(len(distinct), np.int64)
    nonempty = distinct.sizes > 0
    if nonempty.any():
        demand[nonempty] = np.minimum.reduceat(demand_of_item, distinct.offsets[:-1][nonempty])
    return demand
