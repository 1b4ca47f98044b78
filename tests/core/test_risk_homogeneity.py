"""What the members of a group have in common, against the definitions."""

import pytest
from support.attacks import EXAMPLES, attack_data, words_of

from setanon_core.risk.homogeneity import Homogeneity, homogeneity


def by_definition(typed, published):
    sets = [words_of(queries) for _, queries in published]
    true = [
        each & words_of(typed[source][1]) for each, (source, _) in zip(sets, published, strict=True)
    ]
    members = {each: [n for n, other in enumerate(sets) if other == each] for each in sets}
    certain = {each for each in members if all(true[n] == each for n in members[each])}
    known = [(n, word) for n, each in enumerate(sets) if len(each) > 1 for word in true[n]]
    implied = {
        word: frozenset.intersection(*(each for each in sets if word in each)) - {word}
        for each in sets
        for word in each
    }
    return Homogeneity(
        groups=len(members),
        threads=len(sets),
        certain_groups=len(certain),
        threads_in_certain_groups=sum(each in certain for each in sets),
        one_list=sum(len({tuple(published[n][1]) for n in members[each]}) == 1 for each in members),
        cells=sum(map(len, sets)),
        true_cells=sum(map(len, true)),
        certain_cells=sum(
            all(word in true[other] for other in members[each]) for each in sets for word in each
        ),
        known_cells=len(known),
        learned_cells=sum(bool(implied[word]) for _, word in known),
        learned_true_cells=sum(bool(implied[word] & true[n]) for n, word in known),
    )


@pytest.mark.parametrize("example", EXAMPLES)
def test_counts_are_those_of_the_definitions(example):
    assert homogeneity(attack_data(*example)) == by_definition(*example)


def test_an_added_word_makes_a_group_uncertain_and_its_word_untrue():
    typed = [("ann", ["tea pot"]), ("bob", ["tea pot"]), ("cem", ["tea"])]
    result = homogeneity(attack_data(typed, [(source, ["tea pot"]) for source in range(3)]))

    assert (result.groups, result.certain_groups) == (1, 0)
    assert (result.cells, result.true_cells, result.certain_cells) == (6, 5, 3)
    # Tea implies pot, which is not true for cem.
    assert (result.known_cells, result.learned_cells, result.learned_true_cells) == (5, 5, 4)
    assert result.true_share == 5 / 6
    assert result.certain_share == 0.5
    assert result.learned_share == 0.8


def test_a_word_with_two_different_companions_discloses_none():
    typed = [("ann", ["tea pot"]), ("bob", ["tea rum"])]
    result = homogeneity(attack_data(typed))

    # Pot and rum disclose tea; tea discloses neither.
    assert (result.known_cells, result.learned_cells) == (4, 2)


def test_all_groups_have_one_list_if_only_sets_are_published():
    typed = [("ann", ["tea pot"]), ("bob", ["pot tea"])]

    assert homogeneity(attack_data(typed)).one_list == 0
    assert homogeneity(attack_data(typed, sets=True)).one_list == 1


def test_sentence():
    assert homogeneity(attack_data([("ann", ["tea pot"])])).sentence == (
        "In 1 of 1 groups every member has the whole published set, so membership discloses it; "
        "100.0% of all published keywords are true for their thread. One known keyword discloses "
        "another true one in 100.0% of the cases."
    )
