"""Numbers of 32 bits instead of 64: whatever is made of them must not run over."""

import numpy as np

from setanon_core.columns.arrays import offsets_of
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.itemsets import frequent_itemsets
from setanon_core.params import Params
from setanon_core.pipeline.group_records import anonymize_records


def test_narrow_items_are_grouped_as_wide_ones_are():
    rng = np.random.default_rng(5)
    n = 6_000
    # Records times items are more than 2^32, in every column that is made of both.
    sets = [np.unique(1_000_000 + (40 * rng.random(4) ** 3).astype(int)) for _ in range(n)]
    items, offsets = np.concatenate(sets), offsets_of(np.array(list(map(len, sets))))
    users = rng.integers(0, n // 2, n)
    wide = Records(items, offsets, users)
    narrow = Records.unchecked(
        items=items.astype(np.int32), offsets=wide.offsets, users=wide.users, vocabulary=()
    )
    params = Params(3)

    one, other = (anonymize_records(records, params) for records in (wide, narrow))

    assert narrow.items.dtype == np.int32
    assert one.labels.tolist() == other.labels.tolist()
    assert one.centers.items.tolist() == other.centers.items.tolist()
    assert one.certificate == other.certificate
    assert one.rounds == other.rounds


def test_itemsets_of_very_many_items_are_told_apart():
    pairs = 70_000
    first = np.repeat(np.arange(pairs), 2)  # each pair of items is held by two sets
    items = np.column_stack((first, first + pairs)).ravel()
    found = frequent_itemsets(Sets(items, np.arange(2 * pairs + 1) * 2), np.ones(2 * pairs, int), 2)

    both = found.sets.take(np.flatnonzero(found.sets.sizes == 2))
    assert both.items.reshape(-1, 2).tolist() == [[a, a + pairs] for a in range(pairs)]
    assert found.holders[-4:].tolist() == list(range(2 * pairs - 4, 2 * pairs))
