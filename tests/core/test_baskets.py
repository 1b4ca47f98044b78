"""Baskets: from lines and tables to released sets; every user counts once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.labelled_column import LabelledColumn

from setanon_core import (
    Baskets,
    InvalidParameterError,
    MalformedInputError,
    ReleaseParams,
    SetRelease,
    anonymize,
    sweep,
    verify,
)
from setanon_core.columns.encode import encode_values
from setanon_core.pipeline.baskets import release_baskets

SECRET = b"for tests only"
ITEMS = ["tea", "milk", "rum", "rye bread", "a,b"]


def released(baskets, **params):
    return release_baskets(baskets, ReleaseParams(**{"k": 2, "secret": SECRET, **params}))


def by_record(result, records):
    """The keywords and the user of each published record."""
    release, ledger = result.release, result.ledger
    _, names = encode_values(list(records), "record")
    ids = dict(zip(ledger.thread_ids, [names[thread] for thread in ledger.threads], strict=True))
    published = dict(zip(release.thread_ids, release.keywords, strict=True))
    users = dict(zip(ledger.thread_ids, ledger.users, strict=True))
    assert published.keys() == users.keys()
    return {ids[thread_id]: (published[thread_id], users[thread_id]) for thread_id in published}


def rows_of(sets, users=None):
    rows = [(record, item) for record, items in enumerate(sets) for item in sorted(items)]
    user_column = [users[record] for record, _ in rows] if users else None
    return [record for record, _ in rows], [item for _, item in rows], user_column


SETS = st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1), min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("lines", "separator", "baskets"),
    [
        (["tea milk", "rum"], None, [(1, "tea"), (1, "milk"), (2, "rum")]),
        (["  tea \t milk  "], None, [(1, "tea"), (1, "milk")]),
        (["tea,milk", "rum"], ",", [(1, "tea"), (1, "milk"), (2, "rum")]),
        (["rye bread , milk,,"], ",", [(1, "rye bread"), (1, "milk")]),
        (["a,b\tc d"], "\t", [(1, "a,b"), (1, "c d")]),
        (["tea;;milk;;rum"], ";;", [(1, "tea"), (1, "milk"), (1, "rum")]),
        (["tea\r\n", "\r\n", "\n", "", " , ", "rum, \r\n"], ",", [(1, "tea"), (6, "rum")]),
        (["tea tea"], None, [(1, "tea"), (1, "tea")]),
        ([], None, []),
    ],
)
def test_lines_are_split_at_the_separator_and_numbered_from_1(lines, separator, baskets):
    read = Baskets.from_lines(lines, separator)

    assert list(zip(read.records, read.items, strict=True)) == baskets
    assert read.users is None


@pytest.mark.parametrize("separator", [None, ",", "\t"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_with_user_the_first_cell_is_the_user(separator, end):
    between = separator or " "
    lines = [between.join(cells) + end for cells in (["ann", "tea", "rum"], ["bob"], ["", ""])]

    read = Baskets.from_lines(iter([*lines, f"cem{between}tea"]), separator, with_user=True)

    assert read.users == ["ann", "ann", "cem"]
    assert (read.records, read.items) == ([1, 1, 4], ["tea", "rum", "tea"])


@pytest.mark.parametrize("line", [",canary", " ,canary,tea", "\t,canary\r\n"])
def test_a_basket_without_user_is_refused_by_line_number_and_not_shown(line):
    with pytest.raises(MalformedInputError, match="line 3 has none") as error:
        Baskets.from_lines(["ann,tea", "", line], ",", with_user=True)
    assert "canary" not in str(error.value)


@settings(max_examples=60)
@given(SETS, st.data(), st.sampled_from(["best", "paper"]))
def test_the_order_of_rows_makes_no_difference(sets, data, method):
    n = len(sets)
    users = data.draw(st.none() | st.lists(st.sampled_from("vwxyz"), min_size=n, max_size=n))
    records, items, user_column = rows_of(sets, users)
    order = data.draw(st.permutations(range(len(records))))
    shuffled = Baskets(
        [records[row] for row in order],
        [items[row] for row in order],
        user_column and [user_column[row] for row in order],
    )

    first = released(Baskets(records, items, user_column), method=method)
    second = released(shuffled, method=method)

    assert first.release == second.release
    assert first.cost.certificate == second.cost.certificate
    assert by_record(first, range(n)) == by_record(second, range(n))


@settings(max_examples=60)
@given(SETS, st.data())
def test_the_ledger_has_the_user_of_each_basket(sets, data):
    n = len(sets)
    users = data.draw(st.lists(st.sampled_from("vwxyz"), min_size=n, max_size=n))
    records, items, user_column = rows_of(sets, users)
    # Rows sorted by item, so that records do not appear in order.
    order = sorted(range(len(records)), key=lambda row: (items[row], -records[row]))
    baskets = Baskets(*([column[row] for row in order] for column in (records, items, user_column)))

    result = released(baskets)

    for record, (_, user) in by_record(result, range(n)).items():
        assert user == users[record]


def test_several_baskets_of_one_user_count_as_one_user():
    lines = ["ann tea milk"] * 5 + ["bob tea milk", "bob tea milk", "cem tea milk"]
    baskets = Baskets.from_lines(lines, with_user=True)

    result = released(baskets, k=3)
    assert len(result.release.thread_ids) == 8
    assert verify(result.release.keywords, 3, users=result.ledger.users).smallest_group == 3
    assert set(result.ledger.users) == {"ann", "bob", "cem"}
    assert result.cost.certificate.cost.total == 0

    empty = released(baskets, k=4)
    assert (empty.release.thread_ids, empty.ledger.users) == ((), ())
    assert empty.cost.certificate.cost.withdrawals == 8


def test_without_users_every_basket_has_its_own_user():
    result = released(Baskets.from_lines(["tea milk"] * 3), k=3)

    assert sorted(result.ledger.users) == [1, 2, 3]
    assert result.release.keywords == (("milk", "tea"),) * 3


@settings(max_examples=80)
@given(SETS, st.integers(2, 4), st.sampled_from(["both", "deletions"]), st.data())
def test_the_cost_is_that_of_anonymize_on_the_same_sets(sets, k, operations, data):
    n = len(sets)
    users = data.draw(st.none() | st.lists(st.sampled_from("vwxyz"), min_size=n, max_size=n))

    of_baskets = released(Baskets(*rows_of(sets, users)), k=k, operations=operations)
    of_sets = anonymize(sets, k, users=users, operations=operations)

    assert of_baskets.cost.certificate == of_sets.certificate
    assert of_baskets.cost.keywords == sum(map(len, sets))
    published = by_record(of_baskets, range(n))
    assert of_sets.records == tuple(
        frozenset(published[record][0]) if record in published else None for record in range(n)
    )


def test_items_are_published_unchanged_and_not_tokenized():
    items = ["Rye Bread", "a,b", " tea ", "", "c\0d", "\u05e9\u05dc\u05d5\u05dd", "\ud800"]
    baskets = Baskets([n for n in range(3) for _ in items], items * 3)

    result = released(baskets, format="queries")

    assert isinstance(result.release, SetRelease)
    assert result.release.keywords == (tuple(sorted(items)),) * 3
    assert result.cost.certificate.cost.total == 0


def test_items_of_other_types_are_published_as_text():
    result = released(Baskets([1, 1, 1, 2, 2, 2], [1, 2.5, ("x", 1)] * 2))

    assert set(result.release.keywords) == {("('x', 1)", "1", "2.5")}


@pytest.mark.parametrize("items", [[1, "1"], ["None", "1", 1], [b"x", "b'x'"]])
def test_different_items_with_the_same_text_are_refused(items):
    with pytest.raises(MalformedInputError, match="items must differ when written as text"):
        released(Baskets(list(range(len(items))), items))


def test_different_records_with_the_same_text_are_refused():
    with pytest.raises(MalformedInputError, match="records must differ when written as text"):
        released(Baskets([1, "1", 2], ["tea"] * 3))


@pytest.mark.parametrize(
    ("baskets", "message"),
    [
        (Baskets(["r", "r"], ["canary", "x"], ["canary1", "canary2"]), "1 have several"),
        (Baskets(["canary", "r"], ["x"]), "got 2 records and 1 items"),
        (Baskets(["r", "s"], ["x", "canary"], ["canary"]), "got 1 users for 2 records"),
        (Baskets(["r", "s"], ["canary", None]), "no item may be missing"),
        (Baskets(["r", None], ["canary", "x"]), "no record may be missing"),
        (Baskets(["r", "s"], ["x", "x"], ["canary", None]), "every record must have a user"),
        (Baskets(["r", "s"], [["canary"], "x"]), "every item must be hashable"),
        (Baskets([["canary"], "s"], ["x", "x"]), "every record must be hashable"),
        (Baskets(["canary", "s"], [("canary", 1), "('canary', 1)"]), "items must differ"),
    ],
)
def test_invalid_baskets_are_refused_and_not_shown(baskets, message):
    with pytest.raises(MalformedInputError, match=message) as error:
        released(baskets)
    assert "canary" not in str(error.value)
    assert "canary" not in repr(baskets)


@pytest.mark.parametrize("method", ["best", "paper"])
@pytest.mark.parametrize("users", [None, []])
def test_no_baskets_give_an_empty_release(users, method):
    result = released(Baskets([], [], users), method=method)

    assert result.release == SetRelease((), ())
    assert result.ledger.users == ()
    cost = result.cost
    assert (cost.threads, cost.keywords, cost.certificate.cost.total) == (0, 0, 0)
    assert cost.retained == 1


def test_users_are_read_by_position_not_by_label():
    columns = [1, 2, 3], ["tea"] * 3

    result = released(Baskets(*columns, LabelledColumn(["ann", "bob", "cem"])))

    published = by_record(result, [1, 2, 3])
    assert [published[record][1] for record in (1, 2, 3)] == ["ann", "bob", "cem"]


def test_units_of_queries_are_refused():
    with pytest.raises(InvalidParameterError, match="unit must be left out"):
        released(Baskets([1], ["tea"]), unit="session")
    with pytest.raises(InvalidParameterError, match="unit must be left out"):
        sweep(Baskets([1], ["tea"]), k=2, unit="query")
