"""The plan: parents, the line of items, and the cut by weight."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.itemsets import all_itemsets
from support.oracles import random_records

from setanon_core.columns.records import Records
from setanon_core.params import Params
from setanon_core.partition.content_hashes import record_hashes, set_hashes, user_digests, user_keys
from setanon_core.partition.itemset_counts import Counts
from setanon_core.partition.locate_groups import locate_groups
from setanon_core.partition.parts import rows_by_part
from setanon_core.partition.place_columns import renumber_items
from setanon_core.partition.place_records import NO_PLACE, place_by_wishes
from setanon_core.partition.plan import PLACE, Plan, count_places, cut, depth_first, find_parents
from setanon_core.partition.record_parts import RecordRanges
from setanon_core.partition.wishes import find_wishes


def test_the_number_of_places_follows_from_the_number_of_records():
    assert [count_places(n) for n in (0, 1, PLACE, PLACE + 1, 3 * PLACE)] == [0, 1, 1, 2, 3]


def test_the_parent_is_the_more_frequent_item_most_often_beside():
    frequent = all_itemsets(Records.from_sets([{0, 1, 2}, {1, 2}, {2}]), 1)
    # Item 0 is beside item 1 twice and beside item 2 twice: the rarer one is its parent.
    neighbours = Counts(np.array([1, 2, 5]), np.array([2, 2, 1]))
    assert find_parents(frequent, neighbours).tolist() == [1, 2, -1]
    neighbours = Counts(np.array([1, 2]), np.array([2, 3]))
    assert find_parents(frequent, neighbours).tolist() == [2, -1, -1]


@given(st.lists(st.integers(-1, 1000), max_size=40), st.randoms(use_true_random=False))
def test_descendants_follow_their_ancestor_in_the_line(draws, random):
    # The parent of each item is an earlier one of a random order.
    order = list(range(len(draws)))
    random.shuffle(order)
    parents = np.full(len(draws), -1)
    for position, draw in enumerate(draws):
        parents[order[position]] = -1 if draw < 0 or position == 0 else order[draw % position]
    line = depth_first(parents).tolist()
    assert sorted(line) == list(range(len(draws)))

    def ancestors(item):
        while item >= 0:
            yield item
            item = int(parents[item])

    for item in range(len(draws)):
        family = [line.index(other) for other in range(len(draws)) if item in ancestors(other)]
        assert sorted(family) == list(range(line.index(item), line.index(item) + len(family)))


@given(st.lists(st.integers(0, 200), min_size=1, max_size=60), st.integers(1, 12))
def test_no_place_is_heavier_than_three_times_the_mean(weights, places):
    weight = np.array(weights)
    first, count = cut(weight, places)
    assert (first >= 0).all()
    assert (count >= 1).all()
    assert (first + count <= places).all()
    mean = max(sum(weights), 1) / places
    load = np.zeros(places)
    for w, low, n in zip(weights, first.tolist(), count.tolist(), strict=True):
        load[low : low + n] += w / n
        assert n == max(w * places // max(sum(weights), 1), 1)
    assert load.max() <= 3 * mean + 1e-9


@given(st.lists(st.integers(0, 10), min_size=1, max_size=60), st.integers(1, 4))
def test_light_items_are_cut_in_order_into_places_of_at_most_twice_the_mean(weights, places):
    weight = np.array([*weights, *[10] * places])
    first, count = cut(weight, places)
    assert (np.diff(first) >= 0).all()
    assert (count == 1).all() or weight.max() * places > weight.sum()
    if (count == 1).all():
        assert np.bincount(first, weight).max() <= 2 * weight.sum() / places


@pytest.mark.parametrize(
    ("weights", "places", "first", "count"),
    [
        ([1, 1, 4, 2], 4, [0, 0, 1, 3], [1, 1, 2, 1]),
        ([1, 29, 10], 4, [0, 1, 3], [1, 2, 1]),
        ([40], 4, [0], [4]),
        ([10, 30], 4, [0, 1], [1, 3]),
        ([0, 0], 2, [0, 0], [1, 1]),
    ],
)
def test_the_places_of_an_item_lie_around_its_middle(weights, places, first, count):
    found = cut(np.array(weights), places)
    assert [column.tolist() for column in found] == [first, count]


def test_a_heavy_item_is_distributed_by_hash_and_others_are_not():
    plan = Plan(5, np.array([0, 1]), np.array([1, 4]))
    hashes = set_hashes(Records.from_sets([{0, i} for i in range(1, 400)]))
    heavy = plan.place_of(np.full(399, 1), hashes)
    assert np.bincount(heavy, minlength=5).tolist()[0] == 0
    assert np.bincount(heavy).min(initial=400, where=np.arange(5) > 0) > 60
    assert set(plan.place_of(np.full(399, 0), hashes).tolist()) == {0}
    assert set(plan.place_of(np.full(399, -1), hashes).tolist()) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("places", [1, 2, 7])
def test_every_record_has_exactly_one_place_and_equal_first_wishes_share_it(places):
    records = random_records(np.random.default_rng(1), 300, 8, 100)
    frequent = all_itemsets(records, 3)
    keys = user_keys(user_digests([records], 300))
    active = [np.ones(300, bool)]
    (placed,) = place_by_wishes(RecordRanges(records), active, frequent, keys, places)
    wishes = find_wishes(records, frequent)
    own = placed.choices[:, 0]
    parts = rows_by_part(own, places)
    assert len(parts) == places
    assert sorted(np.concatenate(parts).tolist()) == list(range(300))
    assert ((placed.choices == NO_PLACE) == (placed.sizes == 0))[:, 1:].all()
    first = wishes.homes[:, 0]
    weights = np.bincount(first[first >= 0], minlength=frequent.width)
    light = (weights * places < 2 * weights.sum())[first]
    wished = light & (wishes.level >= 0)
    wish = wishes.level[wished] * 1000 + wishes.itemset[wished]
    pairs = np.unique(np.column_stack((wish, own[wished])), axis=0)
    assert len(pairs) == len(np.unique(wish))


def test_a_group_is_located_at_the_place_of_most_members_the_first_of_several():
    records = Records.from_sets([{0, 1}] * 3 + [{1, 2}] * 4 + [{0}])
    labels = np.array([4, 4, 4, 2, 2, 2, 2, -1])
    own = np.array([8, 3, 3, 7, 5, 5, 7, 6], np.int16)
    located = locate_groups(records, labels, Params(3), own)
    assert located.places[located.rows[:7]].tolist() == [3] * 3 + [5] * 4
    assert located.saving.tolist() == [2] * 7 + [0]
    nobody = locate_groups(records, np.full(8, -1), Params(3), own)
    assert (len(nobody.centers), len(nobody.places)) == (0, 0)


def test_set_hashes_depend_on_the_items_alone():
    records = Records.from_sets([{1, 2}, {2}, {1, 2}, set()], "abca")
    hashes = set_hashes(records)
    assert hashes[0] == hashes[2]
    assert len(np.unique(hashes)) == 3
    keys = user_keys(user_digests([records], 3))
    assert len(np.unique(record_hashes(records, keys))) == 4


def test_keys_of_users_depend_on_their_sets_and_differ():
    records = Records.from_sets([{1, 2}, {2}, {3}, {2}, {2, 1}], [0, 0, 1, 2, 2])
    digests = user_digests([records.subset(np.arange(3)), records.subset(np.arange(3, 5))], 3)
    assert digests[0] == digests[2] != digests[1]
    keys = user_keys(digests)
    assert len(np.unique(keys)) == 3
    assert len(np.unique(record_hashes(records, keys))) == 5
    renamed = user_keys(digests[[1, 2, 0]])
    assert sorted(renamed) == sorted(keys)
    assert renamed[0] == keys[1]


def test_items_are_renumbered_together_and_in_order():
    left, right = (
        Records.from_columns(items, [0, len(items)], vocabulary=range(10))
        for items in ([5, 9], [7, 9])
    )
    assert [sets.items.tolist() for sets in renumber_items(left, right)] == [[0, 2], [1, 2]]
