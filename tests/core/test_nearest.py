"""Counts of neighbours by distance: through subsets against all pairs."""

import numpy as np
import pytest
from support.oracles import random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.bounds import distances, nearest
from setanon_core.grouping.bounds.lower_bound import nearest_bound
from setanon_core.grouping.bounds.metric import HAMMING
from setanon_core.params import OPERATIONS, Params


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("users", [None, 25])
def test_counting_through_subsets_never_raises_the_bound_of_counting_pairs(
    operations: str, users: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(9)
    params = Params(k=4, operations=operations)
    for subsets_budget, long_budget in ((10**6, 10**6), (100, 10**6), (100, 300)):
        records = random_records(rng, 60, 9, users)
        by_pairs = nearest_bound(records, params)
        with monkeypatch.context() as patch:
            patch.setattr(nearest, "PAIRS_LIMIT", 0)
            patch.setattr(distances, "SUBSETS_BUDGET", subsets_budget)
            patch.setattr(distances, "SUBSETS_PER_SET", 0)
            patch.setattr(distances, "LONG_BUDGET", long_budget)
            patch.setattr(distances, "OVERLAPS_AT_ONCE", 500)
            patch.setattr(distances, "SETS_AT_ONCE", 7)
            by_subsets = nearest_bound(records, params)
        assert by_subsets <= by_pairs
        if users is None and subsets_budget == 10**6:
            assert by_subsets == by_pairs


def test_a_few_very_long_records_do_not_widen_the_tables_of_the_others() -> None:
    rng = np.random.default_rng(4)
    sets = [rng.choice(9000, 20, replace=False).tolist() for _ in range(2000)]
    sets += [rng.choice(9000, 3000, replace=False).tolist() for _ in range(3)]
    records = Records.from_sets(sets)
    largest = max(block.nearest.size for block in nearest.neighbours(records, HAMMING))
    assert 0 < nearest_bound(records, Params(k=3)) <= len(records.items)
    assert largest < 200_000  # 2,003 rows of 6,001 columns would be twelve million
