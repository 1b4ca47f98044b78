"""Attack data: one numbering for what was typed and what is published."""

import itertools

import pytest
from support.attacks import EXAMPLES, attack_data, words_of

from setanon_core import Baskets, InvalidParameterError, MalformedInputError, anonymize_baskets
from setanon_core.model.publication import Ledger, QueryRelease, SetRelease
from setanon_core.pipeline.log import anonymize_log
from setanon_core.risk.attack_data import AttackData, TypedRows

CANARY = "glimmerwick"
LOG = [("ann", 1, "Pine straw"), ("bob", 2, "straw, pine"), ("cem", 3, CANARY), ("ann", 4, "?!")]


def texts(data, queries, offsets):
    """The queries of each thread as texts."""
    words, bounds = data.distinct.words.tolist(), data.distinct.offsets.tolist()
    spelled = [
        " ".join(data.distinct.vocabulary[word] for word in words[low:high])
        for low, high in itertools.pairwise(bounds)
    ]
    return [
        [spelled[query] for query in queries[low:high].tolist()]
        for low, high in itertools.pairwise(offsets)
    ]


def sets_of(data, sets):
    names = data.distinct.vocabulary
    return [
        frozenset(names[item] for item in sets.items[low:high].tolist())
        for low, high in zip(sets.offsets[:-1], sets.offsets[1:], strict=True)
    ]


@pytest.mark.parametrize("example", EXAMPLES)
def test_columns_have_the_texts_users_and_sources_of_the_threads(example):
    typed, published = example
    data = attack_data(typed, published)

    assert texts(data, data.typed.queries, data.typed.offsets) == [each for _, each in typed]
    assert texts(data, data.published.queries, data.published.offsets) == [
        each for _, each in published
    ]
    assert sets_of(data, data.typed.keywords) == [words_of(each) for _, each in typed]
    assert sets_of(data, data.published.keywords) == [words_of(each) for _, each in published]
    assert data.published.sources.tolist() == [source for source, _ in published]
    by_number = dict(zip(data.typed.users.tolist(), (user for user, _ in typed), strict=True))
    assert [by_number[user] for user in data.published.users.tolist()] == [
        typed[source][0] for source, _ in published
    ]
    assert len(by_number) == len({user for user, _ in typed})


@pytest.mark.parametrize("example", EXAMPLES)
def test_lists_have_one_rank_if_and_only_if_they_are_equal(example):
    typed, published = example
    lists = [tuple(queries) for _, queries in published]
    ranks = attack_data(typed, published).published.list_ranks().tolist()

    assert len(set(zip(lists, ranks, strict=True))) == len(set(lists)) == len(set(ranks))


def test_sets_have_no_lists_in_the_release_nor_in_the_raw_log_beside_it():
    data = attack_data([("ann", ["pine straw", "pine"])], sets=True)

    for published in (data.published, data.unedited().published):
        assert not published.has_lists
        assert len(published.queries) == 0
        assert published.offsets.tolist() == [0, 0]


def test_raw_log_has_all_threads_as_typed():
    data = attack_data([("ann", ["a b", "b"]), ("bob", ["b a"])], [(1, ["a"])]).unedited()

    assert texts(data, data.published.queries, data.published.offsets) == [["a b", "b"], ["b a"]]
    assert data.published.users.tolist() == data.typed.users.tolist()
    assert data.published.sources.tolist() == [0, 1]


@pytest.mark.parametrize("form", ["edited", "queries", "sets"])
def test_data_of_a_release_in_memory(form):
    result = anonymize_log(LOG, k=2, format=form, secret=b"for tests only")
    data = AttackData.from_result(LOG, result)

    assert data.published.has_lists == (form != "sets")
    assert sets_of(data, data.published.keywords) == [{"pine", "straw"}] * 2
    assert sorted(sets_of(data, data.typed.keywords), key=sorted) == [
        set(),
        {CANARY},
        {"pine", "straw"},
        {"pine", "straw"},
    ]
    assert len(set(data.published.users.tolist())) == 2


def test_data_of_baskets():
    baskets = Baskets([1, 1, 2, 2, 3], ["tea", "milk", "milk", "tea", "rum"])
    data = AttackData.from_result(baskets, anonymize_baskets(baskets, k=2, secret=b"s"))

    assert sets_of(data, data.typed.keywords) == [{"tea", "milk"}, {"tea", "milk"}, {"rum"}]
    assert sets_of(data, data.published.keywords) == [{"tea", "milk"}] * 2


def test_users_are_those_of_the_typed_threads_even_if_the_ledger_names_others():
    typed = TypedRows([0, 1], ["ann", "ann"], ["a", "a"])
    release = SetRelease(("1", "2"), (("a",), ("a",)))
    data = AttackData.from_columns(typed, release, Ledger(("1", "2"), (0, 1), ("x", "y")), k=2)

    assert data.published.users.tolist() == [0, 0]


def test_queries_are_compared_after_tokenizing():
    typed = TypedRows([0, 0], ["ann", "ann"], ["Pine, straw!", "pine straw"])
    data = AttackData.from_columns(typed, QueryRelease((), (), ()), None, k=2)

    assert data.typed.queries.tolist() == [0, 0]


def test_attacks_that_need_a_ledger_refuse_data_without_one():
    published = attack_data([("ann", ["a"])], ledger=False).published

    for name in ("known_users", "known_sources"):
        with pytest.raises(InvalidParameterError, match=r"needs the .* of the ledger"):
            getattr(published, name)


@pytest.mark.parametrize("threads_", [[1, 0], [1, 2], [0, 2]])
def test_typed_threads_must_be_sorted_and_numbered(threads_):
    typed = TypedRows(threads_, ["ann", "bob"], ["a", "b"])
    with pytest.raises(MalformedInputError, match="sorted and numbered from 0 to 1"):
        AttackData.from_columns(typed, SetRelease((), ()), None, k=2)


@pytest.mark.parametrize("ledger", [Ledger((), (), ()), Ledger(("1",), (5,), ("ann",))])
def test_ledger_must_name_typed_threads(ledger):
    typed = TypedRows([0], ["ann"], [CANARY])
    with pytest.raises(MalformedInputError, match="1 have none") as raised:
        AttackData.from_columns(typed, SetRelease(("1",), (("a",),)), ledger, k=2)
    assert CANARY not in str(raised.value)


def test_representations_have_no_data():
    data = attack_data([("ann", [CANARY])])

    for each in (data, data.typed, data.published, data.distinct, TypedRows([0], ["x"], [CANARY])):
        assert CANARY not in repr(each)
