"""Invalid arguments of `anonymize`: one clear error, which does not show the data."""

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
    """An item whose error message contains the data."""

    def __hash__(self):
        raise TypeError(CANARY)

    def __repr__(self):
        return CANARY


def printed(error):
    """The messages in a traceback of an error and its causes, without source lines."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(line for line in lines if not line.startswith(" "))


def error_message(kind, *args, **kwargs):
    with pytest.raises(SetanonError) as caught:
        anonymize(*args, **kwargs)
    assert type(caught.value) is kind
    assert isinstance(caught.value, ValueError)
    assert CANARY not in printed(caught.value)
    assert CANARY not in repr(caught.value.__cause__)
    message = str(caught.value)
    assert re.search(r" must | may be missing", message)
    assert message.endswith(".")
    return message


@pytest.mark.parametrize("k", [1, 0, -3])
def test_k_below_two_is_refused(k):
    assert f"k must be at least 2; got {k}" in error_message(InvalidParameterError, DATA, k)


@pytest.mark.parametrize("k", [2.0, "3", True, None, [CANARY], CANARY, np.array([2, 2]), 2 + 0j])
def test_k_of_another_type_is_refused(k):
    message = error_message(InvalidParameterError, DATA, k)
    assert message == f"k must be an integer; got a value of type {type(k).__name__}."


@pytest.mark.parametrize(
    ("name", "choices"), [("method", METHODS), ("grouper", GROUPERS), ("operations", OPERATIONS)]
)
@pytest.mark.parametrize("value", ["unknown", "", 7, b"both", [CANARY], {CANARY: 1}])
def test_an_unknown_choice_is_refused_and_the_choices_are_listed(name, choices, value):
    message = error_message(InvalidParameterError, DATA, 2, **{name: value})
    assert f"{name} must be one of {', '.join(choices)}; got " in message


@pytest.mark.parametrize("name", ["min_owners", "seed"])
@pytest.mark.parametrize("value", [-1, 1.5, "2", False, [CANARY]])
def test_negative_numbers_and_other_types_are_refused(name, value):
    assert f"{name} must be " in error_message(InvalidParameterError, DATA, 2, **{name: value})


@pytest.mark.parametrize("empty", [[], (), iter([]), Records.from_sets([])])
def test_an_empty_input_is_refused(empty):
    assert "at least one record" in error_message(MalformedInputError, empty, 2)


@pytest.mark.parametrize("records", [None, 5, object(), CANARY])
def test_values_that_are_not_iterables_of_collections_are_refused(records):
    assert "collection" in error_message(MalformedInputError, records, 2)


@pytest.mark.parametrize("record", [CANARY, CANARY.encode(), None, 7, 1.5, object()])
def test_a_record_that_is_not_a_collection_is_refused_by_position_and_type(record):
    message = error_message(MalformedInputError, [{CANARY}, record], 2)
    assert "record 1 must be a collection" in message
    assert type(record).__name__ in message


@pytest.mark.parametrize("item", [[CANARY], {CANARY}, {CANARY: 1}, Unhashable()])
def test_unhashable_items_are_refused(item):
    message = error_message(MalformedInputError, [{CANARY}, [CANARY, item]], 2)
    assert "record 1 must contain hashable items" in message


@pytest.mark.parametrize("item", [None, float("nan"), np.float64("nan")])
def test_missing_items_are_refused(item):
    assert "no item may be missing" in error_message(MalformedInputError, [{CANARY, item}], 2)


@pytest.mark.parametrize("users", [[], [CANARY], [CANARY] * 3, np.arange(3)])
def test_users_of_another_length_are_refused(users):
    message = error_message(MalformedInputError, DATA, 2, users=users)
    assert f"got {len(users)} users for 2 records" in message


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan")])
def test_records_without_a_user_are_refused(missing):
    message = error_message(MalformedInputError, DATA, 2, users=[CANARY, missing])
    assert "every record must have a user; 1 have none" in message


@pytest.mark.parametrize("users", [[[CANARY], [CANARY]], [Unhashable(), Unhashable()]])
def test_unhashable_users_are_refused(users):
    assert "users must be hashable" in error_message(MalformedInputError, DATA, 2, users=users)


@pytest.mark.parametrize(
    "users",
    ["ab", 5, iter([CANARY, "b"]), {CANARY, "b"}, {CANARY: 1, "b": 2}, np.zeros((2, 2), int)],
)
def test_users_that_are_not_a_sequence_are_refused(users):
    message = error_message(MalformedInputError, DATA, 2, users=users)
    assert "users must be a sequence" in message


def test_users_passed_with_records_are_refused():
    data = Records.from_sets(DATA, [CANARY, "b"])
    message = error_message(MalformedInputError, data, 2, users=[CANARY, "b"])
    assert "users must not be passed" in message


def test_parameters_are_checked_before_the_data_are_read():
    def unread():
        yield {CANARY}
        pytest.fail("the data were read")

    error_message(InvalidParameterError, unread(), 1)


def test_warnings_and_notes_do_not_show_the_data():
    sets = [{CANARY}, {"b", "c"}, {"b", "d"}, {"b"}, set()]
    for operations in OPERATIONS:
        for k in (2, 5, 9):
            result = anonymize(sets, k, operations=operations, users=[CANARY, *"wxyz"])
            assert CANARY not in " ".join((*result.warnings, *result.notes))
