"""Rounds of chains and prices: improve the assignment, then close and open groups at its prices.

Paper:      none; it improves the results of section 4's algorithms.
Guarantee:  never raises the cost; every group keeps k users.
Complexity: that of `arcs`, `network` and `open_groups` in each of at most `ROUNDS` rounds. In dense
            records, nearly all pairs of a set and a center are compared: no further round begins
            after `PAIRS_LIMIT` of them.
Deviation:  not in the paper. Centers stand still within a round, so that gains add up; majority
            centers afterwards only lower the cost. What a round made dearer is undone, see `mix`.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.flip import flip, flip_cost
from setanon_core.grouping.improve.arcs import Arcs, near_arcs
from setanon_core.grouping.improve.assignment import Assignment
from setanon_core.grouping.improve.chains import apply_chains
from setanon_core.grouping.improve.mix import mix
from setanon_core.grouping.improve.open_groups import open_groups
from setanon_core.grouping.improve.prices import close_groups
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params

ROUNDS: Final = 8
PAIRS_LIMIT: Final = 1_000_000_000
"""Pairs of a set and a center, compared in about two minutes; baskets of shops have few millions
per round."""

SMALL: Final = 192
"""Records up to which local search compares all of them, and finds what chains find."""

FIRST_WORTHWHILE: Final = 500
"""A first round that saves less than one item in this many is not used. On logs, in which most
groups have users to spare, chains save little."""

WORTHWHILE: Final = 5000
"""A later round that saves less than one item in this many is the last one."""


def reprice(records: Records, labels: Ints, params: Params) -> Ints:
    """Improve the groups by chains; open and close groups at the prices of their members."""
    if params.operations == "additions" or len(records) <= SMALL:
        return labels  # under additions, a new member changes the center, the union of its group
    best = labels
    cost = flip_cost(records, best, params.operations).total
    pairs = 0
    for number in range(ROUNDS):
        if (labels == WITHDRAWN).all():
            break
        state, arcs = _at_majorities(records, labels, params)
        pairs += arcs.pairs
        apply_chains(state, arcs)
        best = mix(records, best, state.labels, params)
        before, cost = cost, flip_cost(records, best, params.operations).total
        if number == 0 and (before - cost) * FIRST_WORTHWHILE < len(records.items):
            return labels
        is_last = number == ROUNDS - 1 or pairs >= PAIRS_LIMIT
        if is_last or (before - cost) * WORTHWHILE < len(records.items):
            break
        if not np.array_equal(best, state.labels):
            state, arcs = _at_majorities(records, best, params)
            pairs += arcs.pairs
        close_groups(state, arcs, number)
        open_groups(records, state, arcs, params, number)
        labels = state.labels
    return best


def _at_majorities(records: Records, labels: Ints, params: Params) -> tuple[Assignment, Arcs]:
    rows, centers = flip(records, labels, params.operations)
    arcs = near_arcs(records, rows, centers, params)
    return Assignment(records, rows, arcs.saving, len(centers), params.k), arcs
