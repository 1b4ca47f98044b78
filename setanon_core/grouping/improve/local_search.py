"""Local search from any grouping, block by block.

Paper:      none; it improves what section 4's algorithms return.
Guarantee:  never costs more than what it was given; every group keeps k users.
Complexity: linear in the number of blocks; see `moves` for one block.
Deviation:  more than `BLOCK` records are cut into blocks of neighbouring groups, so that time
            grows linearly; a move between blocks has to wait for the other order of the groups.
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
"""Records of a block: the matrices of a round stay in the processor's cache."""

SHAKES: Final = 12
"""Times that a small input is shaken."""

SHAKEN: Final = 60
"""Records up to which shaking finds anything that descending has not."""


def local_search(records: Records, labels: Ints, params: Params) -> Ints:
    """Improve the grouping until no move helps inside any block."""
    if len(records) <= BLOCK:
        return _search((records, labels, params.k, params.operations))
    done = 0
    for rarest_first in (True, False):
        labels = labels.copy()
        spare = int(labels.max()) + 1  # above the groups that are too large for a block
        parts = neighbourhoods(records, labels, params, BLOCK, rarest_first=rarest_first)
        blocks = (_block(records, labels, params, part) for part in parts)
        for part, found in zip(parts, map_ordered(_search, blocks), strict=True):
            # Groups of a block never meet those of another: give them numbers of their own.
            labels[part] = np.where(found == WITHDRAWN, WITHDRAWN, spare + found)
            spare += len(part) + 2  # a block has at most that many slots
            done += len(part)
            report_progress("records searched for better groups", done, 2 * len(records))
    return labels


def shake(records: Records, labels: Ints, params: Params) -> Ints:
    """Dissolve groups of a small input at random and descend again; keep the best seen."""
    if len(records) > SHAKEN:
        return labels
    block = block_of(records, labels, params.k, params.operations)
    _shake(block, np.random.default_rng(params.seed))
    return block.group - 1


Work = tuple[Records, Ints, int, Operations]
"""Records, their labels, and what `block_of` must know; small enough to be sent elsewhere."""


def _block(records: Records, labels: Ints, params: Params, part: Ints) -> Work:
    sets = records.take(part)
    # Without the vocabulary, which may be large.
    own = Records.from_checked_sets(sets, records.users[part])
    return own, labels[part], params.k, params.operations


def _search(work: Work) -> Ints:
    block = block_of(*work)
    descend(block)
    return block.group - 1


def _shake(block: Block, rng: np.random.Generator) -> None:
    best, cost = block.group.copy(), block.cost
    for _ in range(SHAKES):
        open_groups = np.flatnonzero(block.size[1:] > 0) + 1
        if cost == 0 or len(open_groups) == 0:
            break
        hit = rng.permutation(open_groups)[: rng.integers(1, 3)]
        inside = np.isin(block.group, hit)
        add = block.add.copy()
        add[:, hit] = np.inf
        if np.isinf(add[inside].min(1)).any():
            continue
        block.group = np.where(inside, add.argmin(1), block.group)
        block.price()
        descend(block)
        if block.cost < cost:
            best, cost = block.group.copy(), block.cost
        else:
            block.group = best.copy()
            block.price()
    block.group = best
