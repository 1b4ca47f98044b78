"""Stripping: which items and records are removed, and that the optimum changes by a constant."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import best_partition_cost
from support.strategies import params, records

from setanon_core.columns.records import Records
from setanon_core.grouping.strip import count_owners, never_majority, strip
from setanon_core.params import OPERATIONS, Params


def sets_of(data):
    return [{i for i in range(data.width) if mask >> i & 1} for mask in data.bitmasks()]


@given(records())
def test_owners_are_distinct_users(data):
    counted = count_owners(data)
    for item in range(data.width):
        users = {int(data.users[i]) for i, s in enumerate(sets_of(data)) if item in s}
        assert counted[item] == len(users)


@settings(max_examples=150)
@given(records(), params(), st.sampled_from([None, 0, 1, 2, 5]))
def test_exactly_the_unpublishable_items_and_records_are_removed(data, drawn, min_owners):
    k, operations = drawn.k, drawn.operations
    params = Params(k, operations=operations, min_owners=min_owners)
    stripped, sets, owners = strip(data, params), sets_of(data), count_owners(data)
    items = range(data.width)
    rare = {item for item in items if owners[item] < params.required_owners}
    support = [sum(item in s for s in sets) for item in items]
    never_majority = {
        "both": {item for item in items if 2 * support[item] <= k},
        "deletions": {item for item in items if owners[item] < k},
        "additions": set(),
    }[operations]
    barred = [i for i, s in enumerate(sets) if operations == "additions" and s & rare]
    positions = [i for i, s in enumerate(sets) if s and i not in barred]
    removed = set() if operations == "additions" else rare | never_majority
    assert stripped.positions.tolist() == positions
    remaining = [
        {int(e) for e in stripped.records.items[low:high]}
        for low, high in zip(
            stripped.records.offsets[:-1], stripped.records.offsets[1:], strict=True
        )
    ]
    assert remaining == [sets[i] - removed for i in positions]
    assert stripped.records.users.tolist() == data.users[positions].tolist()
    assert stripped.cost == len(data.items) - sum(map(len, remaining))
    assert stripped.empty == sum(not s for s in sets)
    assert stripped.barred == len(barred)
    assert stripped.withdrawn == len(sets) - len(positions)


@settings(max_examples=100)
@given(records(), params())
def test_without_min_owners_the_optimum_changes_by_the_cost_of_stripping(data, drawn):
    k, operations = drawn.k, drawn.operations
    nonempty = np.flatnonzero(data.sizes > 0)
    masks = [data.bitmasks()[i] for i in nonempty]
    users = data.users[nonempty].tolist()
    stripped = strip(data, Params(k, operations=operations, min_owners=0))
    remaining = best_partition_cost(
        stripped.records.bitmasks(), stripped.records.users.tolist(), k, operations
    )
    assert stripped.cost + remaining == best_partition_cost(masks, users, k, operations)


def test_a_record_that_loses_all_items_is_kept():
    data = Records.from_sets([{"a"}, {"a"}, {"rare"}])
    for operations in ("both", "deletions"):
        stripped = strip(data, Params(2, operations=operations))
        assert stripped.records.sizes.tolist() == [1, 1, 0]
        assert stripped.cost == 1
    assert strip(data, Params(2, operations="additions")).barred == 1


def test_of_empty_records_none_remains():
    for operations in OPERATIONS:
        stripped = strip(Records.from_sets([set(), set()]), Params(2, operations=operations))
        assert (len(stripped.records), stripped.empty, stripped.cost) == (0, 2, 0)


def test_the_vocabulary_is_kept():
    data = Records.from_sets([{"a", "b"}, {"b"}, {"b"}])
    assert strip(data, Params(2)).records.vocabulary == data.vocabulary


def test_given_owners_are_used_in_place_of_counted_ones():
    # The log has more users of the items than these records.
    data = Records.from_sets([{"a", "b"}, {"a", "b"}, {"a"}])
    removed = {}
    for owners in (None, np.array([3, 3]), np.array([3, 2])):
        for operations in OPERATIONS:
            stripped = strip(data, Params(3, operations=operations, min_owners=3), owners)
            removed[str(owners), operations] = stripped.cost, stripped.barred

    assert [removed["None", operations] for operations in OPERATIONS] == [
        removed["[3 2]", operations] for operations in OPERATIONS
    ]
    assert (removed["[3 3]", "additions"], removed["[3 2]", "additions"]) == ((0, 0), (4, 2))
    assert (removed["[3 3]", "both"], removed["[3 2]", "both"]) == ((0, 0), (2, 0))


def test_rare_items_are_marked_by_item_number():
    for sets in ([set()], [{"a"}, {"b"}, {"b", "c"}, {"b", "c"}]):
        data = Records.from_sets(sets, [0, 1, 2, 2][: len(sets)])
        n = max(data.width, 1)
        rare = {
            operations: never_majority(data, Params(2, operations=operations)).tolist()
            for operations in OPERATIONS
        }

        assert rare["additions"] == [False] * n
        assert rare["both"] == ([True] if n == 1 else [True, False, False])
        assert rare["deletions"] == ([True] if n == 1 else [True, False, True])
        assert len(count_owners(data)) == n


def test_items_of_fewer_than_k_users_are_removed_if_sets_must_be_typed():
    data = Records.from_sets([{0, 1}, {0, 1}, {0}], users=[1, 2, 3])
    kept = {
        combinations: set(
            strip(data, Params(3, min_owners=0, combinations=combinations)).records.items.tolist()
        )
        for combinations in ("any", "typed")
    }
    assert kept == {"any": {0, 1}, "typed": {0}}
