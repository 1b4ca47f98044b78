"""Items stored as int32: computations on them must not overflow."""

import numpy as np

from setanon_core.columns.arrays import offsets_of
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.itemsets import frequent_itemsets
from setanon_core.params import Params
from setanon_core.pipeline.group_records import anonymize_records


def test_int32_items_give_the_same_groups_as_int64_items():
    rng = np.random.default_rng(5)
    n = 6_000
    # Records times items exceed 2^32: keys that combine both overflow int32.
    sets = [np.unique(1_000_000 + (40 * rng.random(4) ** 3).astype(int)) for _ in range(n)]
    items, offsets = np.concatenate(sets), offsets_of(np.array(list(map(len, sets))))
    users = rng.integers(0, n // 2, n)
    int64_records = Records(items, offsets, users)
    int32_records = Records.unchecked(
        items=items.astype(np.int32),
        offsets=int64_records.offsets,
        users=int64_records.users,
        vocabulary=(),
    )
    params = Params(3)

    expected, result = (
        anonymize_records(records, params) for records in (int64_records, int32_records)
    )

    assert int32_records.items.dtype == np.int32
    assert result.labels.tolist() == expected.labels.tolist()
    assert result.centers.items.tolist() == expected.centers.items.tolist()
    assert result.certificate == expected.certificate
    assert result.rounds == expected.rounds


def test_pairs_of_many_distinct_items_are_mined_without_overflow():
    pairs = 70_000
    first = np.repeat(np.arange(pairs), 2)  # each pair of items is in two sets
    items = np.column_stack((first, first + pairs)).ravel()
    sets = Sets(items, np.arange(2 * pairs + 1) * 2)

    itemsets = frequent_itemsets(sets, np.ones(2 * pairs, int), 2)

    both = itemsets.sets.take(np.flatnonzero(itemsets.sets.sizes == 2))
    assert both.items.reshape(-1, 2).tolist() == [[a, a + pairs] for a in range(pairs)]
    assert itemsets.supersets[-4:].tolist() == list(range(2 * pairs - 4, 2 * pairs))
