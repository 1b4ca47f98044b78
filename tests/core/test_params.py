"""`Params` and the errors: what is out of range is refused, and the refusal travels."""

import dataclasses
import pickle

import numpy as np
import pytest

from setanon_core import errors
from setanon_core.errors import InvalidParameterError, MalformedInputError, SetanonError
from setanon_core.params import GROUPERS, METHODS, OPERATIONS, Params
from setanon_core.ranges import check_k


def test_the_defaults_are_the_documented_ones():
    params = Params(3)
    assert (params.k, params.method, params.grouper) == (3, "best", None)
    assert (params.operations, params.required_owners, params.seed) == ("both", 3, 0)


@pytest.mark.parametrize("k", [2, np.int32(2), np.array(2)])
def test_k_is_stored_as_a_plain_integer(k):
    assert type(Params(k).k) is int
    assert check_k(k) == 2


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("k", 1, "k must be at least 2; got 1"),
        ("k", 0, "k must be at least 2; got 0"),
        ("k", -5, "k must be at least 2; got -5"),
        ("k", 3.0, "k must be an integer; got a value of type float"),
        ("k", "3", "k must be an integer; got a value of type str"),
        ("k", True, "k must be an integer; got a value of type bool"),
        ("k", np.True_, "k must be an integer; got a value of type bool"),
        ("k", None, "k must be an integer; got a value of type NoneType"),
        ("k", int, "k must be an integer; got a value of type type"),
        ("k", np.array([2, 3]), "k must be an integer; got a value of type ndarray"),
        ("min_owners", -1, "min_owners must be at least 0; got -1. 0 turns it off"),
        ("min_owners", 2.5, "min_owners must be an integer"),
        ("seed", -1, "seed must be at least 0; got -1"),
        ("seed", None, "seed must be an integer"),
        ("method", "fast", "method must be one of best, paper; got 'fast'"),
        ("method", None, "method must be one of best, paper"),
        ("operations", "flips", "operations must be one of both, additions, deletions; got 'flips"),
        ("operations", ["both"], "operations must be one of .*; got a value of type list"),
        ("grouper", "kmeans", "grouper must be one of star, .*; got 'kmeans'"),
        ("grouper", 7, "grouper must be one of star, .*; got a value of type int"),
    ],
)
def test_values_out_of_range_are_refused_by_name(name, value, message):
    with pytest.raises(InvalidParameterError, match=message):
        Params(**{"k": 2, name: value})


@pytest.mark.parametrize(
    ("name", "choices"), [("method", METHODS), ("operations", OPERATIONS), ("grouper", GROUPERS)]
)
def test_every_choice_is_accepted_and_listed_when_another_is_made(name, choices):
    for choice in choices:
        assert getattr(Params(2, **{name: choice}), name) == choice
    with pytest.raises(InvalidParameterError) as caught:
        Params(2, **{name: "none of them"})
    assert ", ".join(choices) in str(caught.value)


def test_data_in_the_place_of_a_parameter_is_not_repeated():
    for name in ("k", "method", "grouper", "operations", "min_owners", "seed"):
        with pytest.raises(InvalidParameterError) as caught:
            Params(**{"k": 2, name: ["canary-7f3a"]})
        assert "canary" not in str(caught.value)


def test_the_default_of_min_owners_follows_k():
    params = Params(3)
    assert dataclasses.replace(params, k=7).required_owners == 7
    assert dataclasses.replace(params, min_owners=0, k=7).required_owners == 0


def test_params_cannot_be_changed_and_can_be_pickled_and_compared():
    params = Params(3, min_owners=np.int64(4), seed=np.int64(5))
    with pytest.raises(dataclasses.FrozenInstanceError):
        params.k = 1
    assert pickle.loads(pickle.dumps(params)) == params == Params(3, min_owners=4, seed=5)  # noqa: S301


ERRORS = [
    error
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, SetanonError)
]


@pytest.mark.parametrize("error", ERRORS)
def test_errors_survive_the_way_between_processes(error):
    copy = pickle.loads(pickle.dumps(error("what must hold; what was seen.")))  # noqa: S301
    assert type(copy) is error
    assert str(copy) == "what must hold; what was seen."


def test_errors_can_be_caught_as_ours_or_as_the_builtin():
    assert {InvalidParameterError, MalformedInputError, SetanonError} <= set(ERRORS)
    assert issubclass(InvalidParameterError, ValueError)
    assert issubclass(MalformedInputError, ValueError)
