"""Bad input gets a clear error and nothing else; no error repeats the data."""

import re
import traceback

import numpy as np
import pytest

from setanon_core import (
    InvalidParameterError,
    MalformedInputError,
    Records,
    SetanonError,
    anonymize,
)
from setanon_core.params import GROUPERS, METHODS, OPERATIONS

CANARY = "canary-7f3a"
DATA = [{CANARY, "b"}, {CANARY}]


class Unhashable:
    """An item whose refusal to be hashed tells the secret."""

    def __hash__(self):
        raise TypeError(CANARY)

    def __repr__(self):
        return CANARY


def shown(error):
    """What a traceback prints of an error and of its causes, without the lines of source."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(line for line in lines if not line.startswith(" "))


def refusal(kind, *args, **kwargs):
    with pytest.raises(SetanonError) as caught:
        anonymize(*args, **kwargs)
    assert type(caught.value) is kind
    assert isinstance(caught.value, ValueError)
    assert CANARY not in shown(caught.value)
    assert CANARY not in repr(caught.value.__cause__)
    message = str(caught.value)
    assert re.search(r" must | may be missing", message)
    assert message.endswith(".")
    return message


@pytest.mark.parametrize("k", [1, 0, -3])
def test_k_below_two_is_refused(k):
    assert f"k must be at least 2; got {k}" in refusal(InvalidParameterError, DATA, k)


@pytest.mark.parametrize("k", [2.0, "3", True, None, [CANARY], CANARY, np.array([2, 2]), 2 + 0j])
def test_a_k_that_is_no_integer_is_refused(k):
    message = refusal(InvalidParameterError, DATA, k)
    assert message == f"k must be an integer; got a value of type {type(k).__name__}."


@pytest.mark.parametrize(
    ("name", "choices"), [("method", METHODS), ("grouper", GROUPERS), ("operations", OPERATIONS)]
)
@pytest.mark.parametrize("value", ["none of them", "", 7, b"both", [CANARY], {CANARY: 1}])
def test_an_unknown_choice_is_refused_and_the_choices_are_listed(name, choices, value):
    message = refusal(InvalidParameterError, DATA, 2, **{name: value})
    assert f"{name} must be one of {', '.join(choices)}; got " in message


@pytest.mark.parametrize("name", ["min_owners", "seed"])
@pytest.mark.parametrize("value", [-1, 1.5, "2", False, [CANARY]])
def test_a_negative_or_broken_number_is_refused(name, value):
    assert f"{name} must be " in refusal(InvalidParameterError, DATA, 2, **{name: value})


@pytest.mark.parametrize("empty", [[], (), iter([]), Records.from_sets([])])
def test_no_records_at_all_are_refused(empty):
    assert "at least one record" in refusal(MalformedInputError, empty, 2)


@pytest.mark.parametrize("records", [None, 5, object(), CANARY, {}, {CANARY: 1}, {(CANARY,): 1}])
def test_what_holds_no_collections_is_refused(records):
    assert "collection" in refusal(MalformedInputError, records, 2)


@pytest.mark.parametrize("record", [CANARY, CANARY.encode(), None, 7, 1.5, object()])
def test_what_is_no_collection_is_refused_by_position_and_type(record):
    message = refusal(MalformedInputError, [{CANARY}, record], 2)
    assert "record 1 must be a collection" in message
    assert type(record).__name__ in message


@pytest.mark.parametrize("item", [[CANARY], {CANARY}, {CANARY: 1}, Unhashable()])
def test_an_item_that_cannot_be_hashed_is_refused(item):
    message = refusal(MalformedInputError, [{CANARY}, [CANARY, item]], 2)
    assert "record 1 must contain hashable items" in message


@pytest.mark.parametrize("item", [None, float("nan"), np.float64("nan")])
def test_a_missing_item_is_refused(item):
    assert "no item may be missing" in refusal(MalformedInputError, [{CANARY, item}], 2)


@pytest.mark.parametrize("users", [[], [CANARY], [CANARY] * 3, np.arange(3)])
def test_users_of_another_length_are_refused(users):
    message = refusal(MalformedInputError, DATA, 2, users=users)
    assert f"got {len(users)} users for 2 records" in message


@pytest.mark.parametrize("nobody", [None, float("nan"), np.float64("nan")])
def test_a_record_without_a_user_is_refused(nobody):
    message = refusal(MalformedInputError, DATA, 2, users=[CANARY, nobody])
    assert "every record must have a user; 1 have none" in message


@pytest.mark.parametrize("users", [[[CANARY], [CANARY]], [Unhashable(), Unhashable()]])
def test_users_that_cannot_be_hashed_are_refused(users):
    assert "users must be hashable" in refusal(MalformedInputError, DATA, 2, users=users)


@pytest.mark.parametrize(
    "users",
    ["ab", 5, iter([CANARY, "b"]), {CANARY, "b"}, {CANARY: 1, "b": 2}, np.zeros((2, 2), int)],
)
def test_users_that_are_no_sequence_are_refused(users):
    assert "users must be" in refusal(MalformedInputError, DATA, 2, users=users)


def test_users_beside_records_are_refused():
    data = Records.from_sets(DATA, [CANARY, "b"])
    assert "users must not be passed" in refusal(MalformedInputError, data, 2, users=[CANARY, "b"])


def test_parameters_are_checked_before_the_data_are_read():
    def endless():
        yield {CANARY}
        pytest.fail("the data were read")

    refusal(InvalidParameterError, endless(), 1)


def test_warnings_and_notes_never_repeat_the_data():
    sets = [{CANARY}, {"b", "c"}, {"b", "d"}, {"b"}, set()]
    for operations in OPERATIONS:
        for k in (2, 5, 9):
            result = anonymize(sets, k, operations=operations, users=[CANARY, *"wxyz"])
            assert CANARY not in " ".join((*result.warnings, *result.notes))
