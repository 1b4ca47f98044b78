"""Stripping: what is set aside, why, and that the optimum of the rest is the optimum."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import best_partition_cost
from support.strategies import params, records

from setanon_core.columns.records import Records
from setanon_core.grouping.strip import count_owners, strip
from setanon_core.params import OPERATIONS, Params


def sets_of(data):
    return [{i for i in range(data.width) if mask >> i & 1} for mask in data.bitmasks()]


@given(records())
def test_owners_are_distinct_users(data):
    counted = count_owners(data)
    for item in range(data.width):
        those = {int(data.users[i]) for i, one in enumerate(sets_of(data)) if item in one}
        assert counted[item] == len(those)


@settings(max_examples=300)
@given(records(), params(), st.sampled_from([None, 0, 1, 2, 5]))
def test_what_is_left_holds_no_item_with_too_few_owners_and_nothing_else_is_lost(
    data, asked, min_owners
):
    asked = Params(asked.k, operations=asked.operations, min_owners=min_owners)
    stripped, sets, held = strip(data, asked), sets_of(data), count_owners(data)
    rare = {item for item in range(data.width) if held[item] < asked.required_owners}
    support = [sum(item in one for one in sets) for item in range(data.width)]
    hopeless = {
        "both": {item for item in range(data.width) if 2 * support[item] <= asked.k},
        "deletions": {item for item in range(data.width) if held[item] < asked.k},
        "additions": set(),
    }[asked.operations]
    barred = [i for i, one in enumerate(sets) if asked.operations == "additions" and one & rare]
    stay = [i for i, one in enumerate(sets) if one and i not in barred]
    gone = set() if asked.operations == "additions" else rare | hopeless
    assert stripped.positions.tolist() == stay
    left = [
        {int(e) for e in stripped.records.items[low:high]}
        for low, high in zip(
            stripped.records.offsets[:-1], stripped.records.offsets[1:], strict=True
        )
    ]
    assert left == [sets[i] - gone for i in stay]
    assert stripped.records.users.tolist() == data.users[stay].tolist()
    assert stripped.cost == len(data.items) - sum(map(len, left))
    assert stripped.empty == sum(not one for one in sets)
    assert stripped.barred == len(barred)


@settings(max_examples=150)
@given(records(), params())
def test_without_owners_the_optimum_differs_by_what_was_stripped(data, asked):
    held = np.flatnonzero(data.sizes > 0)
    masks = [data.bitmasks()[i] for i in held]
    users = data.users[held].tolist()
    stripped = strip(data, Params(asked.k, operations=asked.operations, min_owners=0))
    rest = best_partition_cost(
        stripped.records.bitmasks(), stripped.records.users.tolist(), asked.k, asked.operations
    )
    assert stripped.cost + rest == best_partition_cost(masks, users, asked.k, asked.operations)


def test_a_record_that_loses_all_its_items_stays_as_a_filler():
    data = Records.from_sets([{"a"}, {"a"}, {"rare"}])
    for operations in ("both", "deletions"):
        stripped = strip(data, Params(2, operations=operations))
        assert stripped.records.sizes.tolist() == [1, 1, 0]
        assert stripped.cost == 1
    assert strip(data, Params(2, operations="additions")).barred == 1


def test_data_of_empty_records_only_leaves_nothing():
    for operations in OPERATIONS:
        stripped = strip(Records.from_sets([set(), set()]), Params(2, operations=operations))
        assert (len(stripped.records), stripped.empty, stripped.cost) == (0, 2, 0)


def test_the_vocabulary_goes_along():
    data = Records.from_sets([{"a", "b"}, {"b"}, {"b"}])
    assert strip(data, Params(2)).records.vocabulary == data.vocabulary
