"""Thread ids: unique, keyed, sorted, and different for other data or parameters."""

from hashlib import shake_256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core import ReleaseParams, anonymize_log
from setanon_core.pipeline.log import threads_of_log
from setanon_core.pipeline.thread_ids import fingerprint, id_order, thread_ids

SECRET = b"for tests only"


def hex_ids(n, key):
    return [digest.tobytes().hex() for digest in thread_ids(n, key)]


@given(st.integers(0, 50), st.binary(min_size=32, max_size=32))
def test_ids_are_32_distinct_hexadecimal_digits_that_depend_on_the_key(n, key):
    ids = hex_ids(n, key)

    assert len(set(ids)) == n
    assert all(len(thread_id) == 32 for thread_id in ids)
    assert ids == hex_ids(n, key)
    assert set(ids).isdisjoint(hex_ids(n, bytes([key[0] ^ 1]) + key[1:]))


def test_ids_are_parts_of_one_hash_of_the_key():
    digits = shake_256(b"key").hexdigest(32)
    assert hex_ids(2, b"key") == [digits[:32], digits[32:]]


@given(st.integers(0, 50))
def test_ids_are_ordered_by_their_digits(n):
    ids = hex_ids(n, b"s")
    assert [ids[position] for position in id_order(thread_ids(n, b"s"))] == sorted(ids)


def test_releases_of_other_data_or_parameters_have_no_id_in_common():
    users = [f"u{n}" for n in range(6)]
    logs = [
        [(user, 1, first if n < 3 else second) for n, user in enumerate(users)]
        for first, second in (("red", "green"), ("blue", "yellow"), ("green", "red"))
    ]

    def ids_of(log, k):
        return set(anonymize_log(log, k, secret=SECRET).release.thread_ids)

    ids = [ids_of(log, k) for log in logs for k in (2, 3)]

    assert sum(map(len, ids)) == len(set().union(*ids)) == 36
    # The order of the rows makes no difference.
    assert ids_of(logs[0][::-1], 2) == ids[0]


@pytest.mark.parametrize("other", ["apple pine", "pine straw", "straw", "apple"])
def test_every_keyword_of_every_thread_changes_the_fingerprint(other):
    params = ReleaseParams(2)
    rows = [("ann", 1, "pine"), ("bob", 1, "apple pine straw")]
    changed = [("ann", 1, other), *rows[1:]]

    first, second = (fingerprint(threads_of_log(log, params)) for log in (rows, changed))

    assert first != second
    assert first == fingerprint(threads_of_log(rows[::-1], params))
