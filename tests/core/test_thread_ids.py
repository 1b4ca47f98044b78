"""Thread ids: unique, keyed, sorted, and different for other data or parameters."""

from dataclasses import fields, replace
from hashlib import shake_256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core import Baskets, ReleaseParams, anonymize_log
from setanon_core.pipeline.baskets import threads_of_baskets
from setanon_core.pipeline.group_threads import group_threads
from setanon_core.pipeline.log import threads_of_log
from setanon_core.pipeline.thread_ids import (
    NOT_HASHED,
    assign_thread_ids,
    fingerprint,
    id_order,
    release_key,
    thread_ids,
)

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


OTHER = {
    "k": 3,
    "method": "paper",
    "grouper": "star",
    "operations": "deletions",
    "min_owners": 1,
    "seed": 1,
    "p": 3,
    "identity": "minhash",
    "secret": b"another",
}


@pytest.mark.parametrize("parameter", [*OTHER, "spelling"])
def test_the_key_depends_on_the_secret_and_on_all_parameters_that_change_groups(parameter):
    params = ReleaseParams(2, secret=SECRET, format="edited")
    changed = replace(params, **{parameter: OTHER.get(parameter, "as_typed")})

    keys = {release_key(params, b"data"), release_key(changed, b"data")}

    assert len(keys) == (1 if parameter == "spelling" else 2)
    assert release_key(params, b"data") != release_key(params, b"other data")


def test_every_parameter_is_hashed_or_listed_as_not_hashed():
    names = {field.name for field in fields(ReleaseParams)}

    assert names >= NOT_HASHED
    assert names >= OTHER.keys()
    assert not (OTHER.keys() - {"secret"}) & NOT_HASHED


def test_ids_with_equal_first_halves_are_ordered_by_their_second_halves():
    rows = [[7] * 8 + [n] * 8 for n in (5, 255, 0, 128)] + [[1] * 16, [255] * 16]
    ids = np.array(rows, np.uint8)

    ordered = ids[id_order(ids)].tolist()

    assert ordered == sorted(rows)


ROWS = [("ann", 1, "pine"), ("ann", 2, "red wine"), ("bob", 1, "pine"), ("cem", 1, "pine")]


@pytest.mark.parametrize(
    "changed",
    [
        [("dora", 1, "pine"), ("dora", 2, "red wine"), *ROWS[2:]],  # another name
        [("ann", 1, "pine"), ("bob", 1, "pine"), ("bob", 2, "red wine"), ("cem", 1, "pine")],
        [*ROWS, ("cem", 2, "red wine")],  # one more thread
        [("ann", 1, "red wine"), ("ann", 2, "pine"), *ROWS[2:]],  # threads in another order
        [*ROWS[:3], ("cem", 1, "pine pine")],  # a repeated keyword
    ],
)
def test_users_and_their_threads_change_the_fingerprint(changed):
    params = ReleaseParams(2)

    assert fingerprint(threads_of_log(ROWS, params)) != fingerprint(threads_of_log(changed, params))


def test_the_names_of_baskets_change_the_fingerprint():
    table = {"item": ["tea", "tea"], "user": ["ann", "bob"]}
    baskets = [
        Baskets.from_data({**table, "record": names}, user="user")
        for names in (["r1", "r2"], ["r1", "r3"], ["r2", "r1"])
    ]

    first, second, third = (fingerprint(threads_of_baskets(each)) for each in baskets)

    assert first != second
    assert first == third


def test_published_threads_are_in_the_order_of_their_ids():
    log = [(f"u{n}", 1, "pine") for n in range(20)] + [("v", 1, "unique")]
    params = ReleaseParams(2, secret=SECRET)
    threads = threads_of_log(log, params)

    order, ids = assign_thread_ids(threads, group_threads(threads, params), params)

    assert sorted(order.tolist()) == list(range(20))
    assert ids.tolist() == sorted(ids.tolist())
    assert order.tolist() != sorted(order.tolist())
