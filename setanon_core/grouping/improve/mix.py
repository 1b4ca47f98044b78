"""Combine two groupings: in each part that is a union of groups in both, take the cheaper.

Paper:      none.
Guarantee:  costs at most as much as either grouping; every group is a group of one of them.
Complexity: O(N log N) for N item occurrences.
Deviation:  not in the paper.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.flip import group_centers
from setanon_core.grouping.improve.reassign import savings
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params


def mix(records: Records, first: Ints, second: Ints, params: Params) -> Ints:
    """Labels of the cheaper grouping in each part; `second` where both cost the same."""
    n = len(records)
    (first_node, first_saving), (second_node, second_saving) = (
        _groups_and_savings(records, labels, params) for labels in (first, second)
    )
    width = int(first_node.max(initial=0)) + 1
    size = width + int(second_node.max(initial=0)) + 1
    graph = csr_array((np.ones(n, np.int32), (first_node, width + second_node)), shape=(size, size))
    part = connected_components(graph, directed=False)[1][first_node]
    gain = np.bincount(part, second_saving - first_saving)
    use_second = gain[part] >= 0
    if use_second.all():
        return second
    renamed = np.where(second == WITHDRAWN, WITHDRAWN, second + int(first.max(initial=0)) + 1)
    return np.where(use_second, renamed, first)


def _groups_and_savings(records: Records, labels: Ints, params: Params) -> tuple[Ints, Ints]:
    """The group of each record, that of a withdrawn one being its own, and its saving there."""
    groups, centers = group_centers(records, labels, params.operations)
    alone = len(centers) + np.arange(len(records))
    nodes = np.where(groups == WITHDRAWN, alone, groups)
    return nodes, savings(records, groups, centers)
