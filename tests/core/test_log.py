"""From a log to a release: laws that hold whatever the log."""

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import InvalidParameterError, MalformedInputError, NotAnonymousError, verify
from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.inputs import Log
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.log import anonymize_log

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


def anonymized(rows, **knobs):
    result = anonymize_log(rows, **{"k": 2, "secret": SECRET, **knobs})
    return result.release, result.ledger, result.cost


def sets_of(release):
    sets = {}
    for thread, query in zip(release.thread_ids, release.queries, strict=True):
        sets.setdefault(thread, set()).update(tokenize(query))
    return sets


def made_up_log(n=400):
    rng = np.random.default_rng(5)
    topic = (12 * rng.random(n) ** 2).astype(int)
    return [
        (f"u{rng.integers(n // 4)}", int(rng.integers(10**6)), f"topic{t} word{t}{rng.integers(3)}")
        for t in topic
    ]


@settings(max_examples=60)
@given(ROWS, st.sampled_from(["best", "paper"]), st.sampled_from(["exact", "minhash"]))
def test_published_texts_alone_are_k_anonymous_with_the_ledger(rows, method, identity):
    release, ledger, cost = anonymized(rows, method=method, identity=identity)
    sets = sets_of(release)

    assert list(sets) == list(ledger.thread_ids) == sorted(sets)
    assert verify(list(sets.values()), 2, users=ledger.users).ok
    assert cost.threads == len(sets) + cost.certificate.cost.withdrawals
    assert set(ledger.users) <= {user for user, _, _ in rows}


@settings(max_examples=40)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_with_different_times_does_not_matter(rows, random):
    rows = [(user, place, query) for place, (user, _, query) in enumerate(rows)]
    shuffled = random.sample(rows, len(rows))

    first, second = anonymized(rows)[0], anonymized(shuffled)[0]

    assert sorted(map(sorted, sets_of(first).values())) == sorted(
        map(sorted, sets_of(second).values())
    )


@pytest.mark.parametrize("method", ["best", "paper"])
def test_another_secret_changes_the_ids_and_nothing_else(method):
    one = anonymized(made_up_log(), method=method, secret=b"one")[0]
    two = anonymized(made_up_log(), method=method, secret=b"two")[0]

    assert set(one.thread_ids).isdisjoint(two.thread_ids)
    assert sorted(one.queries) == sorted(two.queries)


def test_no_spelling_but_the_most_common_of_its_group_is_published():
    rows = [(n, 0, "listen") for n in range(3)] + [(3, 0, "silent"), (4, 0, "silent")]

    release, _, cost = anonymized(rows, k=3, identity="minhash")

    assert set(release.queries) == {"listen"}
    assert cost.respellings == 2


@pytest.mark.parametrize(
    ("knobs", "pinned"),
    [
        ({}, "6389b8b554ceaa0d"),
        ({"method": "paper"}, "2d37286cd6b2ada9"),
        ({"min_owners": 0, "k": 3}, "f927a0d20bdab113"),
    ],
)
def test_the_same_log_parameters_and_secret_give_the_same_release(knobs, pinned):
    release, _, _ = anonymized(made_up_log(), **knobs)
    rows = zip(release.thread_ids, release.positions, release.queries, strict=True)

    digest = sha256("\n".join("\t".join(map(str, row)) for row in rows).encode()).hexdigest()
    assert digest[:16] == pinned


@pytest.mark.parametrize(
    ("rows", "published"),
    [
        ([("u", 1, "alone")], 0),
        ([("u", 1, "again"), ("u", 2, "again")], 0),
        ([(n, 0, "the same") for n in range(5)], 5),
        ([(n, -n, "\u05e9\u05dc\u05d5\u05dd \U0001f355 a\0b") for n in range(3)], 3),
        ([(n, 0, "") for n in range(3)], 0),
        ([(n, 0, " .. ") for n in range(3)], 0),
        ([(n, 0, " ".join(f"w{i}" for i in range(3_000))) for n in range(2)], 2),
    ],
)
def test_odd_logs(rows, published):
    assert len(anonymized(rows)[0].queries) == published


def test_a_tokenizer_that_does_not_find_its_own_keywords_again_is_refused():
    """Two letters at a time: of the published "ab cd" it would make "ab", " c" and "d"."""
    rows = [(0, 0, "abcd"), (1, 0, "abcd"), (2, 0, "abcd"), (3, 0, "xy")]
    numbers = iter(range(100))

    def unsteady(query):
        return [query[:2], query[2:]] if " " not in query else [query, str(next(numbers))]

    with pytest.raises(NotAnonymousError, match="A tokenizer must return its own keywords"):
        anonymized(rows, tokenizer=unsteady)


def test_users_that_are_written_alike_would_share_thread_ids_and_are_refused():
    rows = [(user, 0, "the same") for user in (1, "1", 2)]

    with pytest.raises(MalformedInputError, match="users and records must differ when written"):
        anonymized(rows)


def test_bad_input_is_refused_without_showing_it():
    with pytest.raises(InvalidParameterError, match="p must be from 1 to 4"):
        ReleaseParams(2, p=5)
    with pytest.raises(InvalidParameterError, match="secret must be 1 to 64 bytes"):
        ReleaseParams(2, secret=b"")
    with pytest.raises(MalformedInputError, match="one user for each record"):
        anonymize_log(Log(["canary"], [1, 2], ["x", "y"]), 2)
    assert b"canary" not in repr(ReleaseParams(2, secret=b"canary")).encode()
