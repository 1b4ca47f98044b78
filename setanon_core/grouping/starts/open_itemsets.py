"""Practical facility location: open frequent itemsets as centers, the deepest first.

A center that lies inside a record costs only deletions, so the record wants the deepest center it
holds. Itemsets are opened from many items to few and, among equally deep ones, from few holders
to many: a scarce center opens before its holders are taken by a common one.

Paper:      section 4, the load-balanced facility location problem, with centers from the data.
Guarantee:  none; heuristic. Every group has k users.
Complexity: O(entries + candidates) after the mining of the itemsets.
Deviation:  opening in this order replaces closing the least loaded: on baskets it costs a tenth
            of the time and deletes less, because no center is ever opened in vain. Where only
            additions are allowed, a center inside a record is no help: see `halving`.
"""

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.itemsets import Itemsets, frequent_itemsets
from setanon_core.grouping.starts.halving import halving
from setanon_core.model.groups import WITHDRAWN, Grouping
from setanon_core.params import Params
from setanon_core.runtime.progress import with_progress


def open_itemsets(records: Records, params: Params) -> Grouping:
    """Open the itemsets that k users still need, and give each record the first it gets."""
    if params.operations == "additions":
        return halving(records, params)
    crowd = DistinctSets(records)
    found = frequent_itemsets(crowd.sets, crowd.weights, params.k)
    label = np.full(len(crowd.sets), WITHDRAWN)
    if not found.complete:
        # What k users share whole needs no itemset, and may be too long to have been mined.
        whole = np.flatnonzero((crowd.owners >= params.k) & (crowd.sets.sizes > 0))
        label[whole] = len(found.sets) + whole
    # Most itemsets have few holders: to look at them one by one is quicker than an array of them.
    now, holders, bounds = label.data, found.holders.data, found.bounds.data
    for size in range(int(found.sets.sizes.max(initial=0)), 0, -1):
        wanted = _wanted(found, size, np.where(label == WITHDRAWN, crowd.weights, 0), params.k)
        for c in with_progress(f"centers of {size} items opened", wanted):
            free = [s for s in holders[bounds[c] : bounds[c + 1]] if now[s] == WITHDRAWN]
            if crowd.has_k_users(free, params.k):
                for s in free:
                    now[s] = c
    notes = () if found.complete else ("Itemsets were cut off: not all were tried as centers.",)
    return Grouping(label[crowd.ranks], notes=notes)


def _wanted(found: Itemsets, size: int, free: Ints, k: int) -> list[int]:
    """The itemsets of this size that k free records hold, those with fewest holders first."""
    at = np.flatnonzero(found.sets.sizes == size)
    if len(at) == 0:
        return []
    low, high = found.bounds[at[0]], found.bounds[at[-1] + 1]
    left = np.add.reduceat(free[found.holders[low:high]], found.bounds[at] - low)
    order = np.argsort(found.support[at], kind="stable")
    wanted: list[int] = at[order[left[order] >= k]].tolist()
    return wanted
