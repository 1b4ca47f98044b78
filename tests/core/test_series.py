"""Laws of a series: what holds for all batches together, whatever arrives."""

from collections import Counter, defaultdict
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import (
    InvalidParameterError,
    MalformedInputError,
    NotAnonymousError,
    Params,
    Records,
    Series,
    anonymize,
)
from setanon_core.pipeline.group_records import anonymize_records
from setanon_core.series import publish

SECRET = b"for tests only"
ITEMS = "abcde"
USERS = ["ann", "bob", "cem", "dan", "eve"]

record = st.tuples(st.frozensets(st.sampled_from(ITEMS), max_size=4), st.sampled_from(USERS))
part = st.lists(record, max_size=8)
options = st.fixed_dictionaries(
    {
        "k": st.integers(2, 3),
        "hold": st.integers(0, 3),
        "operations": st.sampled_from(["both", "additions", "deletions"]),
        "min_owners": st.sampled_from([None, 0, 1, 4]),
    }
)
typed = st.builds(lambda chosen: chosen | {"operations": "both", "combinations": "typed"}, options)
parts = st.lists(part, max_size=6)


def sets_of(rows):
    return [set(items) for items, _ in rows]


def users_of(rows):
    return [user for _, user in rows]


def run(all_parts, *, own_users=False, flush=True, **parameters):
    """The series after all parts, and its batches."""
    series = Series(**parameters, secret=SECRET)
    batches = [
        series.add(sets_of(rows), None if own_users else users_of(rows)) for rows in all_parts
    ]
    if flush:
        batches.append(series.flush())
    return series, batches


def published_pairs(batch):
    return list(zip(batch.numbers.tolist(), batch.records, strict=True))


@given(parts, options | typed)
@settings(max_examples=60, deadline=None)
def test_every_set_of_a_batch_has_k_users_of_this_batch(all_parts, parameters):
    names = [user for rows in all_parts for _, user in rows]
    _, batches = run(all_parts, **parameters)

    for batch in batches:
        users = defaultdict(set)
        for number, items in published_pairs(batch):
            users[items].add(names[number])
        assert all(len(each) >= parameters["k"] for each in users.values())
        assert all(users)


@given(parts, options | typed)
@settings(max_examples=60, deadline=None)
def test_each_record_is_published_held_or_withdrawn_and_leaves_once(all_parts, parameters):
    series = Series(**parameters, secret=SECRET)
    waiting, published, withdrawn = {}, 0, 0
    for number, rows in enumerate(all_parts):
        waiting |= dict.fromkeys(range(series.arrived, series.arrived + len(rows)), number)
        batch = series.add(sets_of(rows), users_of(rows))
        leaving = [*batch.numbers.tolist(), *batch.withdrawn.tolist()]
        waited = [number - waiting.pop(each) for each in leaving]  # fails if it left before

        assert batch.waited.tolist() == waited[: len(batch.numbers)]
        assert set(waited[len(batch.numbers) :]) <= {parameters["hold"]}
        assert max(waited, default=0) <= parameters["hold"]
        assert all(number - arrived < parameters["hold"] for arrived in waiting.values())
        published, withdrawn = published + len(batch.numbers), withdrawn + len(batch.withdrawn)
        assert (series.published, series.withdrawn) == (published, withdrawn)
        assert series.held == batch.held == len(waiting)
        assert batch.part == number
    last = series.flush()

    assert sorted([*last.numbers.tolist(), *last.withdrawn.tolist()]) == sorted(waiting)
    assert series.held == 0


@given(parts, options | typed)
@settings(max_examples=50, deadline=None)
def test_items_have_enough_owners_among_all_users_seen(all_parts, parameters):
    least = parameters["k"] if parameters["min_owners"] is None else parameters["min_owners"]
    owners = defaultdict(set)
    _, batches = run(all_parts, **parameters)
    for rows, batch in zip([*all_parts, []], batches, strict=True):
        for items, user in rows:
            for item in items:
                owners[item].add(user)
        assert all(len(owners[item]) >= least for items in batch.records for item in items)


@given(parts, options | typed)
@settings(max_examples=50, deadline=None)
def test_the_cost_of_a_batch_is_that_of_the_records_that_left(all_parts, parameters):
    typed_sets = [items for rows in all_parts for items, _ in rows]
    for batch in run(all_parts, **parameters)[1]:
        pairs = [(typed_sets[number], items) for number, items in published_pairs(batch)]
        gone = [typed_sets[number] for number in batch.withdrawn.tolist()]

        assert asdict(batch.cost) == {
            "additions": sum(len(after - before) for before, after in pairs),
            "deletions": sum(len(before - after) for before, after in pairs) + sum(map(len, gone)),
            "withdrawals": len(gone),
        }


@given(parts, options | typed, st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_order_of_arrival_within_a_part_does_not_matter(all_parts, parameters, rng, own_users):
    shuffled = [rng.sample(rows, len(rows)) for rows in all_parts]
    _, batches = run(all_parts, own_users=own_users, **parameters)
    _, others = run(shuffled, own_users=own_users, **parameters)

    for batch, other in zip(batches, others, strict=True):
        assert batch.records == other.records
        assert (batch.cost, batch.held) == (other.cost, other.held)


@given(parts, options | typed, st.integers(0, 6))
@settings(max_examples=50, deadline=None)
def test_a_restored_series_goes_on_identically(all_parts, parameters, stop):
    series, _ = run(all_parts[:stop], flush=False, **parameters)
    state = series.to_bytes()
    restored = Series.from_bytes(state, secret=SECRET)
    assert restored.to_bytes() == state
    for rows in [*all_parts[stop:], []]:
        batch, other = (each.add(sets_of(rows), users_of(rows)) for each in (series, restored))
        assert published_pairs(batch) == published_pairs(other)
        assert batch.withdrawn.tolist() == other.withdrawn.tolist()
        assert series.to_bytes() == restored.to_bytes()
    assert restored.params == series.params


@given(parts, options | typed)
@settings(max_examples=60, deadline=None)
def test_without_holding_each_part_is_anonymized_for_itself(all_parts, parameters):
    chosen = parameters | {"hold": 0}
    seen = defaultdict(set)
    _, batches = run(all_parts, flush=False, **chosen)
    del chosen["hold"]
    for rows, batch in zip(all_parts, batches, strict=True):
        for items, user in rows:
            for item in items:
                seen[item].add(user)
        if rows:
            records = Records.from_sets(sets_of(rows), users_of(rows))
            owners = np.array([len(seen[item]) for item in records.vocabulary] or [0])
            alone = anonymize_records(records, Params(**chosen), owners=owners)
            expected = Counter(each for each in alone.records if each is not None)

            assert Counter(batch.records) == expected
            assert batch.cost == alone.cost
        else:
            assert batch.records == ()


def zipf_parts(rng, n_parts=4, size=30, own_topics=6):
    """Parts that are too large for the exact grouper, of users who return."""
    popular = 1 / np.arange(1, 13)
    for _ in range(n_parts):
        rows = []
        for _ in range(size):
            topic = int(rng.integers(own_topics))
            words = rng.choice(12, rng.integers(1, 5), replace=False, p=popular / popular.sum())
            rows.append(({f"t{topic}", *(f"t{topic}w{w}" for w in words)}, f"u{rng.integers(25)}"))
        yield rows


@pytest.mark.parametrize(
    "parameters",
    [
        {"operations": "both"},
        {"operations": "additions"},
        {"operations": "deletions"},
        {"combinations": "typed"},
        {"method": "paper"},
    ],
)
def test_the_laws_hold_for_parts_that_are_grouped_by_heuristics(parameters):
    rng = np.random.default_rng(7)
    all_parts = list(zipf_parts(rng))
    shuffled = [[rows[n] for n in rng.permutation(len(rows))] for rows in all_parts]
    names = [user for rows in all_parts for _, user in rows]
    series, batches = run(all_parts, k=3, hold=2, **parameters)
    _, others = run(shuffled, k=3, hold=2, **parameters)
    numbers = np.concatenate([[*each.numbers, *each.withdrawn] for each in batches])

    assert sorted(numbers) == list(range(series.arrived))
    assert series.published > 0
    assert [each.records for each in batches] == [each.records for each in others]
    assert [each.cost for each in batches] == [each.cost for each in others]
    for batch in batches:
        users = defaultdict(set)
        for number, items in published_pairs(batch):
            users[items].add(names[number])
        assert all(len(each) >= 3 for each in users.values())


def test_the_first_part_without_holding_is_what_anonymize_returns():
    sets = [{"tea", "milk"}, {"tea", "milk"}, {"tea"}, {"rum"}]
    batch = Series(2, hold=0).add(sets)

    assert Counter(batch.records) == Counter(filter(None, anonymize(sets, 2).records))
    assert batch.withdrawn.tolist() == [3]


def test_records_wait_for_others_and_are_published_with_them():
    series = Series(3, hold=2)
    first = series.add([{"pine", "straw"}], ["ann"])
    second = series.add([{"pine", "straw"}, {"zqx"}], ["bob", "bob"])
    third = series.add([{"pine", "straw"}], ["cem"])

    assert [len(each.records) for each in (first, second, third)] == [0, 0, 3]
    assert third.waited.tolist() == [2, 1, 0]
    assert third.numbers.tolist() == [0, 1, 3]
    assert series.add([]).withdrawn.tolist() == [2]


def test_one_user_of_many_parts_is_one_user():
    series = Series(2, hold=9)
    for name in ("Ann", "ann", " ANN "):
        assert series.add([{"tea"}], [name]).records == ()
    assert len(series.add([{"tea"}], ["bob"]).records) == 4


def test_owners_of_published_and_withdrawn_records_count():
    series = Series(2, hold=0, min_owners=3)
    assert series.add([{"tea"}, {"tea"}], ["ann", "bob"]).records == ()
    assert len(series.add([{"tea"}, {"tea"}], ["bob", "cem"]).records) == 2


def test_empty_parts_and_parts_of_fewer_than_k_users_are_parts():
    series = Series(3, hold=1)
    assert series.add([]).held == 0
    assert series.add([{"tea"}], ["ann"]).held == 1
    assert series.add([], []).withdrawn.tolist() == [0]
    assert series.add([set(), set()], ["ann", "bob"]).held == 2
    assert series.flush().withdrawn.tolist() == [1, 2]
    assert (series.parts, series.arrived, series.published, series.withdrawn) == (5, 3, 0, 3)


def test_numbers_and_texts_may_be_items_of_one_series():
    series = Series(2, hold=2)
    series.add([{2, 10}, {"tea", 10}], ["ann", "ann"])
    series.add([{"10"}], ["ann"])
    batch = series.add([{"tea", 10}, {10, 2}, {"10"}], ["bob", "bob", "cem"])

    assert Counter(batch.records) == Counter(
        [frozenset({2, 10}), frozenset({"tea", 10}), frozenset({"10"})] * 2
    )
    assert batch.cost.total == 0


def test_columns_and_matrices_are_records_too():
    rows = [["tea", "milk"], ["tea", "milk"]]
    assert len(Series(2, hold=0).add(pd.Series(rows), pd.Series(["ann", "bob"])).records) == 2
    assert Series(2, hold=0).add(np.array([[1, 0], [1, 0]])).records == (frozenset({0}),) * 2


@pytest.mark.parametrize(
    ("records", "users", "error"),
    [
        ([{"tea"}], ["ann", "bob"], "2 users for 1 records"),
        ([{"tea"}], [None], "every record must have a user; 1 have none"),
        ([{"tea"}], {"canary"}, "users must be a sequence"),
        ([{"tea"}], [1.5], "every user of a series must be text or an integer; got .* float"),
        ([{("canary",)}], ["ann"], "every item of a series must be text or an integer"),
        ([{True}], ["ann"], "bool"),
        (["canary"], ["ann"], "collection"),
        (Records.from_sets([{"tea"}]), None, "got Records"),
    ],
)
def test_a_refused_part_leaves_the_series_as_it_was(records, users, error):
    series, _ = run([[({"tea"}, "ann")]], k=2, hold=3, flush=False)
    state = series.to_bytes()
    with pytest.raises(MalformedInputError, match=error) as refused:
        series.add(records, users)

    assert series.to_bytes() == state
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("parameters", [{"hold": -1}, {"hold": 1.5}, {"hold": True}])
def test_hold_is_a_number_of_parts(parameters):
    with pytest.raises(InvalidParameterError, match=r"^hold must be"):
        Series(2, **parameters)


def choose_one(labels, *_, **__):
    chosen = np.zeros(len(labels), np.bool_)
    chosen[np.flatnonzero(labels >= 0)[:1]] = True
    return chosen


def test_a_batch_of_too_few_users_is_refused_before_it_is_returned(monkeypatch):
    series = Series(2, hold=3, secret=SECRET)
    state = series.to_bytes()
    monkeypatch.setattr(publish, "choose", choose_one)
    with pytest.raises(NotAnonymousError, match="1 sets had fewer"):
        series.add([{"tea"}, {"tea"}], ["ann", "bob"])

    assert series.to_bytes() == state


def test_a_batch_with_an_item_of_too_few_owners_is_refused(monkeypatch):
    everything = Params(2, min_owners=0)
    unchecked = publish.anonymize_records
    monkeypatch.setattr(
        publish, "anonymize_records", lambda records, *_, **__: unchecked(records, everything)
    )
    with pytest.raises(NotAnonymousError, match="min_owners = 3"):
        Series(2, hold=0, min_owners=3).add([{"tea"}, {"tea"}], ["ann", "bob"])


def test_nothing_that_is_shown_has_items_users_or_the_secret():
    series = Series(2, hold=3, secret=b"canary secret")
    batch = series.add(
        [{"canary item"}] * 2 + [{"canary two"}], ["canary a", "canary b", "canary c"]
    )
    shown = f"{series!r} {batch!r} {series.params!r} {vars(series)!r}"

    assert "canary" not in shown
    assert "canary a" not in series.to_bytes().decode("latin-1")
    assert "canary secret" not in series.to_bytes().decode("latin-1")
