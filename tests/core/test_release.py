"""What may be asked of a release, and the last look at it: whatever was tampered with is seen."""

from dataclasses import replace
from hashlib import shake_256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_core.model.inputs import Log
from setanon_core.model.publication import Ledger, QueryRelease, SetRelease
from setanon_core.params import FORMATS, ReleaseParams
from setanon_core.pipeline.build_threads import require_distinct_texts
from setanon_core.pipeline.log import release_log
from setanon_core.pipeline.release_texts import require_anonymous, verify_release
from setanon_core.pipeline.thread_ids import id_order, thread_ids

SECRET = b"for tests only"
ROWS = [
    *((f"a{n}", n, "pine straw") for n in range(3)),
    *((f"b{n}", n, "humane society shelter") for n in range(4)),
    ("a0", 9, "humane society shelter"),
]


def ledger_of(names, users):
    return Ledger(thread_ids=tuple(names), threads=tuple(range(len(names))), users=tuple(users))


def released(format_, k=3):
    params = ReleaseParams(k, format=format_, secret=SECRET)
    result = release_log(Log.from_rows(ROWS), params)
    return result.release, result.ledger, params


def with_text(release, place, words):
    """The same release with other words in one thread."""
    if isinstance(release, SetRelease):
        texts = [*release.keywords]
        texts[place] = tuple(sorted(words))
        return replace(release, keywords=tuple(texts))
    texts = [*release.queries]
    texts[place] = " ".join(words)
    return replace(release, queries=tuple(texts))


def words_at(release, place):
    if isinstance(release, SetRelease):
        return list(release.keywords[place])
    return release.queries[place].split()


def without(release, ledger, places):
    """Release and ledger without some threads."""
    gone = {release.thread_ids[place] for place in places}
    rows = [n for n, name in enumerate(release.thread_ids) if name not in gone]
    kept = {
        field: tuple(getattr(release, field)[n] for n in rows)
        for field in release.__slots__
        if field != "constructor"
    }
    lines = [n for n, name in enumerate(ledger.thread_ids) if name not in gone]
    names, users = ([column[n] for n in lines] for column in (ledger.thread_ids, ledger.users))
    return type(release)(**kept), ledger_of(names, users)


@pytest.mark.parametrize("value", [0, 5, -1, 10**30])
def test_p_is_from_1_to_4(value):
    with pytest.raises(InvalidParameterError, match=f"p must be from 1 to 4; got {value}"):
        ReleaseParams(2, p=value)


@pytest.mark.parametrize("value", [True, "2", 2.0, None, [2]])
def test_p_that_is_no_integer_is_refused_by_its_type(value):
    with pytest.raises(InvalidParameterError, match=f"value of type {type(value).__name__}"):
        ReleaseParams(2, p=value)


def test_p_of_another_integer_type_becomes_a_plain_one():
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
def test_choices_are_listed_where_none_of_them_was_made(name, choices, value):
    with pytest.raises(InvalidParameterError, match=f"^{name} must be one of {choices}; got "):
        ReleaseParams(2, **{name: value})


@pytest.mark.parametrize("k", [1, 0, True, "3", 2.0])
def test_k_is_checked_as_everywhere(k):
    with pytest.raises(InvalidParameterError, match=r"^k must be"):
        ReleaseParams(k)


@pytest.mark.parametrize(
    "secret", [b"", b"canary" * 11, "canary", bytearray(b"canary"), None, 7, ["canary"]]
)
def test_a_secret_out_of_range_is_refused_and_not_shown(secret):
    with pytest.raises(InvalidParameterError, match=r"^secret must be 1 to 64 bytes\.$"):
        ReleaseParams(2, secret=secret)


def test_secrets_of_1_and_64_bytes_do_and_are_not_in_the_repr():
    for secret in (b"\xe9", b"canary" * 10 + b"four"):
        params = ReleaseParams(2, secret=secret)
        assert params.secret == secret
        assert "canary" not in repr(params)
        assert "secret" not in repr(params)


def test_a_fresh_secret_is_made_each_time_and_kept_by_replace():
    one, two = ReleaseParams(2), ReleaseParams(2)

    assert len(one.secret) == len(two.secret) == 32
    assert one.secret != two.secret
    assert replace(one, k=3).secret == one.secret


def test_a_ledger_does_not_show_its_users():
    assert "canary" not in repr(ledger_of(["0" * 32], ["canary"]))


def hexadecimal(n, key):
    return [digest.tobytes().hex() for digest in thread_ids(n, key)]


@given(st.integers(0, 50), st.binary(min_size=32, max_size=32))
def test_ids_are_32_hexadecimal_digits_distinct_and_of_their_key_alone(n, key):
    ids = hexadecimal(n, key)

    assert len(set(ids)) == n
    assert all(len(name) == 32 for name in ids)
    assert ids == hexadecimal(n, key)
    assert set(ids).isdisjoint(hexadecimal(n, bytes([key[0] ^ 1]) + key[1:]))


def test_ids_are_a_keyed_hash_that_anybody_can_make_who_has_the_key():
    digits = shake_256(b"key").hexdigest(32)
    assert hexadecimal(2, b"key") == [digits[:32], digits[32:]]


@given(st.integers(0, 50))
def test_the_order_of_ids_is_that_of_their_digits(n):
    ids = hexadecimal(n, b"s")
    assert [ids[at] for at in id_order(thread_ids(n, b"s"))] == sorted(ids)


def test_names_that_are_alike_are_refused_and_not_shown():
    with pytest.raises(MalformedInputError, match="must differ when written as text") as error:
        require_distinct_texts(["canary", "other", "canary"])
    assert "canary" not in str(error.value)


@pytest.mark.parametrize("format_", FORMATS)
def test_an_untouched_release_is_fine(format_):
    verdict = verify_release(*released(format_))

    assert verdict.ok
    assert (verdict.records, verdict.groups, verdict.smallest_group) == (8, 2, 3)


@settings(max_examples=30)
@given(st.sampled_from(FORMATS), st.data())
def test_a_word_dropped_from_one_thread_is_noticed(format_, data):
    release, ledger, params = released(format_)
    place = data.draw(st.integers(0, len(release.thread_ids) - 1))
    words = words_at(release, place)
    words.remove(data.draw(st.sampled_from(words)))

    verdict = verify_release(with_text(release, place, words), ledger, params)

    assert not verdict.ok
    with pytest.raises(NotAnonymousError):
        require_anonymous(verdict, params)


@settings(max_examples=30)
@given(st.sampled_from(FORMATS), st.integers(0, 7), st.sampled_from(["pine", "shelter", "canary"]))
def test_a_foreign_word_in_one_thread_is_noticed_and_not_shown(format_, place, word):
    release, ledger, params = released(format_)
    words = words_at(release, place)
    mutant = with_text(release, place, sorted({*words, word}))

    verdict = verify_release(mutant, ledger, params)

    assert verdict.ok == (word in words)
    if not verdict.ok:
        with pytest.raises(NotAnonymousError) as error:
            require_anonymous(verdict, params)
        assert "canary" not in str(error.value)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_thread_given_to_another_user_of_its_group_is_noticed(format_):
    release, ledger, params = released(format_)
    users = list(ledger.users)
    users[users.index("a1")] = "a2"

    verdict = verify_release(release, replace(ledger, users=tuple(users)), params)

    assert (verdict.ok, verdict.smallest_group, verdict.violations) == (False, 2, 3)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("k", [2, 3])
def test_threads_removed_until_a_group_has_too_few_users_are_noticed(format_, k):
    release, ledger, params = released(format_, k)
    own = [place for place in range(8) if "pine" in words_at(release, place)]
    assert len(own) == 3

    for gone in range(len(own)):
        verdict = verify_release(*without(release, ledger, own[:gone]), params)
        assert verdict.ok == (len(own) - gone >= k)
    assert verify_release(*without(release, ledger, own), params).ok


@pytest.mark.parametrize(
    "release",
    [QueryRelease(("x",), (0,), ("pine",)), SetRelease(("x",), (("pine",),))],
)
def test_fewer_threads_in_the_release_than_in_the_ledger_do_not_help_a_lonely_one(release):
    ledger = ledger_of(["x", "y"], ["ann", "bob"])

    assert not verify_release(release, ledger, ReleaseParams(2)).ok


def test_texts_in_which_the_tokenizer_finds_nothing_are_not_thereby_alike():
    release, ledger = QueryRelease(("x", "y"), (0, 0), ("pine", "tea")), ledger_of("xy", "uv")

    assert not verify_release(release, ledger, ReleaseParams(2, tokenizer=lambda _: [])).ok
