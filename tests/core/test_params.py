"""`Params` and its subclasses: defaults, ranges, choices, and the order of the fields."""

import dataclasses
import pickle

import numpy as np
import pytest

from setanon_core.declarations import descriptions
from setanon_core.errors import InvalidParameterError
from setanon_core.params import (
    GROUPERS,
    METHODS,
    OPERATIONS,
    Params,
    PublishedParams,
    ReleaseParams,
)


def test_defaults_are_the_documented_ones():
    params = Params(3)
    assert (params.k, params.method, params.grouper) == (3, "best", None)
    assert (params.operations, params.required_owners, params.seed) == ("both", 3, 0)


def test_release_params_use_the_built_in_tokenizer_and_measure_by_default():
    params = ReleaseParams(3)
    assert (params.tokenizer, params.measure) == (None, None)


def test_order_of_the_fields_is_fixed_because_thread_ids_depend_on_it():
    grouping = [
        "k",
        "method",
        "grouper",
        "operations",
        "combinations",
        "min_owners",
        "seed",
        "user_names",
    ]
    published = [*grouping, "p", "identity", "spelling", "unit", "format", "attributes"]
    assert [field.name for field in dataclasses.fields(Params)] == grouping
    assert [field.name for field in dataclasses.fields(PublishedParams)] == published
    assert [field.name for field in dataclasses.fields(ReleaseParams)] == [
        *published,
        *("measure", "tokenizer", "secret"),
    ]


def test_every_parameter_has_a_description():
    assert set(descriptions(ReleaseParams)) == {
        field.name for field in dataclasses.fields(ReleaseParams)
    }


@pytest.mark.parametrize("k", [2, np.int32(2), np.array(2)])
def test_integers_are_stored_as_plain_int(k):
    assert type(Params(k).k) is int
    assert Params(k).k == 2
    assert type(Params(2, min_owners=k).min_owners) is int


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("k", 1, "k must be at least 2; got 1. At k=1 the release would be the raw data."),
        ("k", -5, "k must be at least 2; got -5"),
        ("k", 3.0, "k must be an integer; got a value of type float"),
        ("k", None, "k must be an integer; got a value of type NoneType"),
        ("min_owners", -1, "min_owners must be at least 0; got -1. 0 turns it off"),
        ("min_owners", 2.5, "min_owners must be an integer"),
        ("seed", -1, "seed must be at least 0; got -1."),
        ("seed", None, "seed must be an integer"),
        ("method", "fast", "method must be one of best, paper; got 'fast'"),
        ("method", None, "method must be one of best, paper"),
        ("operations", "flips", "operations must be one of both, additions, deletions; got 'flips"),
        ("operations", ["both"], "operations must be one of .*; got a value of type list"),
        ("grouper", "kmeans", "grouper must be one of star, .*; got 'kmeans'"),
        ("grouper", 7, "grouper must be one of star, .*; got a value of type int"),
        ("p", 0, "p must be from 1 to 4; got 0"),
        ("p", 5, "p must be from 1 to 4; got 5"),
        ("identity", "same", "identity must be one of exact, minhash; got 'same'"),
        ("spelling", "best", "spelling must be one of common, as_typed; got 'best'"),
        ("format", "csv", "format must be one of queries, edited, sets; got 'csv'"),
        ("secret", b"", "secret must be 1 to 64 bytes."),
        ("secret", b"s" * 65, "secret must be 1 to 64 bytes."),
        ("secret", "text", "secret must be 1 to 64 bytes; got text. Encode it."),
    ],
)
def test_values_out_of_range_are_refused_by_name(name, value, message):
    with pytest.raises(InvalidParameterError, match=message):
        ReleaseParams(**{"k": 2, name: value})


@pytest.mark.parametrize(
    ("name", "choices"), [("method", METHODS), ("operations", OPERATIONS), ("grouper", GROUPERS)]
)
def test_every_choice_is_accepted_and_the_error_lists_all(name, choices):
    for choice in choices:
        assert getattr(Params(2, **{name: choice}), name) == choice
    with pytest.raises(InvalidParameterError) as caught:
        Params(2, **{name: "none of them"})
    assert ", ".join(choices) in str(caught.value)


CHECKED = [
    field.name
    for field in dataclasses.fields(ReleaseParams)
    if field.name not in {"measure", "tokenizer"}
]


@pytest.mark.parametrize("name", CHECKED)
def test_error_does_not_contain_data_passed_as_a_parameter(name):
    with pytest.raises(InvalidParameterError) as caught:
        ReleaseParams(**{"k": 2, name: ["canary-7f3a"]})
    assert "canary" not in str(caught.value)


def test_default_of_min_owners_follows_k():
    params = Params(3)
    assert dataclasses.replace(params, k=7).required_owners == 7
    assert dataclasses.replace(params, min_owners=0, k=7).required_owners == 0


def test_params_are_frozen_picklable_and_comparable():
    params = Params(3, min_owners=np.int64(4), seed=np.int64(5))
    with pytest.raises(dataclasses.FrozenInstanceError):
        params.k = 1
    assert pickle.loads(pickle.dumps(params)) == params == Params(3, min_owners=4, seed=5)  # noqa: S301


@pytest.mark.parametrize("value", [0, 5, -1, 10**30])
def test_p_must_be_from_1_to_4(value):
    with pytest.raises(InvalidParameterError, match=f"p must be from 1 to 4; got {value}"):
        ReleaseParams(2, p=value)


@pytest.mark.parametrize("value", [True, "2", 2.0, None, [2]])
def test_p_of_another_type_is_refused_by_type_name(value):
    with pytest.raises(InvalidParameterError, match=f"value of type {type(value).__name__}"):
        ReleaseParams(2, p=value)


def test_p_is_stored_as_a_plain_integer():
    assert type(ReleaseParams(2, p=np.int8(3)).p) is int


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("identity", "exact, minhash"),
        ("spelling", "common, as_typed"),
        ("format", "queries, edited, sets"),
        ("method", "best, paper"),
    ],
)
@pytest.mark.parametrize("value", ["", "SETS", None, 1, ["sets"], b"sets"])
def test_invalid_choices_are_refused_with_the_list_of_choices(name, choices, value):
    with pytest.raises(InvalidParameterError, match=f"^{name} must be one of {choices}; got "):
        ReleaseParams(2, **{name: value})


@pytest.mark.parametrize(
    "secret", [b"", b"canary" * 11, "canary", bytearray(b"canary"), None, 7, ["canary"]]
)
def test_invalid_secrets_are_refused_and_not_shown(secret):
    with pytest.raises(
        InvalidParameterError, match=r"^secret must be 1 to 64 bytes(; got text\. Encode it)?\.$"
    ):
        ReleaseParams(2, secret=secret)


def test_secrets_of_1_and_64_bytes_are_accepted_and_not_in_the_repr():
    for secret in (b"\xe9", b"canary" * 10 + b"four"):
        params = ReleaseParams(2, secret=secret)
        assert params.secret == secret
        assert "canary" not in repr(params)
        assert "secret" not in repr(params)


def test_a_random_secret_is_generated_each_time_and_kept_by_replace():
    first, second = ReleaseParams(2), ReleaseParams(2)

    assert len(first.secret) == len(second.secret) == 32
    assert first.secret != second.secret
    assert dataclasses.replace(first, k=3).secret == first.secret


def test_combinations_are_typed_by_default_if_each_query_is_a_record():
    """The repeated query of one user may be the majority of a group."""
    assert Params(3).combinations == "any"
    for unit, combinations in (("thread", "any"), ("session", "any"), ("query", "typed")):
        assert ReleaseParams(3, unit=unit).combinations == combinations
    assert ReleaseParams(3, unit="query", combinations="any").combinations == "any"
