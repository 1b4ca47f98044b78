"""Unusual logs: each gives a release or a `MalformedInputError`, never another error."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.labelled_column import LabelledColumn

from setanon_core import (
    Log,
    MalformedInputError,
    QueryRelease,
    SetRelease,
    anonymize_log,
    tokenize,
)
from setanon_core.params import FORMATS

SECRET = b"for tests only"
NOON = datetime(2006, 3, 1, 12, tzinfo=UTC)
EAST = timezone(timedelta(hours=9))


def released(rows, **params):
    return anonymize_log(rows, **{"k": 2, "secret": SECRET, **params})


def queries_of_first_user(rows):
    """The published queries of the first user, who has one thread, by position."""
    result = released(rows)
    thread_id = result.ledger.thread_ids[result.ledger.users.index(rows[0][0])]
    published = zip(result.release.thread_ids, result.release.queries, strict=True)
    return [query for other, query in published if other == thread_id]


@pytest.mark.parametrize("identity", ["exact", "minhash"])
@pytest.mark.parametrize("method", ["best", "paper"])
@pytest.mark.parametrize("log", [[], (), iter([]), Log([], [], []), Log(np.array([]), (), [])])
def test_an_empty_log_gives_an_empty_release(log, method, identity):
    params = {"method": method, "identity": identity}

    result = released(log, **params)

    assert result.release == QueryRelease((), (), ())
    assert released([], format="sets", **params).release == SetRelease((), ())
    assert result.ledger.users == ()
    assert (result.cost.threads, result.cost.keywords, result.cost.retained) == (0, 0, 1)


@pytest.mark.parametrize("method", ["best", "paper"])
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    ("rows", "published"),
    [
        ([("u", 1, "alone")], 0),
        ([("u", 1, "again"), ("u", 2, "again")], 0),
        ([("u", n, f"word{n} alone") for n in range(50)], 0),
        ([(n, 0, "all the same") for n in range(40)], 40),
        ([(n, 0, "") for n in range(3)], 0),
        ([(n, 0, " \t\n ... ") for n in range(3)], 0),
        ([(n, 0, query) for n in range(3) for query in ("", "tea")], 3),
        ([(n, 0, "\u05e9\u05dc\u05d5\u05dd \u0639\u0627\u0644\u0645") for n in range(3)], 3),
        ([(n, 0, "\u202etea\u202c \U0001f355\u200d\U0001f355 a\0b") for n in range(3)], 3),
        ([(n, 0, "\ud800 tea\udfff \u5317\u4eac") for n in range(3)], 3),
        ([(n, 0, "\ud800") for n in range(3)], 0),
    ],
)
def test_unusual_logs_are_published_or_withdrawn(rows, published, format_, method):
    result = released(rows, method=method, format=format_)

    ids = result.ledger.thread_ids
    assert len(ids) == len(set(result.release.thread_ids)) == published


@settings(max_examples=60)
@given(st.lists(st.text(max_size=12), max_size=4), st.sampled_from(["exact", "minhash"]))
def test_any_text_of_three_users_is_published_with_all_its_keywords(queries, identity):
    rows = [(user, time, query) for user in "abc" for time, query in enumerate(queries)]

    result = released(rows, k=3, identity=identity)

    assert result.cost.certificate.cost.total == 0
    published = {word for query in result.release.queries for word in query.split(" ")}
    typed = {word for query in queries for word in tokenize(query)}
    assert published <= typed
    assert published == typed or identity == "minhash"


@pytest.mark.parametrize("missing", [0, 20])
def test_queries_of_10000_words_take_seconds(missing):
    """Each query lacks every 20th word, a different one per user."""
    rows = [
        (user, 0, " ".join(f"w{n}" for n in range(10_000) if not missing or (n + user) % missing))
        for user in range(4)
    ]
    start = process_time()

    result = released(rows, k=3)

    assert len(result.release.thread_ids) == 4
    assert result.cost.certificate.cost.additions == (2_000 if missing else 0)
    assert process_time() - start < 15


@pytest.mark.parametrize(
    "times",
    [
        [3, 1, 2],
        [-1, -3, -2],
        np.array([3, 1, 2], np.uint8),
        [NOON, NOON - timedelta(days=2), NOON - timedelta(days=1)],
        [NOON, NOON.astimezone(EAST) - timedelta(seconds=2), NOON - timedelta(seconds=1)],
        [datetime(2006, 3, day) for day in (3, 1, 2)],  # noqa: DTZ001 - a log without zones
        [NOON, NOON.replace(hour=9, tzinfo=None), NOON.replace(hour=20, tzinfo=EAST)],
        np.array(["2006-03-03", "2006-03-01", "2006-03-02"], "datetime64[D]"),
        np.array(["2006-03-01T03", "1906-03-01T01", "2006-03-01T02"], "datetime64[ns]"),
        [
            datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))),
            datetime.min.replace(tzinfo=EAST),
            NOON,
        ],
    ],
)
def test_queries_are_published_in_the_order_of_their_times(times):
    queries = ["pine straw c", "pine straw a", "pine straw b"]
    rows = [(user, times[n], queries[n]) for user in ("u", "v") for n in range(3)]

    assert queries_of_first_user(rows) == sorted(queries)
    log = Log(["u", "u", "u", "v", "v", "v"], np.concatenate([times, times]), queries * 2)
    assert released(log).release == released(rows).release


def test_queries_with_equal_times_keep_the_order_of_rows():
    queries = ["pine straw c", "pine straw a", "pine straw b"]

    assert (
        queries_of_first_user([(user, 7, query) for user in "uv" for query in queries]) == queries
    )


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (np.array(["2006-03-01", "NaT"], "datetime64[s]"), "every query must have a time; 1 have"),
        ([np.datetime64("NaT"), np.datetime64("NaT")], "every query must have a time; 2 have"),
        ([NOON, None], "every query must have a time; 1 have"),
        ([1, None], "every query must have a time; 1 have"),
        ([float("inf"), 2.0], "times must be finite"),
        ([float("nan"), 1], "every query must have a time; 1 have"),
        (["2006-03-01", None], "every query must have a time; 1 have"),
        (["canary", "2"], "times must be"),
        ([True, False], "times must be"),
        ([date(2006, 3, 1), "2006-03-01"], "times must be"),
        ([NOON, 5], "times must be"),
        ([2**70, 1], "times must be"),
        (np.array([2**63, 1], np.uint64), "times must be"),
        ([[1], [2]], "times must be"),
        ([[1], 2], "times must be"),
        ([timedelta(1)] * 2, "times must be"),
        ([1], "got 2, 1 and 2 values"),
        ([1, 2, 3], "got 2, 3 and 2 values"),
    ],
)
def test_missing_or_invalid_times_are_refused(times, message):
    with pytest.raises(MalformedInputError, match=message) as error:
        released(Log(["canary", "v"], times, ["canary", "tea"]))
    assert "canary" not in str(error.value)


@pytest.mark.parametrize(
    "row",
    [
        ("u", 1),
        ("u", 1, "canary", 4),
        "abc",
        b"abc",
        (),
        3,
        None,
        {1, 2, "canary"},
        {0: 1, 1: 2, 4: "x"},
    ],
)
def test_invalid_rows_are_counted_and_not_shown(row):
    with pytest.raises(MalformedInputError, match="1 of 3 are not") as error:
        released([("u", 1, "tea"), row, ("v", 1, "tea")])
    assert "canary" not in str(error.value)


@pytest.mark.parametrize("row", [["u", 1, "tea"], np.array(["u", 1, "tea"], object)])
def test_rows_may_be_any_sequence(row):
    assert released([row, ("v", 1, "tea")]).release.queries == ("tea", "tea")


@pytest.mark.parametrize("query", [5, b"canary", ("canary",), ["canary"], None, float("nan")])
def test_queries_of_other_types_are_refused_and_not_shown(query):
    with pytest.raises(MalformedInputError, match="query") as error:
        released([("u", 1, query), ("v", 1, "tea")])
    assert "canary" not in str(error.value)
    assert "querys" not in str(error.value)


@pytest.mark.parametrize(
    "users",
    [["canary"], ["canary"] * 3, ["canary", None], ["canary", float("nan")], ["canary", []]],
)
def test_missing_or_unhashable_users_are_refused_and_not_shown(users):
    with pytest.raises(MalformedInputError, match="user") as error:
        released(Log(users, [1, 2], ["tea", "tea"]))
    assert "canary" not in str(error.value)


@pytest.mark.parametrize("log", [3, None, Log({"u", "v"}, [1, 2], ["tea", "tea"])])
def test_values_that_are_not_logs_are_refused(log):
    with pytest.raises(MalformedInputError):
        released(log)


def test_users_may_have_different_types():
    users = [1, "x", (2, 3), b"z", 2.5, frozenset({1}), "", "\0", "a\0" + "0", "a", "\ud800"]

    log = [(user, 0, query) for user in users for query in ("tea", "zqx")]
    result = released(log, user_names="exact")  # "" and "\0" look the same

    assert Counter(result.ledger.users) == dict.fromkeys(users, 2)


def test_users_that_compare_equal_are_one_user():
    assert released([(user, 0, "tea") for user in (1, 1.0, True)]).release.queries == ()


@pytest.mark.parametrize("users", [[7, 7, 3], ["b", "b", "a"]])
def test_columns_may_be_numpy_arrays(users):
    times, queries = [1, 2, 3], ["tea", "tea rum", "tea rum"]

    of_arrays = released(Log(np.array(users), np.array(times), np.array(queries)))
    of_lists = released(Log(users, times, queries))

    assert (of_arrays.release, of_arrays.cost) == (of_lists.release, of_lists.cost)
    assert sorted(set(of_arrays.ledger.users)) == sorted(set(users))


def test_users_are_read_by_position_not_by_label():
    users, rest = ["ann", "bob", "cem"], ([1, 2, 3], ["tea rum", "tea rum", "zqx"])

    assert set(released(Log(LabelledColumn(users), *rest)).ledger.users) == {"ann", "bob"}
