"""Grouping place by place: k users, cost, independence of order, and small data unchanged."""

import numpy as np
import pytest
from support.oracles import fewest_users, grouping_cost, random_records

from setanon_core import anonymize
from setanon_core.columns.records import Records
from setanon_core.columns.users import user_ranks
from setanon_core.grouping.improve import duplicates
from setanon_core.grouping.methods import group
from setanon_core.grouping.strip import count_owners, strip
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params
from setanon_core.partition import group_in_places as module
from setanon_core.partition import parts, plan
from setanon_core.partition.bound_parts import bound_in_parts
from setanon_core.partition.group_in_places import (
    group_in_places,
    group_places,
    move_between_places,
)
from setanon_core.partition.locate_groups import locate_groups
from setanon_core.partition.place_records import place_records
from setanon_core.pipeline import group_records
from setanon_core.pipeline.group_records import anonymize_records
from setanon_core.runtime.column_files import use_column_folder
from setanon_core.runtime.executor import use_executor


def topic_records(n: int, users: int | None = None, seed: int = 0) -> Records:
    """Sets of items of one topic each, and sometimes an item of another topic."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, n // 20, n)
    sets = [
        {int(topic * 4 + i) for i in np.flatnonzero(rng.random(4) < 0.5)}
        | ({int(rng.integers(0, n // 5))} if rng.random() < 0.3 else set())
        for topic in topics
    ]
    return Records.from_sets(sets, None if users is None else rng.integers(0, users, n).tolist())


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("places", [2, 5])
@pytest.mark.parametrize("users", [None, 60])
def test_every_group_has_k_users_and_no_visit_raises_the_cost(operations, places, users):
    params = Params(3, operations=operations, min_owners=0)
    records = topic_records(200, users)
    grouping = group_in_places(records, params, places)
    assert (fewest_users(records, grouping.labels) or 3) >= 3
    costs = [round_.cost.total for round_ in grouping.rounds]
    assert costs == sorted(costs, reverse=True)
    assert len(costs) == (1 if operations == "additions" else 3)
    assert grouping_cost(records, grouping.labels, operations) <= costs[-1]


def test_visits_lower_the_cost_and_places_cost_little():
    records, params = topic_records(2000, 800), Params(3)
    records = strip(records, params).records
    # Without chains, which so many records as are grouped in places never get.
    costs = {round_.name: round_.cost.total for round_ in group(records, params).rounds}
    whole = costs["reassign"]
    rounds = group_in_places(records, params, 6).rounds
    assert rounds[0].cost.total > rounds[1].cost.total > rounds[2].cost.total
    assert rounds[2].cost.total < 1.08 * whole


def test_a_withdrawn_record_moves_to_the_nearest_center_of_all_its_places():
    records, params = random_records(np.random.default_rng(1), 300, 14, 200), Params(3)
    placed = place_records(records, params, 7)
    labels, _ = group_places(placed, params)
    labels[::2] = WITHDRAWN
    _, n_users = user_ranks(labels, records.users)
    labels[n_users < params.k] = WITHDRAWN
    located = locate_groups(records, labels, params, placed.own)
    moved = move_between_places(placed, located, params)
    masks, centers = records.bitmasks(), located.centers.bitmasks()
    several = 0
    for i in np.flatnonzero(located.rows == WITHDRAWN).tolist():
        known = placed.sizes[i] > 0
        places = placed.choices[i][known].tolist()
        offers = dict.fromkeys(places, 0)
        for center, place in zip(centers, located.places.tolist(), strict=True):
            if place in offers:
                shared = (masks[i] & center).bit_count()
                offers[place] = max(offers[place], 2 * shared - center.bit_count())
        best = max(offers.values(), default=0)
        several += sum(saving > 0 for saving in offers.values()) > 1
        assert (moved[i] == WITHDRAWN) == (best == 0)
        if best:
            center = centers[moved[i]]
            assert 2 * (masks[i] & center).bit_count() - center.bit_count() == best
    assert several > 5


def test_new_groups_of_several_places_save_more_than_those_of_one_place(monkeypatch):
    params = Params(3)
    records = strip(topic_records(1000, 500), params).records
    everywhere = group_in_places(records, params, 8).rounds[-1].cost.total
    monkeypatch.setattr(module, "destinations", lambda _choices, _sizes, here, _saving: here)
    assert everywhere < group_in_places(records, params, 8).rounds[-1].cost.total


def test_a_visit_that_raises_the_cost_is_undone(monkeypatch):
    records, params = topic_records(300), Params(3)
    records = strip(records, params).records
    expected = group_in_places(records, params, 3).rounds

    def withdraw_all(placed, _located, _params):
        return np.full(len(placed.records), -1, np.int32)

    monkeypatch.setattr(module, "reopen_between_places", withdraw_all)
    assert group_in_places(records, params, 3).rounds == expected[:2]


@pytest.mark.parametrize("k", [2, 3])
def test_the_result_does_not_depend_on_the_input_order(k, monkeypatch):
    monkeypatch.setattr(plan, "PLACE", 100)
    rng = np.random.default_rng(2)
    sets = [set(mask) for mask in rng.integers(0, 60, (400, 3)).tolist()]
    users = rng.integers(0, 200, 400)
    first = anonymize(sets, k, users=users.tolist())
    order = rng.permutation(400)
    second = anonymize([sets[i] for i in order], k, users=users[order].tolist())
    assert second.cost == first.cost
    assert [second.records[i] for i in np.argsort(order)] == list(first.records)


def test_small_data_are_one_place_and_are_grouped_as_before(monkeypatch):
    def refuse(*_arguments):
        raise AssertionError

    records, params = topic_records(500, 200), Params(3)
    monkeypatch.setattr(group_records, "prepare_records", refuse)
    anonymize_records(records, params)
    monkeypatch.setattr(plan, "PLACE", 100)
    anonymize_records(records, Params(3, "paper"))
    anonymize_records(records, params, np.zeros(500, np.int64))
    with pytest.raises(AssertionError):
        anonymize_records(records, params)


@pytest.mark.parametrize("combinations", ["any", "typed"])
def test_places_pass_the_checks_of_the_pipeline(combinations, monkeypatch):
    monkeypatch.setattr(plan, "PLACE", 100)
    records, params = topic_records(1000, 400), Params(3, combinations=combinations)
    result = anonymize_records(records, params)
    names = [round_.name for round_ in result.rounds]
    assert names[:3] == ["group_places", "move_between_places", "reopen_between_places"]
    assert result.rounds[-1].cost == result.cost
    assert result.lower_bound <= result.cost.total
    owners = count_owners(records)
    published_items = {records.vocabulary.index(item) for item in result.vocabulary}
    assert min(owners[list(published_items)]) >= 3


def test_executor_files_and_parts_do_not_change_labels_and_bound(monkeypatch, tmp_path):
    class Reversed:
        """Runs the calls in reverse order, with columns in files."""

        shares_files = True

        def map_ordered(self, function, arguments):
            return [function(each) for each in list(arguments)[::-1]][::-1]

        def submit(self, function, *arguments):
            return lambda: function(*arguments)

    records, params = topic_records(600, 200), Params(3)
    expected = group_in_places(records, params, 4).labels
    bound = bound_in_parts(records, params, 5)
    with use_executor(Reversed()), use_column_folder(tmp_path):
        assert np.array_equal(group_in_places(records, params, 4).labels, expected)
        assert bound_in_parts(records, params, 5) == bound
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(parts, "RECORDS_AT_ONCE", 37)
    assert np.array_equal(group_in_places(records, params, 4).labels, expected)


def test_the_records_of_an_item_that_everybody_has_are_distributed_among_places():
    records = Records.from_sets([{0, 1 + i} for i in range(600)])
    placed = place_records(records, Params(3), 4)
    sizes = np.bincount(placed.choices[:, 0], minlength=4)
    assert sizes.min() > 100
    labels = group_in_places(records, Params(3, min_owners=0), 4).labels
    # Every record keeps the common item.
    assert grouping_cost(records, labels, "both") == 600


def test_surplus_duplicates_have_no_place_and_keep_their_sets(monkeypatch):
    monkeypatch.setattr(duplicates, "MIN_REMAINING", 1)
    records = Records.from_sets([{1, 2}] * 60 + [{1, 3}] * 5 + [{4}] * 2)
    labels = group_in_places(records, Params(3), 2).labels
    assert grouping_cost(records, labels, "both") <= 2
    assert (fewest_users(records, labels) or 0) >= 3


@pytest.mark.parametrize("sets", [[], [set()], [{1}], [set()] * 5, [{1}, {2}, {3}, {4}]])
def test_few_and_empty_records_are_grouped_in_several_places(sets):
    records = Records.from_sets(sets)
    labels = group_in_places(records, Params(3, min_owners=0), 3).labels
    assert len(labels) == len(sets)
    assert (fewest_users(records, labels) or 3) >= 3


def test_undersized_sets_of_parts_add_up_to_those_of_the_whole():
    rng = np.random.default_rng(3)
    records, params = random_records(rng, 300, 6, 100), Params(3)
    whole = duplicates.count_undersized(records, params, records.width)
    part_of = rng.integers(0, 3, int(records.ranks.max()) + 1)[records.ranks]
    parts = [records.subset(np.flatnonzero(part_of == part)) for part in range(3)]
    counts = [duplicates.count_undersized(part, params, records.width) for part in parts]
    assert np.array_equal(sum(counts), whole)
    marks = np.zeros(len(records), bool)
    for part, rows in enumerate(np.flatnonzero(part_of == part) for part in range(3)):
        marks[rows] = duplicates.surplus_of_sets(parts[part], params, whole)
    assert np.array_equal(marks, duplicates.surplus_duplicates(records, params))
