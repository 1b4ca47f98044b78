"""Spellings of one user count once; different users stay different."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core import anonymize, anonymize_baskets, anonymize_log
from setanon_core.columns.user_names import (
    CONFUSABLE,
    PLAIN_NAME,
    fold_name,
    merge_spellings,
    other_spellings,
)

BOBS = [
    "bob", "Bob", "BOB", "b\u200bob", "\ufeffbob", "bob\u200e", "b\u00adob", " bob ",
    "\uff42\uff4f\uff42", "bob\ufe0f", "bo\u2060b", "\u202ebob", "bob\u2800",
]  # fmt: skip
"""Thirteen spellings."""

LOOK_ALIKE = "b\u043eb"
"""With a Cyrillic letter."""


def test_thirteen_spellings_are_one_user():
    assert {fold_name(name, "folded") for name in BOBS} == {"bob"}
    assert fold_name(LOOK_ALIKE, "folded") != "bob"
    assert fold_name(LOOK_ALIKE, "confusable") == "bob"
    assert fold_name("B\u043eB ", "exact") == "B\u043eB "


def test_different_names_stay_different():
    names = ["ann", "anna", "an n", "jos\u00e9", "jose", "user1", "userl", "u0", "uo", "\u0436"]
    assert other_spellings(names, "confusable") == {}


@given(st.text(max_size=8), st.sampled_from(["folded", "confusable"]))
def test_folding_twice_changes_nothing(name, user_names):
    folded = fold_name(name, user_names)
    assert fold_name(folded, user_names) == folded
    assert folded == name or not PLAIN_NAME.fullmatch(name)


@given(st.lists(st.sampled_from(["bob", "Bob", "ann", "ann ", "ANN", LOOK_ALIKE, "7"]), max_size=8))
def test_merged_users_are_equal_if_and_only_if_their_folded_names_are(users):
    for user_names in ("folded", "confusable", "exact"):
        merged = merge_spellings(users, user_names)
        folded = [fold_name(user, user_names) for user in users]
        for i, j in np.ndindex(len(users), len(users)):
            assert (merged[i] == merged[j]) == (folded[i] == folded[j])
        assert {*merged} <= {*users}
        assert merge_spellings(users[::-1], user_names) == merged[::-1]


def test_confusable_letters_map_to_ascii_letters():
    assert all(letter.isascii() and letter.islower() for letter in CONFUSABLE.values())
    assert not any(chr(letter).isascii() for letter in CONFUSABLE)


@pytest.mark.parametrize(
    "column", [list, np.array, pa.array, tuple], ids=["list", "numpy", "arrow", "tuple"]
)
def test_columns_of_any_kind_are_merged(column):
    assert [*merge_spellings(column(["Bob", "bob", "ann"]), "folded")] == ["Bob", "Bob", "ann"]
    unchanged = column(["bob", "ann"])
    assert merge_spellings(unchanged, "folded") is unchanged


def test_users_that_are_not_text_are_not_changed():
    users = [1, "1", ("Bob",), "Bob", "bob"]
    assert merge_spellings(users, "folded") == [1, "1", ("Bob",), "Bob", "Bob"]
    assert merge_spellings(None, "folded") is None


def test_spellings_of_one_user_do_not_make_k_users():
    log = [(name, time, "pine straw") for time, name in enumerate(BOBS)]
    assert anonymize_log(log, 3).cost.certificate.cost.withdrawals > 0
    assert len(anonymize_log(log, 3, user_names="exact").ledger.users) == len(BOBS)
    items = {"record": range(len(BOBS)), "item": ["tea"] * len(BOBS), "user": BOBS}
    assert anonymize_baskets(items, 3, user="user").ledger.users == ()
    assert len(anonymize([{"tea"}] * len(BOBS), 3, users=BOBS).groups) == 0
    three = [{"tea"}] * 3
    assert len(anonymize(three, 3, users=["bob", LOOK_ALIKE, "ann"]).groups) == 1
    names = {"users": ["bob", LOOK_ALIKE, "ann"], "user_names": "confusable"}
    assert len(anonymize(three, 3, **names).groups) == 0
