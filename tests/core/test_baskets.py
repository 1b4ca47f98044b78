"""Baskets: lines and pairs in, sets out; a basket is a thread, and users count once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import MalformedInputError, anonymize, verify
from setanon_core.columns.encode import encode_values
from setanon_core.model.inputs import Baskets
from setanon_core.model.publication import SetRelease
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.baskets import release_baskets

SECRET = b"for tests only"
ITEMS = ["tea", "milk", "rum", "rye bread", "a,b"]


def anonymized(baskets, **knobs):
    result = release_baskets(baskets, ReleaseParams(**{"k": 2, "secret": SECRET, **knobs}))
    return result.release, result.ledger, result.cost


def by_record(release, ledger, records):
    """The keywords and the user of each published record, found by its id."""
    _, names = encode_values(list(records), "record")
    ids = dict(zip(ledger.thread_ids, [names[thread] for thread in ledger.threads], strict=True))
    published = dict(zip(release.thread_ids, release.keywords, strict=True))
    users = dict(zip(ledger.thread_ids, ledger.users, strict=True))
    assert published.keys() == users.keys()
    return {ids[name]: (published[name], users[name]) for name in published}


def rows_of(sets, users=None):
    rows = [(record, item) for record, own in enumerate(sets) for item in sorted(own)]
    named = [users[record] for record, _ in rows] if users else None
    return [record for record, _ in rows], [item for _, item in rows], named


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
def test_lines_are_cut_at_the_separator_and_numbered_from_1(lines, separator, baskets):
    found = Baskets.from_lines(lines, separator)

    assert list(zip(found.records, found.items, strict=True)) == baskets
    assert found.users is None


@pytest.mark.parametrize("separator", [None, ",", "\t"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_the_first_cell_is_the_user_where_asked_for(separator, end):
    between = separator or " "
    lines = [between.join(cells) + end for cells in (["ann", "tea", "rum"], ["bob"], ["", ""])]

    found = Baskets.from_lines(iter([*lines, f"cem{between}tea"]), separator, with_user=True)

    assert found.users == ["ann", "ann", "cem"]
    assert (found.records, found.items) == ([1, 1, 4], ["tea", "rum", "tea"])


@pytest.mark.parametrize("line", [",canary", " ,canary,tea", "\t,canary\r\n"])
def test_a_basket_without_user_is_refused_by_its_line_and_not_shown(line):
    with pytest.raises(MalformedInputError, match="line 3 has none") as error:
        Baskets.from_lines(["ann,tea", "", line], ",", with_user=True)
    assert "canary" not in str(error.value)


@settings(max_examples=60)
@given(SETS, st.data(), st.sampled_from(["best", "paper"]))
def test_pairs_in_any_order_give_the_same_release_and_ledger(sets, data, method):
    n = len(sets)
    users = data.draw(st.none() | st.lists(st.sampled_from("vwxyz"), min_size=n, max_size=n))
    records, items, named = rows_of(sets, users)
    order = data.draw(st.permutations(range(len(records))))
    shuffled = Baskets(
        [records[row] for row in order],
        [items[row] for row in order],
        named and [named[row] for row in order],
    )

    first, ledger, cost = anonymized(Baskets(records, items, named), method=method)
    second, other, same = anonymized(shuffled, method=method)

    assert first == second
    assert cost.certificate == same.certificate
    assert by_record(first, ledger, range(n)) == by_record(second, other, range(n))


@settings(max_examples=60)
@given(SETS, st.data())
def test_the_ledger_has_the_user_of_each_basket(sets, data):
    n = len(sets)
    users = data.draw(st.lists(st.sampled_from("vwxyz"), min_size=n, max_size=n))
    records, items, named = rows_of(sets, users)
    # Baskets come in the order of their items, not of their names.
    order = sorted(range(len(records)), key=lambda row: (items[row], -records[row]))
    baskets = Baskets(*([column[row] for row in order] for column in (records, items, named)))

    release, ledger, _ = anonymized(baskets)

    for record, (_, user) in by_record(release, ledger, range(n)).items():
        assert user == users[record]


def test_baskets_of_one_user_count_once():
    lines = ["ann tea milk"] * 5 + ["bob tea milk", "bob tea milk", "cem tea milk"]
    baskets = Baskets.from_lines(lines, with_user=True)

    release, ledger, cost = anonymized(baskets, k=3)
    assert len(release.thread_ids) == 8
    assert verify(release.keywords, 3, users=ledger.users).smallest_group == 3
    assert set(ledger.users) == {"ann", "bob", "cem"}
    assert cost.certificate.cost.total == 0

    nothing, ledger, cost = anonymized(baskets, k=4)
    assert (nothing.thread_ids, ledger.users) == ((), ())
    assert cost.certificate.cost.withdrawals == 8


def test_without_users_every_basket_is_one():
    release, ledger, _ = anonymized(Baskets.from_lines(["tea milk"] * 3), k=3)

    assert sorted(ledger.users) == [1, 2, 3]
    assert release.keywords == (("milk", "tea"),) * 3


@settings(max_examples=80)
@given(SETS, st.integers(2, 4), st.sampled_from(["both", "deletions"]), st.data())
def test_the_cost_is_that_of_anonymize_on_the_same_sets(sets, k, operations, data):
    n = len(sets)
    users = data.draw(st.none() | st.lists(st.sampled_from("vwxyz"), min_size=n, max_size=n))

    release, ledger, cost = anonymized(Baskets(*rows_of(sets, users)), k=k, operations=operations)

    result = anonymize(sets, k, users=users, operations=operations)
    assert cost.certificate == result.certificate
    assert cost.keywords == sum(map(len, sets))
    found = by_record(release, ledger, range(n))
    assert [frozenset(found[n][0]) if n in found else None for n in range(n)] == [*result.records]


def test_items_are_kept_whole_and_published_as_they_are():
    odd = ["Rye Bread", "a,b", " tea ", "", "c\0d", "\u05e9\u05dc\u05d5\u05dd", "\ud800"]
    baskets = Baskets([n for n in range(3) for _ in odd], odd * 3)

    release, _, cost = anonymized(baskets, format="queries")

    assert isinstance(release, SetRelease)
    assert release.keywords == (tuple(sorted(odd)),) * 3
    assert cost.certificate.cost.total == 0


def test_what_is_no_text_is_published_as_text():
    release, _, _ = anonymized(Baskets([1, 1, 1, 2, 2, 2], [1, 2.5, ("x", 1)] * 2))

    assert set(release.keywords) == {("('x', 1)", "1", "2.5")}


@pytest.mark.parametrize("items", [[1, "1"], ["None", "1", 1], [b"x", "b'x'"]])
def test_items_that_look_alike_are_refused(items):
    with pytest.raises(MalformedInputError, match="items must differ when written as text"):
        anonymized(Baskets(list(range(len(items))), items))


def test_records_that_look_alike_are_refused():
    with pytest.raises(MalformedInputError, match="records must differ when written as text"):
        anonymized(Baskets([1, "1", 2], ["tea"] * 3))


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
def test_bad_baskets_are_refused_and_nothing_of_them_is_shown(baskets, message):
    with pytest.raises(MalformedInputError, match=message) as error:
        anonymized(baskets)
    assert "canary" not in str(error.value)
    assert "canary" not in repr(baskets)


@pytest.mark.parametrize("method", ["best", "paper"])
@pytest.mark.parametrize("users", [None, []])
def test_no_baskets_give_an_empty_release(users, method):
    release, ledger, cost = anonymized(Baskets([], [], users), method=method)

    assert release == SetRelease((), ())
    assert ledger.users == ()
    assert (cost.threads, cost.keywords, cost.certificate.cost.total) == (0, 0, 0)
    assert cost.retained == 1


class Labelled(list):
    """A column whose brackets look up labels, not places, as data frames have them."""

    def __getitem__(self, label):
        return list(reversed(self))[label]


def test_users_are_read_by_place_whatever_their_brackets_mean():
    columns = [1, 2, 3], ["tea"] * 3

    release, ledger, _ = anonymized(Baskets(*columns, Labelled(["ann", "bob", "cem"])))

    found = by_record(release, ledger, [1, 2, 3])
    assert [found[record][1] for record in (1, 2, 3)] == ["ann", "bob", "cem"]
