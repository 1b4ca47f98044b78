"""Results contain published items only; faulty groupings are refused; users may have gaps."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from setanon_core import Records, anonymize
from setanon_core.errors import NotAnonymousError
from setanon_core.grouping.strip import strip
from setanon_core.model.groups import Grouping
from setanon_core.partition import plan
from setanon_core.pipeline import group_records as module

CANARY = "surname-of-one"
RECORDS = [{"tea", "milk"}, {"tea", "milk"}, {"tea", CANARY}, {"coffee"}]


def test_a_result_contains_published_items_only():
    result = anonymize(RECORDS, k=2)

    assert set(result.vocabulary) == set().union(*filter(None, result.records))
    assert CANARY not in repr(result)
    assert CANARY.encode() not in pickle.dumps(result)


def test_a_warning_is_given_if_no_item_has_enough_owners():
    result = anonymize(RECORDS, k=2, min_owners=5)

    assert result.records == (None,) * len(RECORDS)
    assert any("min_owners = 5" in warning for warning in result.warnings)


def test_gaps_between_user_numbers_make_no_difference():
    columns = Records.from_sets(RECORDS)
    sparse = Records(columns.items, columns.offsets, np.array([10**9, 0, 10**9, 7]))

    labels = anonymize(sparse, k=2).labels.tolist()

    assert labels == anonymize(RECORDS, k=2, users=["c", "a", "c", "b"]).labels.tolist()


@pytest.mark.parametrize(
    ("labels", "small"),
    [([0, 0, 1, 1, 2], 1), ([0, 1, 2, 3, 4], 5), ([0, 0, 0, 0, 0], 0), ([0, 0, 1, 1, -1], 0)],
)
def test_a_grouper_that_returns_groups_of_fewer_than_k_users_is_refused(monkeypatch, labels, small):
    monkeypatch.setattr(module, "group", lambda *_: Grouping(np.array(labels)))
    records = [{CANARY, number} for number in range(5)]

    if not small:
        assert anonymize(records, k=2, operations="additions", min_owners=0).groups
        return
    with pytest.raises(NotAnonymousError, match=f"k = 2 users; {small} groups had fewer") as error:
        anonymize(records, k=2, operations="additions", min_owners=0)
    assert CANARY not in str(error.value)


def test_groups_of_one_user_are_refused_however_many_records_they_have(monkeypatch):
    monkeypatch.setattr(module, "group", lambda *_: Grouping(np.array([0, 0, 0, 1, 1])))

    with pytest.raises(NotAnonymousError, match="1 groups had fewer"):
        anonymize([{"a"}] * 3 + [{"b"}] * 2, k=2, users=["u", "u", "u", "v", "w"], min_owners=0)


def test_groups_of_several_places_of_fewer_than_k_users_are_refused(monkeypatch):
    monkeypatch.setattr(plan, "PLACE", 2)
    labels = np.array([0, 0, 1, 1, 2], np.int32)
    monkeypatch.setattr(module, "group_placed", lambda *_: Grouping(labels))

    with pytest.raises(NotAnonymousError, match="k = 2 users; 1 groups had fewer"):
        anonymize(
            [{CANARY, number} for number in range(5)], k=2, operations="additions", min_owners=0
        )


@pytest.mark.parametrize("min_owners", [None, 3, 2])
def test_centers_with_items_of_too_few_owners_are_refused(monkeypatch, min_owners):
    # A faulty removal of rare items: two of three users have the item, a majority.
    monkeypatch.setattr(
        module, "strip", lambda records, params, _: strip(records, replace(params, min_owners=0))
    )
    sets = [{"tea", CANARY}, {"tea", CANARY}, {"tea"}]

    if min_owners == 2:
        assert anonymize(sets, k=3, min_owners=2).records == ({"tea", CANARY},) * 3
        return
    with pytest.raises(NotAnonymousError, match="min_owners = 3 owners; 1 had fewer") as error:
        anonymize(sets, k=3, min_owners=min_owners)
    assert CANARY not in str(error.value)


@pytest.mark.parametrize("operations", ["both", "additions"])
def test_rounds_contain_the_cost_of_what_was_removed_before_the_grouping(operations):
    records = [{"a"}, {"a"}, set(), {"a", "rare"}, set()]

    result = anonymize(records, k=2, operations=operations)

    assert result.rounds[-1].cost == result.cost
    assert result.cost.withdrawals == (3 if operations == "additions" else 2)


def test_exactly_k_users_are_enough_and_give_no_warning():
    result = anonymize([{"a"}, {"a"}, {"a"}], k=3)

    assert result.records == ({"a"},) * 3
    assert result.warnings == ()
    assert "only 2 of 2 users" in anonymize([{"a"}, {"a"}], k=3, min_owners=0).warnings[0]


def test_only_typed_combinations_have_a_round_of_typed_centers():
    records = [{"a", "b"}, {"a", "c"}, {"a"}, {"a", "b"}]
    last = {
        combinations: anonymize(records, k=2, combinations=combinations).rounds[-1].name
        for combinations in ("typed", "any")
    }

    assert last["typed"] == "typed_centers"
    assert last["any"] != "typed_centers"
