"""Local search from any grouping, block by block.

Paper:      none; it improves the results of section 4's algorithms.
Guarantee:  never raises the cost; every group keeps k users.
Complexity: linear in the number of blocks; see `moves` for one block.
Deviation:  more than `BLOCK` records are split into blocks of similar groups, so that time grows
            linearly. Records move only within a block; the second pass uses other blocks.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.improve.block import Block, block_of
from setanon_core.grouping.improve.moves import descend
from setanon_core.grouping.improve.neighbourhoods import neighbourhoods
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Operations, Params
from setanon_core.runtime.executor import map_ordered
from setanon_core.runtime.progress import report_progress

BLOCK: Final = 192
"""Records per block: the matrices of a block fit into the processor's cache."""

PERTURBATIONS: Final = 12
"""Number of perturbations of a small input."""

PERTURB_LIMIT: Final = 60
"""Records up to which perturbing finds improvements that descending does not find."""

BlockInput = tuple[Records, Ints, int, Operations]
"""Arguments of `block_of`: records, labels, k and operations; small enough for other processes."""


def local_search(records: Records, labels: Ints, params: Params) -> Ints:
    """Improve the grouping until no move lowers the cost inside any block."""
    if len(records) <= BLOCK:
        return _search((records, labels, params.k, params.operations))
    finished = 0
    for rarest_first in (True, False):
        labels = labels.copy()
        # Groups that are too large for a block keep their labels; new labels are larger.
        next_label = int(labels.max()) + 1
        parts = neighbourhoods(records, labels, params, BLOCK, rarest_first=rarest_first)
        inputs = (_block_input(records, labels, params, part) for part in parts)
        for part, groups in zip(parts, map_ordered(_search, inputs), strict=True):
            labels[part] = np.where(groups == WITHDRAWN, WITHDRAWN, next_label + groups)
            next_label += len(part) + 2  # upper bound on the slots of a block
            finished += len(part)
            report_progress("records searched for better groups", finished, 2 * len(records))
    return labels


def perturb(records: Records, labels: Ints, params: Params) -> Ints:
    """Dissolve random groups of a small input and descend again; return the best grouping seen."""
    if len(records) > PERTURB_LIMIT:
        return labels
    block = block_of(records, labels, params.k, params.operations)
    _perturb_block(block, np.random.default_rng(params.seed))
    return block.group - 1


def _block_input(records: Records, labels: Ints, params: Params, part: Ints) -> BlockInput:
    # Without the vocabulary, which may be large.
    member_records = Records.from_checked_sets(records.take(part), records.users[part])
    return member_records, labels[part], params.k, params.operations


def _search(block_input: BlockInput) -> Ints:
    block = block_of(*block_input)
    descend(block)
    return block.group - 1


def _perturb_block(block: Block, rng: np.random.Generator) -> None:
    best, cost = block.group.copy(), block.cost
    for _ in range(PERTURBATIONS):
        open_groups = np.flatnonzero(block.size[1:] > 0) + 1
        if cost == 0 or len(open_groups) == 0:
            break
        dissolved = rng.permutation(open_groups)[: rng.integers(1, 3)]
        inside = np.isin(block.group, dissolved)
        entry_cost = block.entry_cost.copy()
        entry_cost[:, dissolved] = np.inf
        if np.isinf(entry_cost[inside].min(1)).any():
            continue
        block.group = np.where(inside, entry_cost.argmin(1), block.group)
        block.update()
        descend(block)
        if block.cost < cost:
            best, cost = block.group.copy(), block.cost
        else:
            block.group = best.copy()
            block.update()
    block.group = best
