"""Group records around centers by facility location with at least k users per facility.

Paper:      section 4, Definition 5, Proposition 3, Theorems 2 and 3.
Guarantee:  every group has k users. With one record per user and operations "both", the cost is
            at most 4(k-1) r times the least, for r the factor of `jms` (published: 1.61, cited,
            not proved here). Proof, for the run with t = k of `_thresholds`: let OPT' be the least
            cost with centers among the records. An optimal facility j serves k users, so pays at
            least R_j; with f_j = 2(t-1)/(k-t+1) R_j the opened ones cost at most (2k-1) OPT' in
            all, and `jms` at most r times that. A facility j that is closed has at most t-1 users,
            so k-t+1 of its k nearest users are elsewhere, one of them within R_j/(k-t+1); that one
            is served at no greater distance, so another facility is within 2R_j/(k-t+1), and moving
            t-1 records there costs at most f_j. OPT' <= 2(1-1/(2k-1)) OPT by Theorem 2, and the
            majority centers and moves that follow only lower the cost. The constant factor of
            Theorem 3 (runs with t < k) depends on published proofs for algorithms of which
            `capacitated` is a simplification: it is not claimed. Otherwise no factor.
Complexity: O(n^2 log n) for n distinct sets, at most FACILITY_LIMIT; for more, `open_itemsets`
            is used instead, the practical variant.
Deviation:  k counts distinct users; a record may be withdrawn, as if to an open facility at
            the empty set that needs no users; distances are Hamming distances for all operations,
            which are taken into account only in the last step, a local search.
"""

from dataclasses import replace
from operator import itemgetter
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.grouping.improve.local_search import local_search
from setanon_core.grouping.starts.capacitated import Sites, fill_or_push
from setanon_core.grouping.starts.jms import FAR, Instance, open_facilities
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.model.groups import WITHDRAWN, Grouping
from setanon_core.params import Params

FACILITY_LIMIT: Final = 2_000
"""Distinct sets up to which all distances are computed: 32 MB per matrix."""

NO_FACTOR: Final = (
    "A user has several records, or only additions or only deletions are allowed: no factor is "
    "proved for facility location."
)
ITEMSETS: Final = (
    "Too many distinct sets for all distances: facility location opened frequent itemsets, for "
    "which no factor is proved."
)


def facility_location(records: Records, params: Params) -> Grouping:
    """Open facilities at records, close or fill those with fewer than k users, then search.

    >>> figure_1 = Records.from_sets([{1, 2, 3}, {1, 2}, {1, 3}, {4, 5, 6}, {4, 5}])
    >>> facility_location(figure_1, Params(k=2)).labels.tolist()
    [1, 1, 1, 0, 0]
    """
    if records.n_users < params.k:
        return Grouping(np.full(len(records), WITHDRAWN))
    instance = Instance(records, params)
    if len(instance.weights) == 1:
        return Grouping(np.zeros(len(records), np.int64))
    if len(instance.weights) > FACILITY_LIMIT:
        grouping = open_itemsets(records, params)
        return replace(grouping, notes=(ITEMSETS, *grouping.notes))
    runs = []
    for t in _thresholds(params.k):
        opened, site_of = _open_and_close(instance, t)
        labels = site_of[instance.set_of]
        if t < params.k:
            labels = fill_or_push(labels, records.users, _sites(instance, opened), params.k)
        runs.append(_improved(records, labels, params))
    proved = records.n_users == len(records) and params.operations == "both"
    return Grouping(min(runs, key=itemgetter(0))[1], notes=() if proved else (NO_FACTOR,))


def _thresholds(k: int) -> list[int]:
    """Thresholds t: facilities with fewer than t users are closed."""
    return sorted({k // 2 + 1, 2 * k // 3 + 1, k})


def _open_and_close(instance: Instance, t: int) -> tuple[Ints, Ints]:
    """Open facilities ignoring the lower bound k, then close those with fewer than t users.

    Returns the open facilities, and for each distinct set the index of its facility among them.
    """
    k, d = instance.k, instance.distances
    f = (2 * (t - 1) / (k - t + 1) * instance.R).astype(np.float64)
    to_open = np.where(instance.to_withdrawal < FAR, instance.to_withdrawal, np.inf)
    opened = np.array(sorted(open_facilities(d, instance.weights, f, to_open)), np.int64)
    while True:
        site_of = _nearest(d[:, opened], instance.to_withdrawal)
        short = np.flatnonzero(instance.user_counts(site_of, len(opened)) < t)
        if not len(short):
            return opened, site_of
        distances = d[np.ix_(opened[short], opened)]
        distances[np.arange(len(short)), short] = FAR
        # The facility nearest to another one, or to withdrawal, is closed first.
        to_nearest = np.minimum(distances.min(axis=1), instance.to_withdrawal[opened[short]])
        opened = np.delete(opened, short[np.argmin(to_nearest)])


def _sites(instance: Instance, opened: Ints) -> Sites:
    d = instance.distances[opened]
    return Sites(d[:, opened], d, instance.set_of, instance.to_withdrawal[opened])


def _nearest(distances: Ints, to_withdrawal: Ints) -> Ints:
    """The nearest column for each row, or WITHDRAWN if withdrawal is nearer."""
    if not distances.shape[1]:
        return np.full(len(to_withdrawal), WITHDRAWN)
    site_of = distances.argmin(axis=1)
    return np.where(distances.min(axis=1) <= to_withdrawal, site_of, WITHDRAWN)


def _improved(records: Records, labels: Ints, params: Params) -> tuple[int, Ints]:
    """Run the local search; return the cost and the labels."""
    labels = local_search(records, labels, params)
    return cost_of(records, *flip(records, labels, params.operations)).total, labels
