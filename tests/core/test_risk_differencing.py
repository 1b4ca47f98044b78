"""Differences of two releases, and of the counts of two certificates."""

import pytest

from setanon_core import Log, SetRelease, anonymize_log
from setanon_core.model.publication import QueryRelease
from setanon_core.risk.differencing import (
    Differencing,
    difference_persons,
    difference_releases,
    infer_differences,
    published_sets,
)
from setanon_core.risk.log_rows import log_of_rows, log_rows

BEFORE = [("tea", "pot")] * 3 + [("rum",)] * 4 + [("ash",)] * 3
AFTER = [("tea", "pot")] * 4 + [("rum",)] * 3 + [("ash",)] * 3 + [("bog", "tea")] * 3


def release(sets):
    return SetRelease(tuple(f"{number}" for number in range(len(sets))), tuple(sets))


def test_risen_sets_are_compared_with_the_person():
    found = difference_releases(
        release(BEFORE), release(AFTER), [["tea", "pot", "lid"], ["ash"]], ["0", "7"]
    )

    assert found == Differencing(
        persons=1,
        sets=4,
        risen=2,  # tea pot, and bog tea
        fallen=1,
        appeared=1,
        risen_with_keyword=2,
        risen_typed=1,
        risen_of_person=1,
        threads=2,
        threads_risen=1,  # thread 7 is ash
    )
    assert (found.with_keyword_share, found.of_person_share) == (1.0, 0.5)
    assert "of 2 sets with more threads, 2 (100.0%) have a keyword" in found.sentence


def test_equal_releases_disclose_nothing():
    found = difference_releases(release(AFTER), release(AFTER[::-1]), [["tea"]])

    assert (found.risen, found.fallen, found.risen_with_keyword) == (0, 0, 0)


def test_queries_are_compared_by_the_set_of_their_keywords():
    queries = QueryRelease(("x", "x", "y"), (0, 1, 0), ("tea pot", "pot", "pot tea tea"))

    assert published_sets(queries) == {"x": {"tea", "pot"}, "y": {"tea", "pot"}}


def test_removed_sets_count_as_fallen():
    assert difference_releases(release(BEFORE), release([])).fallen == 3


def anonymize(log):
    return anonymize_log(log, k=2, format="sets", secret=b"for tests only")


ROWS = [
    *((f"u{user}", user, "tea pot") for user in range(3)),
    *((f"v{user}", user, "rum") for user in range(2)),
    ("ann", 9, "tea pot"),
    ("ann", 10, "rum"),
]


def test_persons_are_compared_with_releases_without_them():
    found = difference_persons(Log.from_rows(ROWS), ["ann", "v0"], anonymize)

    # Without ann both sets lose a thread; without v0 only rum does.
    assert (found.persons, found.risen, found.risen_of_person) == (2, 3, 3)
    assert (found.threads, found.threads_risen) == (3, 3)
    assert found.risen_typed == found.risen_with_keyword == 3


def test_exact_counts_disclose_a_difference_and_intervals_do_not():
    exact, rounded, other = infer_differences(
        {"threads": 7, "keywords": (0, 9), "cost": (0, 9), "old": 1},
        {"threads": 9, "keywords": (0, 9), "cost": (10, 19), "new": 1},
    )

    assert (exact.name, exact.least, exact.greatest, exact.exact) == ("threads", 2, 2, True)
    assert (rounded.least, rounded.greatest, rounded.exact) == (-9, 9, False)
    assert (other.least, other.greatest) == (1, 19)


@pytest.mark.parametrize("rows", [[], ROWS])
def test_rows_of_a_log(rows):
    assert log_rows(log_of_rows(rows)) == rows
