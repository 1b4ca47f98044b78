"""Blocks of similar records: disjoint, of bounded size, with k users of each group or none."""

import numpy as np
import pytest
from support.groupings import feasible_groupings

from setanon_core.grouping.improve.neighbourhoods import neighbourhoods
from setanon_core.model.groups import WITHDRAWN


@pytest.mark.parametrize("size", [2, 3, 8, 20])
@pytest.mark.parametrize("rarest_first", [True, False])
def test_blocks_are_disjoint_and_each_part_of_a_group_has_k_users(size, rarest_first):
    for records, labels, params in feasible_groupings(45):
        blocks = neighbourhoods(records, labels, params, size, rarest_first=rarest_first)
        inside = np.concatenate(blocks) if blocks else np.empty(0, np.int64)
        assert len(np.unique(inside)) == len(inside)
        assert all(len(block) <= 2 * size for block in blocks)
        omitted = np.setdiff1d(np.arange(len(records)), inside)
        for part in [*blocks, omitted]:
            for label in set(labels[part].tolist()) - {WITHDRAWN}:
                members = part[labels[part] == label]
                assert len(np.unique(records.users[members])) >= params.k


def test_every_withdrawn_record_is_in_one_block():
    for records, labels, params in feasible_groupings(20):
        withdrawn = np.full(len(labels), WITHDRAWN)
        blocks = neighbourhoods(records, withdrawn, params, 4)
        assert sorted(np.concatenate(blocks).tolist()) == list(range(len(records)))
        assert all(len(block) <= 4 for block in blocks[:-1])
