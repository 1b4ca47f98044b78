"""Partial knowledge, against a search of all published threads for all persons."""

from collections import Counter

import pytest
from support.attacks import EXAMPLES, attack_data, words_of

from setanon_core import anonymize_log
from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.partial_knowledge import partial_knowledge

K = 3


def outcomes_of(data, **options):
    result = partial_knowledge(data, **options)
    return {(each.knowledge, each.scope, each.known): each for each in result.outcomes}


def counts(outcome):
    kinds = ("correct", "wrong", "below_k", "at_least_k", "none")
    return Counter({kind: getattr(outcome, kind) for kind in kinds if getattr(outcome, kind)})


def kind_of(candidates, person):
    if len(candidates) == 1:
        return "correct" if person in candidates else "wrong"
    return "none" if not candidates else "below_k" if len(candidates) < K else "at_least_k"


def users_of_nearest(published, own, distance):
    """The users of the nearest threads; typed thread n is of user n."""
    distances = {source: distance(queries, own) for source, queries in published}
    distances = {source: each for source, each in distances.items() if each is not None}
    return {source for source, each in distances.items() if each == min(distances.values())}


def set_distance(queries, own):
    one, other = words_of(queries), words_of(own)
    return len(one ^ other) if one & other else None


def list_distance(queries, own):
    def cells(texts):
        return {(n, word) for n, text in enumerate(texts) for word in text.split()}

    if not cells(queries) & cells(own):
        return None
    equal = sum(one == other for one, other in zip(queries, own, strict=False))
    return len(cells(queries) ^ cells(own)), len(queries) - 2 * equal


def one_thread_each(example):
    typed, published = example
    return [(number, queries) for number, (_, queries) in enumerate(typed)], published


@pytest.mark.parametrize("example", EXAMPLES)
def test_whole_threads_single_out_as_in_the_definition(example):
    typed, published = one_thread_each(example)
    found = outcomes_of(attack_data(typed, published, k=K), known=(4,))
    expected = {name: Counter() for name in ("contained", "all keywords", "all queries")}
    for person, own in typed:
        supersets = {source for source, each in published if words_of(own) <= words_of(each)}
        expected["contained"][kind_of(supersets, person)] += 1
        for name, distance in (("all keywords", set_distance), ("all queries", list_distance)):
            expected[name][kind_of(users_of_nearest(published, own, distance), person)] += 1

    # No thread has more than four keywords.
    for knowledge in ("random keywords", "rarest keywords"):
        assert counts(found[knowledge, "thread", 4]) == expected["contained"]
    for knowledge in ("all keywords", "all queries"):
        assert counts(found[knowledge, "thread", None]) == expected[knowledge]


@pytest.mark.parametrize("example", EXAMPLES)
def test_keywords_of_all_threads_single_out_as_in_the_definition(example):
    typed, published = example
    found = outcomes_of(attack_data(typed, published, k=K), known=(4,))
    own, linked = {}, {}
    for user, queries in typed:
        own[user] = own.get(user, frozenset()) | words_of(queries)
    for source, queries in published:
        user = typed[source][0]
        linked[user] = linked.get(user, frozenset()) | words_of(queries)
    expected = Counter(
        kind_of({user for user, words in linked.items() if own[person] <= words}, person)
        for person in own
    )

    for knowledge in ("random keywords", "rarest keywords"):
        assert counts(found[knowledge, "person", 4]) == expected


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("example", EXAMPLES[::2])
def test_one_query_singles_out_as_in_the_definition(example, sets):
    typed, published = one_thread_each(example)
    typed = [(user, queries[:1]) for user, queries in typed]  # so that the query is known
    found = outcomes_of(attack_data(typed, published, k=K, sets=sets))
    expected = Counter()
    for person, (query,) in typed:
        matches = {
            source
            for source, each in published
            if (words_of([query]) <= words_of(each) if sets else query in each)
        }
        expected[kind_of(matches, person)] += 1

    assert counts(found["one query", "thread", None]) == expected
    assert (("all queries", "thread", None) in found) == (not sets)


def test_the_rarest_keyword_singles_out_its_only_user():
    typed = [(user, [f"common rare{user}"]) for user in range(5)]
    found = outcomes_of(attack_data(typed, k=K), known=(1,))

    assert found["rarest keywords", "thread", 1].correct == 5
    assert found["rarest keywords", "person", 1].correct == 5
    random = found["random keywords", "thread", 1]
    assert random.correct + random.at_least_k == 5


def test_every_random_keyword_is_known_at_times():
    data = attack_data([(user, [f"common rare{user}"]) for user in range(200)], k=K)
    correct = outcomes_of(data, known=(1,))["random keywords", "thread", 1].correct

    assert 70 < correct < 130


def test_knowledge_grows_with_the_number_of_keywords():
    typed = [(user, [f"a{user & 1} b{user & 2} c{user & 4}"]) for user in range(8)]
    found = outcomes_of(attack_data(typed, k=K))

    correct = [found["random keywords", "thread", known].correct for known in (1, 2, 4, 8)]
    assert correct == [0, 0, 8, 8]


def test_word_order_decides_between_threads_with_equal_words():
    typed = [("ann", ["tea pot"]), ("bob", ["pot tea"]), ("cem", ["pot pot tea"])]

    assert outcomes_of(attack_data(typed))["all queries", "thread", None].correct == 3
    assert outcomes_of(attack_data(typed))["all keywords", "thread", None].correct == 0


def test_sample_has_distinct_persons_and_depends_on_the_seed_only():
    typed = [(user, [f"w{user % 7} v{user % 5}"]) for user in range(40)] * 2
    data = attack_data(typed, k=K)
    one, again, other = (partial_knowledge(data, persons=9, seed=seed) for seed in (1, 1, 2))

    assert {each.persons for each in one.outcomes} == {9}
    assert one == again
    assert one != other
    assert {each.persons for each in partial_knowledge(data).outcomes} == {40}


LOG = [
    (f"u{user}", 100 * user + time, query)
    for user in range(9)
    for time, query in enumerate(["pine straw", "pine straw mulch"][: 1 + user % 2] * (1 + user))
]


@pytest.mark.parametrize("form", ["edited", "queries", "sets"])
def test_releases_with_and_without_lists(form):
    result = anonymize_log(LOG, k=3, format=form, secret=b"for tests only")
    data = AttackData.from_result(LOG, result)
    found = partial_knowledge(data)
    worst = found.worst()

    if form == "edited":
        assert worst.knowledge == "all queries"
        assert worst.singled_out > 0
        assert worst.correct_share == worst.correct / 9
    else:
        assert worst.singled_out == 0
        assert all(each.below_k == 0 for each in found.outcomes if each.scope == "thread")
    assert found.sentence == worst.sentence
    assert "singles out" in found.sentence


def test_sentence_states_knowledge_and_counts():
    found = outcomes_of(attack_data([("ann", ["tea"]), ("bob", ["rum"])]))

    assert found["rarest keywords", "person", 2].sentence == (
        "Knowing up to 2 rarest keywords of all threads singles out 2 of 2 persons correctly "
        "(100.0%), 0 wrongly; 0 have at least k candidates."
    )
