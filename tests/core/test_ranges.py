"""Ranges: accepted and refused values, error messages, and JSON schema."""

import math

import numpy as np
import pytest

from setanon_core.errors import InvalidParameterError
from setanon_core.ranges import (
    AtLeast,
    Between,
    ByteLength,
    Matching,
    Range,
    UnitInterval,
    check_choice,
    check_k,
)

LOWER = Matching("[a-z]+", "lower case letters", "Use a to z.")
RANGES = (AtLeast(1), Between(1, 4), UnitInterval(), LOWER, ByteLength(1, 3))


@pytest.mark.parametrize(
    ("range_", "value", "stored"),
    [
        (AtLeast(2), 2, 2),
        (AtLeast(2), np.int64(9), 9),
        (Between(1, 4), 1, 1),
        (Between(1, 4), np.int8(4), 4),
        (UnitInterval(), 0, 0),
        (UnitInterval(), 1.0, 1.0),
        (LOWER, "abc", "abc"),
        (ByteLength(1, 3), b"abc", b"abc"),
    ],
)
def test_values_in_the_range_are_returned_as_plain_python_values(range_, value, stored):
    checked = range_.check("x", value)
    assert checked == stored
    assert type(checked) is type(stored)


@pytest.mark.parametrize(
    ("range_", "value", "message"),
    [
        (AtLeast(2), 1, "x must be at least 2; got 1."),
        (AtLeast(2, "Use 2."), 1, "x must be at least 2; got 1. Use 2."),
        (AtLeast(2), "3", "x must be an integer; got a value of type str."),
        (AtLeast(1), True, "x must be an integer; got a value of type bool."),
        (AtLeast(1), int, "x must be an integer; got a value of type type."),
        (Between(1, 4), 5, "x must be from 1 to 4; got 5."),
        (Between(1, 4), 2.0, "x must be an integer; got a value of type float."),
        (UnitInterval(), 1.5, "x must be a number from 0 to 1; got 1.5."),
        (UnitInterval(), math.nan, "x must be a number from 0 to 1; got nan."),
        (UnitInterval(), True, "x must be a number from 0 to 1; got a value of type bool."),
        (UnitInterval(), "canary", "x must be a number from 0 to 1; got a value of type str."),
        (LOWER, "abC", "x must be lower case letters. Use a to z."),
        (LOWER, "abc\n", "x must be lower case letters. Use a to z."),
        (LOWER, 5, "x must be lower case letters. Use a to z."),
        (ByteLength(1, 3), b"", "x must be 1 to 3 bytes."),
        (ByteLength(1, 3), "abc", "x must be 1 to 3 bytes; got text. Encode it."),
    ],
)
def test_values_outside_the_range_are_refused(range_, value, message):
    with pytest.raises(InvalidParameterError) as caught:
        range_.check("x", value)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [np.True_, None, np.array([2, 3]), 2.0])
def test_k_must_be_an_integer(value):
    with pytest.raises(InvalidParameterError, match="k must be an integer"):
        check_k(value)


def test_errors_of_choices_show_strings_but_not_other_values():
    assert check_choice("x", "a", ("a", "b")) == "a"
    with pytest.raises(InvalidParameterError, match="x must be one of a, b; got 'c'"):
        check_choice("x", "c", ("a", "b"))
    with pytest.raises(InvalidParameterError, match="got a value of type list"):
        check_choice("x", ["a"], ("a", "b"))


@pytest.mark.parametrize("range_", RANGES)
def test_every_range_has_a_text_and_a_schema(range_):
    assert isinstance(range_, Range)
    assert range_.text
    assert not range_.text.endswith(".")
    assert range_.schema()
