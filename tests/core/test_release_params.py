"""`ReleaseParams`: ranges, choices and the secret."""

from dataclasses import replace

import numpy as np
import pytest

from setanon_core import InvalidParameterError, ReleaseParams


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
        ("format", "queries, sets"),
        ("method", "best, paper"),
    ],
)
@pytest.mark.parametrize("value", ["", "SETS", None, 1, ["sets"], b"sets"])
def test_invalid_choices_are_refused_with_the_list_of_choices(name, choices, value):
    with pytest.raises(InvalidParameterError, match=f"^{name} must be one of {choices}; got "):
        ReleaseParams(2, **{name: value})


@pytest.mark.parametrize("k", [1, 0, True, "3", 2.0])
def test_invalid_k_is_refused(k):
    with pytest.raises(InvalidParameterError, match=r"^k must be"):
        ReleaseParams(k)


@pytest.mark.parametrize(
    "secret", [b"", b"canary" * 11, "canary", bytearray(b"canary"), None, 7, ["canary"]]
)
def test_invalid_secrets_are_refused_and_not_shown(secret):
    with pytest.raises(InvalidParameterError, match=r"^secret must be 1 to 64 bytes\.$"):
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
    assert replace(first, k=3).secret == first.secret
