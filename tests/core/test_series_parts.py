"""The parts of a series: which records are chosen, owners, hashes of names, and the state."""

from collections import defaultdict
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import MalformedInputError, Series
from setanon_core.columns.sets import Sets
from setanon_core.series.choose import bar, choose, record_losses
from setanon_core.series.name_hashes import item_hashes, own_user_hashes, user_hashes
from setanon_core.series.owners import Owners

SECRET = b"for tests only"
row = st.tuples(
    st.integers(-1, 3), st.integers(0, 4), st.sampled_from([0.0, 0.1, 0.5, 1.5]), st.integers(0, 5)
)


def columns_of(rows):
    labels, users, losses, ages = zip(*rows, strict=True)
    return np.array(labels), np.array(users), np.array(losses, float), np.array(ages)


@given(st.lists(row, min_size=1, max_size=20), st.integers(2, 3), st.integers(0, 4))
@settings(max_examples=300)
def test_chosen_members_have_k_users_and_no_time_is_exceeded(rows, k, hold):
    labels, users, losses, ages = columns_of(rows)
    for label in range(4):  # a grouping has k users in each group
        if 0 < len(set(users[labels == label])) < k:
            labels[labels == label] = -1
    chosen = choose(labels, users, losses, ages, k=k, hold=hold)

    assert not chosen[labels < 0].any()
    assert chosen[(labels >= 0) & (ages >= hold)].all()
    for label in set(labels[chosen].tolist()):
        members = labels == label
        assert len(set(users[members & chosen])) >= k
        # Fillers are only those that are needed, and members that lose little.
        ready = members & ((losses <= bar(ages, hold)) | (ages >= hold))
        if len(set(users[ready])) >= k:
            assert (losses[members & chosen & ~ready] <= 0.4).all()


def test_a_new_record_is_published_if_it_loses_nothing_and_held_otherwise():
    labels, users, ages = np.zeros(4, int), np.arange(4), np.zeros(4, int)

    def chosen(losses):
        return choose(labels, users, np.array(losses), ages, k=2, hold=4).tolist()

    assert chosen([0, 0.5, 0, 0.5]) == [True, False, True, False]
    assert chosen([0, 0.5, 0.5, 0.5]) == [False] * 4
    # Two would remain alone: they are published if they lose little.
    assert chosen([0, 0, 0, 0.4]) == [True] * 4
    assert chosen([0, 0, 0, 0.41]) == [True, True, True, False]


def test_a_record_whose_time_is_over_takes_the_cheapest_and_oldest_along():
    labels, users = np.zeros(5, int), np.array([0, 0, 1, 2, 3])
    losses = np.array([0.9, 0.5, 0.8, 0.5, 0.5])
    ages = np.array([4, 3, 0, 0, 1])

    chosen = choose(labels, users, losses, ages, k=2, hold=4)

    assert chosen.tolist() == [True, False, False, False, True]


def test_losses_are_flips_per_item():
    sets = Sets(np.array([0, 1, 0, 2, 3]), np.array([0, 2, 4, 4, 5]))
    centers = Sets(np.array([0, 1]), np.array([0, 2]))
    losses = record_losses(sets, np.array([0, 0, 0, -1]), centers)

    assert losses.tolist() == [0, 1, 2, 1]


pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), max_size=20)


@given(st.lists(pairs, max_size=5), st.integers(0, 4))
@settings(max_examples=200)
def test_owners_are_counted_up_to_the_least_number(all_parts, least):
    items = item_hashes(range(7), SECRET)
    users = user_hashes(range(6), "exact", SECRET)
    owners, seen = Owners.none(least), defaultdict(set)
    for each in all_parts:
        item, user = (np.array([pair[n] for pair in each], int) for n in range(2))
        owners = owners.add(items[item], users[user], SECRET)
        for one, other in each:
            seen[one].add(other)
        assert owners.count(items).tolist() == [min(len(seen[n]), least) for n in range(7)]
        assert (np.diff(owners.items.astype(object)) >= 0).all()
        # An item remembers fewer than `least` owners, and none once it has enough.
        assert len(owners.items) == sum(len(s) for s in seen.values() if len(s) < least)


def test_spellings_of_a_user_have_one_hash_and_types_differ():
    users = user_hashes(["Ann", "ann ", "bob", 1, np.int64(1), "1"], "folded", SECRET)
    assert users[0] == users[1]
    assert users[3] == users[4]
    assert len(set(users.tolist())) == 4
    assert user_hashes(["Ann", "ann"], "exact", SECRET).tolist() != users[:2].tolist()
    assert user_hashes([0], "exact", SECRET) != item_hashes([0], SECRET)
    assert user_hashes([0], "exact", SECRET) != own_user_hashes(0, 1, SECRET)
    assert user_hashes([0], "exact", SECRET) != user_hashes([0], "exact", b"another secret")


def state_of(**parameters):
    series = Series(2, hold=3, secret=SECRET, **parameters)
    series.add([{"tea", 7}, {"tea", "\ud800"}, {"rum"}], ["ann", "bob", "cem"])
    return series.to_bytes()


def test_a_changed_shortened_or_extended_state_is_refused():
    state = state_of()
    for changed in (
        *(state[:length] for length in range(len(state))),
        *(state[:n] + bytes([state[n] ^ 1]) + state[n + 1 :] for n in range(len(state))),
        state + b"\0",
    ):
        with pytest.raises(MalformedInputError, match=r"^the state of a series must .*\."):
            Series.from_bytes(changed, secret=SECRET)


@pytest.mark.parametrize(
    ("state", "secret", "error"),
    [
        (state_of(), b"another secret", "with the same secret"),
        (state_of().replace(b"series 1", b"series 2", 1), SECRET, "must have version 1"),
        (b"", SECRET, "must begin with 'setanon series 1'"),
        ("text", SECRET, "must be bytes; got a value of type str"),
    ],
)
def test_the_error_says_what_is_wrong_with_a_state(state, secret, error):
    with pytest.raises(MalformedInputError, match=error):
        Series.from_bytes(state, secret=secret)


def test_the_parameters_are_part_of_the_state():
    given_parameters = {"min_owners": 1, "operations": "deletions", "user_names": "confusable"}
    series = Series.from_bytes(state_of(**given_parameters), secret=SECRET)

    assert {name: getattr(series.params, name) for name in given_parameters} == given_parameters
    assert (series.params.k, series.params.hold, series.held) == (2, 3, 3)


def test_the_format_of_the_state_is_pinned():
    assert sha256(state_of()).hexdigest()[:16] == "a6110c2bb6bb0060"
