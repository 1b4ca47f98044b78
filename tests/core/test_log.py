"""Releases of random logs: k-anonymity, invariance, pinned digests, refused input."""

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import (
    InvalidParameterError,
    Log,
    MalformedInputError,
    NotAnonymousError,
    ReleaseParams,
    anonymize_log,
    tokenize,
    verify,
)

SECRET = b"for tests only"
WORDS = ["red", "green", "blue", "lamp", "desk", "chair", "oslo", "rome"]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.integers(0, 5),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    ),
    min_size=1,
    max_size=25,
)


def released(rows, **params):
    return anonymize_log(rows, **{"k": 2, "secret": SECRET, **params})


def sets_of(release):
    sets = {}
    for thread_id, query in zip(release.thread_ids, release.queries, strict=True):
        sets.setdefault(thread_id, set()).update(tokenize(query))
    return sets


def random_log(n=400):
    rng = np.random.default_rng(5)
    topics = (12 * rng.random(n) ** 2).astype(int)
    return [
        (f"u{rng.integers(n // 4)}", int(rng.integers(10**6)), f"topic{t} word{t}{rng.integers(3)}")
        for t in topics
    ]


@settings(max_examples=60)
@given(ROWS, st.sampled_from(["best", "paper"]), st.sampled_from(["exact", "minhash"]))
def test_published_texts_are_k_anonymous_with_the_users_of_the_ledger(rows, method, identity):
    result = released(rows, method=method, identity=identity)
    sets, ledger, cost = sets_of(result.release), result.ledger, result.cost

    assert list(sets) == list(ledger.thread_ids) == sorted(sets)
    assert verify(list(sets.values()), 2, users=ledger.users).ok
    assert cost.threads == len(sets) + cost.certificate.cost.withdrawals
    assert set(ledger.users) <= {user for user, _, _ in rows}


@settings(max_examples=30)
@given(ROWS)
def test_sessions_publish_one_thread_per_user_and_queries_one_query_per_thread(rows):
    sessions, queries = released(rows, unit="session"), released(rows, unit="query")

    assert sessions.cost.threads == len({user for user, _, _ in rows})
    assert len(set(sessions.ledger.users)) == len(sessions.ledger.users)
    assert queries.cost.threads == len(rows)
    assert set(queries.release.positions) <= {0}
    for each in (sessions, queries):
        assert verify(list(sets_of(each.release).values()), 2, users=each.ledger.users).ok


def test_repeated_query_of_one_user_is_not_the_set_of_a_group_of_queries():
    rows = [(0, n, "green lamp") for n in range(9)]
    rows += [(user, 0, word) for user in (1, 2, 3) for word in ("green", "lamp")]

    by_majority = released(rows, k=3, unit="query", combinations="any").release
    typed = released(rows, k=3, unit="query").release

    assert "green lamp" in by_majority.queries
    assert set(typed.queries) <= {"green", "lamp"}


@settings(max_examples=40)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_with_different_times_makes_no_difference(rows, random):
    rows = [(user, position, query) for position, (user, _, query) in enumerate(rows)]
    shuffled = random.sample(rows, len(rows))

    first, second = released(rows).release, released(shuffled).release

    assert sorted(map(sorted, sets_of(first).values())) == sorted(
        map(sorted, sets_of(second).values())
    )


@pytest.mark.parametrize("method", ["best", "paper"])
def test_another_secret_changes_only_the_ids(method):
    first = released(random_log(200), method=method, secret=b"one").release
    second = released(random_log(200), method=method, secret=b"two").release

    assert set(first.thread_ids).isdisjoint(second.thread_ids)
    assert sorted(first.queries) == sorted(second.queries)


def test_only_the_most_common_spelling_of_a_group_is_published():
    rows = [(n, 0, "listen") for n in range(3)] + [(3, 0, "silent"), (4, 0, "silent")]

    result = released(rows, k=3, identity="minhash")

    assert set(result.release.queries) == {"listen"}
    assert result.cost.respellings == 2


@pytest.mark.parametrize(
    ("params", "pinned"),
    [
        ({}, "146eff0b71e3b6f6"),
        ({"format": "edited"}, "74aed288cb32e370"),
        ({"format": "edited", "method": "paper"}, "127203bd27a57481"),
        ({"format": "edited", "min_owners": 0, "k": 3}, "21aace810980a2dd"),
    ],
)
def test_releases_are_byte_identical_to_the_pinned_digests(params, pinned):
    release = released(random_log(), **params).release
    rows = zip(release.thread_ids, release.positions, release.queries, strict=True)

    digest = sha256("\n".join("\t".join(map(str, row)) for row in rows).encode()).hexdigest()
    assert digest[:16] == pinned


def test_a_tokenizer_that_does_not_return_its_own_keywords_is_refused():
    """It splits "abcd" into "ab" and "cd", but "ab cd" into other keywords each time."""
    rows = [(0, 0, "abcd"), (1, 0, "abcd"), (2, 0, "abcd"), (3, 0, "xy")]
    numbers = iter(range(100))

    def inconsistent(query):
        return [query[:2], query[2:]] if " " not in query else [query, str(next(numbers))]

    with pytest.raises(NotAnonymousError, match="A tokenizer must return its own keywords"):
        released(rows, tokenizer=inconsistent, format="edited")


def test_different_users_with_the_same_text_are_refused():
    rows = [(user, 0, "the same") for user in (1, "1", 2)]

    with pytest.raises(MalformedInputError, match="users and records must differ when written"):
        released(rows)


def test_invalid_input_is_refused_without_showing_it():
    with pytest.raises(InvalidParameterError, match="p must be from 1 to 4"):
        anonymize_log([], 2, p=5)
    with pytest.raises(InvalidParameterError, match="secret must be 1 to 64 bytes"):
        anonymize_log([], 2, secret=b"")
    with pytest.raises(MalformedInputError, match="one user for each record") as error:
        anonymize_log(Log(["canary"], [1, 2], ["x", "y"]), 2)
    assert "canary" not in str(error.value)
    assert b"canary" not in repr(ReleaseParams(2, secret=b"canary")).encode()
