from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core import SetanonError, anonymize_baskets, anonymize_log, sweep
from setanon_core.attribute_names import Attribute, attribute_names
from setanon_core.attributes.agree import agree_on_attributes
from setanon_core.attributes.encode import column_of_rows, encode_attributes
from setanon_core.errors import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_core.model.inputs import Log
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.group_threads import group_threads, item_centers
from setanon_core.pipeline.log import threads_of_log

WORDS = ["tea pot", "tea", "pot", "rum pie", "tea rum pot"]
VALUES = [None, "a", "b", "tea"]

rows = st.lists(
    st.tuples(
        st.integers(0, 8), st.sampled_from(WORDS), st.sampled_from(VALUES), st.sampled_from(VALUES)
    ),
    min_size=1,
    max_size=40,
)


def log_of(rows, names=("week", "shop")):
    values = {name: [row[2 + n] for row in rows] for n, name in enumerate(names)}
    users, queries = [row[0] for row in rows], [row[1] for row in rows]
    return Log(users, list(range(len(rows))), queries, attributes=values)


def release(rows, k=2, form="queries", **options):
    return anonymize_log(
        log_of(rows), k, format=form, attributes=["week", "shop"], secret=b"key", **options
    )


def published_rows(result):
    """All that is published of each thread, except its id."""
    table = result.to_frame()
    whole = defaultdict(list)
    for row in zip(*table.values(), strict=True):
        whole[row[0]].append(repr(row[1:]))
    return {thread: tuple(rows) for thread, rows in whole.items()}


@given(rows, st.sampled_from([2, 3]), st.sampled_from(["queries", "sets"]))
def test_whole_row_is_shared_by_k_users(rows, k, form):
    result = release(rows, k, form)
    users = dict(zip(result.ledger.thread_ids, result.ledger.users, strict=True))
    sharing = defaultdict(set)
    for thread, content in published_rows(result).items():
        sharing[content].add(users[thread])
    assert all(len(each) >= k for each in sharing.values())


@given(rows, st.sampled_from([0, 1, 2, 4]))
def test_every_value_has_min_owners_users_in_the_whole_log(rows, min_owners):
    result = release(rows, min_owners=min_owners)
    for column, name in ((2, "week"), (3, "shop")):
        owners = defaultdict(set)
        for row in rows:
            owners[row[column]].add(row[0])
        published = {value for values in result.to_frame()[name] for value in values}
        assert all(len(owners[value]) >= max(min_owners, 1) for value in published)


@given(rows, st.sampled_from(["both", "deletions"]))
def test_keywords_are_those_of_a_release_without_attributes(rows, operations):
    without = ReleaseParams(2, secret=b"key", operations=operations)
    threads = threads_of_log(log_of(rows), without)
    plain = group_threads(threads_of_log(log_of(rows, ()), without), without)
    split = group_threads(threads, without)
    assert split.certificate == plain.certificate

    def sets(result):
        centers = item_centers(result)
        return [
            None if label < 0 else tuple(centers.take(np.array([label])).items.tolist())
            for label in result.labels.tolist()
        ]

    assert sets(split) == sets(plain)


@given(rows, st.randoms())
def test_result_does_not_depend_on_the_order_of_users(rows, random):
    names = list(range(9))
    random.shuffle(names)
    renamed = [(names[row[0]], *row[1:]) for row in rows]

    def contents(each):
        return sorted(published_rows(release(each)).values())

    assert contents(renamed) == contents(rows)


@given(rows)
def test_costs_are_counted_value_by_value(rows):
    params = ReleaseParams(2, secret=b"key")
    threads = threads_of_log(log_of(rows), params)
    result = group_threads(threads, params)
    attributes, values = threads.attributes, result.attribute_values
    for kind, cost in enumerate(result.attribute_costs):
        added = deleted = total = 0
        for thread, label in enumerate(result.labels.tolist()):
            own = {
                v
                for v in attributes.sets.take(np.array([thread])).items.tolist()
                if attributes.attribute[v] == kind
            }
            shown = (
                set()
                if label < 0
                else {
                    v
                    for v in values.take(np.array([label])).items.tolist()
                    if attributes.attribute[v] == kind
                }
            )
            added, deleted, total = (
                added + len(shown - own),
                deleted + len(own - shown),
                total + len(own),
            )
        assert (cost.total, cost.additions, cost.deletions) == (total, added, deleted)


@given(rows)
def test_deletions_add_no_value(rows):
    result = release(rows, operations="deletions")
    assert all(cost.additions == 0 for cost in result.cost.attributes)


def test_groups_of_2k_users_with_two_values_are_split_without_a_change():
    rows = [(user, "tea pot", "a" if user < 3 else "b", None) for user in range(6)]
    result = release(rows, 3)
    assert result.to_frame()["week"].count(["a"]) == 3
    assert [cost.deletions + cost.additions for cost in result.cost.attributes] == [0, 0]


def test_several_values_of_a_thread_are_a_set():
    rows = [(user, "tea pot", week, None) for user in range(3) for week in ("b", "a", "b")]
    assert release(rows, 3).to_frame()["week"] == [["a", "b"]] * 9


def test_repeated_value_of_one_user_is_no_majority():
    rows = [(0, query, "a", None) for query in ("tea pot", "rum pie", "rum")] * 3
    rows += [(user, "tea pot", "b", None) for user in (1, 2)]
    rows += [(user, "other", "a", None) for user in (7, 8)]
    result = release(rows, 3)
    assert ["a"] not in result.to_frame()["week"]


def test_value_is_not_mistaken_for_the_keyword_of_the_same_letters():
    rows = [(user, "pot", "tea", None) for user in range(3)]
    result = release(rows, 3, "sets")
    assert result.to_frame()["keywords"] == [["pot"]] * 3
    assert result.to_frame()["week"] == [["tea"]] * 3
    assert result.to_frame()["shop"] == [[]] * 3


def test_equal_values_of_two_attributes_are_two_values():
    rows = [(user, "pot", *(("a", None) if user < 2 else (None, "a"))) for user in range(4)]
    result = release(rows, 2)
    assert sorted(map(str, result.to_frame()["week"])) == ["['a']", "['a']", "[]", "[]"]
    assert release(rows, 3).to_frame()["week"] == [[]] * 4


def test_values_that_are_unique_per_user_vanish():
    rows = [(user, "pot", f"card {user}", None) for user in range(6)]
    result = release(rows, 2)
    assert result.to_frame()["week"] == [[]] * 6
    assert result.cost.attributes[0].deletions == 6


def test_values_are_published_without_control_characters_and_blanks_around():
    column = column_of_rows(np.arange(5), ["a\x1fb\n", " a b", float("nan"), "", None])
    assert column.texts == ["a b"]
    assert column.threads.tolist() == [0, 1]


def test_baskets_have_attributes():
    table = {
        "record": [1, 1, 2, 3, 3, 4],
        "item": ["tea", "milk", "tea", "milk", "tea", "tea"],
        "Name of shop": ["x", "x", "y", "x", "x", "y"],
    }
    result = anonymize_baskets(table, 2, attributes=["shop=Name of shop"])
    shown = result.to_frame()
    assert sorted(zip(map(str, shown["keywords"]), map(str, shown["shop"]), strict=True)) == [
        ("['milk', 'tea']", "['x']"),
        ("['milk', 'tea']", "['x']"),
        ("['tea']", "['y']"),
        ("['tea']", "['y']"),
    ]


def test_sweep_counts_values():
    table = {"user": [1, 2, 3], "time": [1] * 3, "query": ["tea"] * 3, "week": ["a", "a", None]}
    columns = sweep(table, [2, 3], min_owners=2, attributes=["week"]).to_frame()
    assert columns["week_additions"] == [1, 1]
    assert columns["week_total"] == [2, 2]


def test_pandas_columns_may_have_missing_values():
    frame = pd.DataFrame(
        {"user": [1, 2, 3], "time": [1, 2, 3], "query": ["tea"] * 3, "shop": [7, 7, None]}
    )
    assert (
        anonymize_log(frame, 2, attributes=["shop"]).to_pandas()["shop"].tolist() == [["7.0"]] * 3
    )


@pytest.mark.parametrize(
    "options",
    [
        {"format": "edited"},
        {"format": "sets", "spelling": "as_typed"},
        {"combinations": "typed"},
        {"unit": "query"},
        {"operations": "additions"},
    ],
)
def test_parameters_without_a_shared_row_are_refused(options):
    with pytest.raises(InvalidParameterError, match="with attributes"):
        ReleaseParams(2, attributes=("week",), **options)


@pytest.mark.parametrize(
    "declared",
    [
        "week",
        ["user"],
        ["Shop"],
        ["a=b", "a"],
        list("abcdefg"),
        ["a="],
        [1],
        ["x y"],
        ["duckdb_schema"],
    ],
)
def test_wrong_declarations_are_refused(declared):
    with pytest.raises(InvalidParameterError, match="attributes"):
        ReleaseParams(2, attributes=declared)


def test_declarations():
    assert attribute_names(["week", "site=host:Click URL", "shop=Shop"]) == ("week", "site", "shop")
    assert Attribute.parse("site=host:Click URL").source == "Click URL"
    assert not Attribute.parse("host:day").is_of_time


def test_hosts_and_missing_columns_are_refused():
    table = {"user": [1], "time": [1], "query": ["tea"]}
    with pytest.raises(MalformedInputError, match="host"):
        anonymize_log(table, 2, attributes=["host:click"])
    with pytest.raises(MalformedInputError, match="no column"):
        anonymize_log(table, 2, attributes=["shop"])
    with pytest.raises(MalformedInputError, match="table"):
        anonymize_log([(1, 1, "tea")], 2, attributes=["shop"])


def test_groups_of_too_few_users_are_refused():
    params = ReleaseParams(2, secret=b"key")
    threads = threads_of_log(log_of([(user, "tea", "a", "b") for user in range(3)]), params)
    result = group_threads(threads, params)
    with pytest.raises(NotAnonymousError, match="bug"):
        agree_on_attributes(result, threads.attributes, np.zeros(3, np.int64))


def test_attributes_change_the_thread_ids():
    rows = [(user, "tea", "a", None) for user in range(3)]
    ids = release(rows).ledger.thread_ids
    assert ids != release([(*row[:2], "b", None) for row in rows]).ledger.thread_ids
    assert ids == release(rows).ledger.thread_ids


@pytest.mark.parametrize("exchanged", ["aaabbb", "ababab"])
def test_exchanged_values_change_the_thread_ids(exchanged):
    # With equal ids, two releases would give both values of each thread.
    ids, others = (
        set(
            release(
                [(n, "tea", value, None) for n, value in enumerate(values)], 3
            ).ledger.thread_ids
        )
        for values in ("bbbaaa", exchanged)
    )
    assert ids.isdisjoint(others)


@pytest.mark.parametrize("column", ["who", "time", "query"])
def test_users_times_and_queries_are_no_attributes(column):
    table = {"who": [1, 2], "time": [1, 1], "query": ["tea"] * 2}
    with pytest.raises(InvalidParameterError, match="other columns"):
        anonymize_log(table, 2, user="who", attributes=[f"x={column}"])
    with pytest.raises(InvalidParameterError, match="other columns"):
        anonymize_baskets(
            table, 2, user="who", record="time", item="query", attributes=[f"x={column}"]
        )


def test_values_that_are_lists_are_refused():
    table = {"user": [1], "time": [1], "query": ["tea"], "shop": [["secret"]]}
    with pytest.raises(MalformedInputError, match="hashable"):
        anonymize_log(table, 2, attributes=["shop"])


def test_threads_without_attributes_have_the_result_of_today():
    table = {"user": [1, 2, 3], "time": [1] * 3, "query": ["tea"] * 3}
    assert list(anonymize_log(table, 2).to_frame()) == ["thread_id", "position", "query"]


def test_error_is_one_of_setanon():
    assert issubclass(NotAnonymousError, SetanonError)


def test_representation_has_no_values():
    attributes = encode_attributes(
        {"week": column_of_rows(np.arange(2), ["secret", "value"])}, np.arange(2)
    )
    assert repr(attributes) == "Attributes(1 attributes, 2 values)"
