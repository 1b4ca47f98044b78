"""Error classes: they can be pickled, and caught by their base classes."""

import pickle

import pytest

from setanon_core import errors
from setanon_core.errors import InvalidParameterError, MalformedInputError, SetanonError

ERRORS = [
    error
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, SetanonError)
]


@pytest.mark.parametrize("error", ERRORS)
def test_error_keeps_its_type_and_message_when_pickled(error):
    copy = pickle.loads(pickle.dumps(error("what must hold; what was seen.")))  # noqa: S301
    assert type(copy) is error
    assert str(copy) == "what must hold; what was seen."


def test_errors_are_setanon_errors_and_value_errors():
    assert {InvalidParameterError, MalformedInputError, SetanonError} <= set(ERRORS)
    assert issubclass(InvalidParameterError, ValueError)
    assert issubclass(MalformedInputError, ValueError)
