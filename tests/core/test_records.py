"""`Records` from Python collections and from columns."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.errors import MalformedInputError

WORDS = st.text("abé\0", max_size=3)
NAMES = st.one_of(WORDS, st.integers(-3, 3), st.tuples(WORDS, WORDS), st.binary(max_size=2))
BASKETS = st.lists(st.lists(NAMES, max_size=5), max_size=10)


def decode(records):
    """Every record as the set of its items' names."""
    names = [records.vocabulary[item] for item in records.items]
    return [
        set(names[low:high])
        for low, high in zip(records.offsets[:-1], records.offsets[1:], strict=True)
    ]


@given(BASKETS)
def test_from_sets_preserves_sets_and_removes_repeats(baskets):
    records = Records.from_sets(baskets)
    assert decode(records) == [set(basket) for basket in baskets]
    assert len(records.items) == sum(len(set(basket)) for basket in baskets)


@given(BASKETS, st.randoms(use_true_random=False))
def test_vocabulary_does_not_depend_on_order_of_records_or_items(baskets, rng):
    shuffled = [rng.sample(basket, len(basket)) for basket in baskets]
    rng.shuffle(shuffled)
    assert Records.from_sets(baskets).vocabulary == Records.from_sets(shuffled).vocabulary


@given(st.lists(st.sets(WORDS)))
def test_items_of_one_type_are_numbered_in_sorted_order(baskets):
    records = Records.from_sets(baskets)
    assert list(records.vocabulary) == sorted(set().union(*baskets))


def test_frozenset_items_are_numbered_independently_of_input_order():
    parts = [frozenset("ab"), frozenset("a"), frozenset("bc"), frozenset("c"), frozenset()]
    expected = Records.from_sets([parts]).vocabulary
    for seed in range(10):
        shuffled = random.Random(seed).sample(parts, len(parts))  # noqa: S311 - no secret
        assert Records.from_sets([shuffled]).vocabulary == expected


def test_vocabulary_does_not_depend_on_the_hash_seed():
    program = (
        "from setanon_core.columns.records import Records\n"
        "parts = [frozenset('adeh'), frozenset('bcfg'), 'g', 1, (2, 'h')]\n"
        "records = Records.from_sets([set(parts), {'g', 1}])\n"
        "names = [sorted(n) if isinstance(n, frozenset) else n for n in records.vocabulary]\n"
        "output = f'{names} {records.items.tolist()}'\n"
    )
    in_process = {}
    exec(program, in_process)  # noqa: S102 - a third hash seed, without starting a process
    outputs = {
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", f"{program}print(output, end='')"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {in_process["output"]}


def test_from_sets_accepts_any_iterable_of_iterables():
    baskets = [{"a", "b"}, ("b",), ["a", "a"], frozenset(), {"b": 1, "c": 2}, (x for x in "ca")]
    records = Records.from_sets(basket for basket in baskets)
    assert decode(records) == [{"a", "b"}, {"b"}, {"a"}, set(), {"b", "c"}, {"a", "c"}]
    assert len(Records.from_sets([])) == 0
    assert Records.from_sets([[], []]).sizes.tolist() == [0, 0]


@given(st.lists(NAMES, max_size=8))
def test_users_are_numbered_by_first_appearance(users):
    records = Records.from_sets([()] * len(users), users)
    seen = list(dict.fromkeys(users))
    assert records.users.tolist() == [seen.index(user) for user in users]
    assert records.n_users == len(set(users))


@given(st.lists(st.integers(-5, 5), max_size=8))
def test_users_in_an_array_are_numbered_as_in_a_list(users):
    offsets = [0] * (len(users) + 1)
    from_list = Records.from_columns([], offsets, users)
    from_array = Records.from_columns([], offsets, np.asarray(users, np.int64))
    assert from_list.users.tolist() == from_array.users.tolist()


def test_without_users_every_record_has_its_own_user():
    records = Records.from_sets([["a"], ["a"], ["b"]])
    assert records.users.tolist() == [0, 1, 2]
    assert records.n_users == 3


@given(BASKETS)
def test_from_columns_equals_from_sets(baskets):
    values = [item for basket in baskets for item in basket]
    columns = Records.from_columns(values, np.cumsum([0, *map(len, baskets)]))
    sets = Records.from_sets(baskets)
    assert columns.vocabulary == sets.vocabulary
    assert columns.items.tolist() == sets.items.tolist()
    assert columns.offsets.tolist() == sets.offsets.tolist()


@pytest.mark.parametrize("values", [[30, 10, 30, 20], [3.5, -1.0, 3.5, 0.0], ["c", "a", "c", "b"]])
def test_from_columns_accepts_numpy_arrays_of_values(values):
    records = Records.from_columns(np.array(values), [0, 3, 4])
    assert records.vocabulary == tuple(sorted(set(values)))
    assert records.items.tolist() == [0, 2, 1]


def test_from_columns_distinguishes_a_number_from_its_string():
    assert Records.from_columns([1, "1"], [0, 1, 2]).vocabulary == (1, "1")


def test_from_columns_sorts_and_deduplicates_vocabulary_positions():
    records = Records.from_columns([2, 0, 2, 1], [0, 3, 4], vocabulary=["x", "y", "z"])
    assert decode(records) == [{"x", "z"}, {"y"}]
    assert records.items.tolist() == [0, 2, 1]


def test_input_columns_stay_writable():
    items, offsets, users = np.array([1, 0]), np.array([0, 1, 2]), np.array([5, 5])
    Records.from_columns(items, offsets, users, vocabulary="ab")
    items[0] = offsets[0] = users[0] = 0


def test_records_are_read_only_and_provide_sets_without_users():
    records = Records.from_sets([["a", "b"], ["b"]], ["u", "v"])
    for array in (records.items, records.offsets, records.users):
        assert not array.flags.writeable
    assert type(records.sets) is Sets
    assert records.sets.items.tolist() == [0, 1, 1]


CANARY = "canary-7f3a"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Records.from_sets([CANARY]), "record 0 must be a collection"),
        (lambda: Records.from_sets([["a"], CANARY.encode()]), "record 1 must be a collection"),
        (lambda: Records.from_sets([["a"], 7]), "got a value of type int"),
        (lambda: Records.from_sets([["a"], None]), "got a value of type NoneType"),
        (lambda: Records.from_sets([[[CANARY]]]), "record 0 must contain hashable"),
        (lambda: Records.from_sets([[CANARY, None]]), "no item may be missing"),
        (lambda: Records.from_sets([[float("nan")], [CANARY]]), "no item may be missing"),
        (lambda: Records.from_sets([[CANARY]], [CANARY, CANARY]), "2 users for 1 records"),
        (lambda: Records.from_sets([["a"]], [[CANARY]]), "users must be hashable"),
        (lambda: Records.from_sets([["a"]] * 3, [CANARY, None, None]), "2 have none"),
        (lambda: Records.from_sets([["a"]] * 2, [CANARY, float("nan")]), "1 have none"),
        (lambda: Records.from_columns([CANARY, None], [0, 2]), "no item may be missing"),
        (lambda: Records.from_columns([[CANARY]], [0, 1]), "every item must be hashable"),
        (lambda: Records.from_columns([CANARY], [0, 2]), "offsets must rise"),
        (lambda: Records.from_columns([CANARY], [CANARY]), "offsets must be one column"),
        (lambda: Records.from_columns([CANARY], [0, 1], None, [CANARY]), "items must be one"),
        (lambda: Records.from_columns([0.5], [0, 1], None, [CANARY]), "items must be one"),
        (lambda: Records.from_columns([1], [0, 1], None, [CANARY]), "vocabulary of 1"),
        (lambda: Records.from_columns([-1], [0, 1], None, [CANARY]), "vocabulary of 1"),
        (lambda: Records.from_columns([0], [0, 1], None, []), "vocabulary of 0"),
        (lambda: Records.from_columns(["a"], [0, 1], np.array([[1]])), "users must be one column"),
        (lambda: Records(*int64_arrays([1], [0, 1], [0, 0])), "2 users for 1 records"),
        (
            lambda: Records(*int64_arrays([1], [0, 1], [0]), (CANARY,)),
            "vocabulary of 1; the largest",
        ),
    ],
)
def test_malformed_input_is_refused_without_quoting_it(build, message):
    with pytest.raises(MalformedInputError, match=message) as refusal:
        build()
    error = refusal.value
    while error is not None:
        assert CANARY not in str(error)
        error = error.__cause__


def int64_arrays(*columns):
    return [np.asarray(column, np.int64) for column in columns]


@pytest.mark.parametrize("vocabulary", [["a", "a"], ["a", None], ["a", float("nan")], ["a", []]])
def test_vocabulary_with_repeated_or_missing_items_is_refused(vocabulary):
    with pytest.raises(MalformedInputError, match="vocabulary must"):
        Records.from_columns([0, 1], [0, 1, 2], None, vocabulary)


@pytest.mark.parametrize("user", [-1, 1 << 31])
def test_user_numbers_out_of_range_are_refused(user):
    with pytest.raises(MalformedInputError, match="users must be numbers from 0 to"):
        Records(*int64_arrays([1, 1], [0, 1, 2], [0, user]))


def test_repr_has_counts_only():
    records = Records.from_sets([{"tea", "milk"}, {"tea"}, {"rum"}], ["ann", "bea", "ann"])

    assert repr(records) == "Records(3 records, 2 users, 3 items)"
