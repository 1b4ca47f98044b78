"""Practical facility location: open frequent itemsets as centers, largest itemsets first.

A center that is a subset of a record costs only deletions, so each record should get the largest
center that it contains. Itemsets are opened from large to small, and among itemsets of one size
from low support to high: otherwise the records of a rare center would be taken by a common one.

Paper:      section 4, the load-balanced facility location problem, with centers from the data.
Guarantee:  none; heuristic. Every group has k users.
Complexity: O(entries + candidates) after mining; entries as in `itemsets`.
Deviation:  opening in this order replaces closing the least loaded facilities: on baskets it takes
            a tenth of the time and deletes less, because no opened center is closed again. If
            only additions are allowed, subsets of records are no centers: see `halving`.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.itemsets import Itemsets
from setanon_core.grouping.mined_records import mine
from setanon_core.grouping.starts.halving import halving
from setanon_core.model.groups import WITHDRAWN, Grouping
from setanon_core.params import Params
from setanon_core.runtime.progress import with_progress

CUT_OFF: Final = "Itemsets were cut off: not all were tried as centers."


def open_itemsets(records: Records, params: Params) -> Grouping:
    """Open each itemset that k users of ungrouped records contain; these records become a group."""
    if params.operations == "additions":
        return halving(records, params)
    distinct, itemsets = mine(records, params.k)
    label = np.full(len(distinct.sets), WITHDRAWN)
    if not itemsets.complete:
        # Sets of k users are groups of cost 0, but may be too long to have been mined.
        duplicated = np.flatnonzero((distinct.owners >= params.k) & (distinct.sets.sizes > 0))
        label[duplicated] = len(itemsets.sets) + duplicated
    # Most itemsets have few supersets: memoryviews are faster than arrays for these.
    labels, supersets = label.data, itemsets.supersets.data
    offsets = itemsets.superset_offsets.data
    for size in range(int(itemsets.sets.sizes.max(initial=0)), 0, -1):
        free_weights = np.where(label == WITHDRAWN, distinct.weights, 0)
        candidates = _candidates(itemsets, size, free_weights, params.k)
        for c in with_progress(f"centers of {size} items opened", candidates):
            free = [s for s in supersets[offsets[c] : offsets[c + 1]] if labels[s] == WITHDRAWN]
            if distinct.has_k_users(free, params.k):
                for s in free:
                    labels[s] = c
    return Grouping(label[distinct.ranks], notes=() if itemsets.complete else (CUT_OFF,))


def _candidates(itemsets: Itemsets, size: int, free_weights: Ints, k: int) -> list[int]:
    """The itemsets of this size that k ungrouped records contain, lowest support first."""
    chosen = np.flatnonzero(itemsets.sets.sizes == size)
    if len(chosen) == 0:
        return []
    offsets = itemsets.superset_offsets
    low, high = offsets[chosen[0]], offsets[chosen[-1] + 1]
    free = np.add.reduceat(free_weights[itemsets.supersets[low:high]], offsets[chosen] - low)
    order = np.argsort(itemsets.support[chosen], kind="stable")
    candidates: list[int] = chosen[order[free[order] >= k]].tolist()
    return candidates
