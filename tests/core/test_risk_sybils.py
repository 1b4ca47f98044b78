"""Accounts of an attacker confirm guesses about a victim."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from setanon_core import Log, anonymize_log
from setanon_core.risk.sybils import Guess, sybil_attack

ROWS = [
    ("ann", 1, "pine straw"),
    ("ann", 2, "pine straw mulch"),
    ("ann", 500, "violin lessons"),
    *((f"u{user}", user, "tea pot") for user in range(5)),
]
TRUE = [Guess("ann", ("pine straw", "pine straw mulch")), Guess("ann", ("violin lessons",))]
FALSE = [Guess("ann", ("garden fence",)), Guess("u1", ("copper kettle", "copper kettle lid"))]


def anonymizer(k, seen=None):
    def anonymize(log):
        if seen is not None:
            seen.append(log)
        return anonymize_log(log, k=k, secret=b"for tests only")

    return anonymize


@pytest.mark.parametrize("k", [2, 3, 5])
def test_true_guesses_are_confirmed_and_false_ones_are_not(k):
    result = sybil_attack(Log.from_rows(ROWS), k, TRUE, anonymizer(k), false_guesses=FALSE)

    assert (result.accounts, result.true_guesses, result.confirmed) == (k - 1, 2, 2)
    assert (result.present_anyway, result.false_guesses, result.false_confirmed) == (0, 2, 0)
    assert result.sentence == (
        f"With {k - 1} accounts of their own, an attacker confirms 2 of 2 true guesses, and 0 of 2 "
        "false ones."
    )


def test_a_set_that_is_published_without_the_victim_confirms_nothing():
    result = sybil_attack(Log.from_rows(ROWS), 3, [Guess("u0", ("tea pot",))], anonymizer(3))

    assert (result.confirmed, result.present_anyway) == (0, 1)


def test_each_guess_gets_accounts_of_its_own_with_new_names():
    seen = []
    rows = [*ROWS, ("account 1", 3, "rum")]
    sybil_attack(Log.from_rows(rows), 3, TRUE, anonymizer(3, seen))
    added = [(user, query) for user, query in zip(seen[0].users, seen[0].queries, strict=True)][
        len(rows) :
    ]

    assert added == [
        (name, query)
        for guess, names in zip(
            TRUE, [("account 0", "account 2"), ("account 3", "account 4")], strict=True
        )
        for name in names
        for query in guess.queries
    ]
    assert "ann" not in seen[1].users
    assert set(seen[1].users) == set(seen[0].users) - {"ann"}


@pytest.mark.parametrize("kind", ["numpy", "arrow", "datetime"])
def test_columns_of_other_libraries(kind):
    users, times, queries = map(list, zip(*ROWS, strict=True))
    if kind == "numpy":
        times = np.array(times)
    elif kind == "arrow":
        users, times, queries = map(pa.array, (users, times, queries))
    else:
        times = [datetime(2006, 3, 1, 1, time // 60, time % 60, tzinfo=UTC) for time in times]
    result = sybil_attack(Log(users, times, queries), 3, TRUE, anonymizer(3))

    assert result.confirmed == 2


def test_a_guess_shows_no_query():
    assert repr(TRUE[0]) == "Guess(2 queries)"
