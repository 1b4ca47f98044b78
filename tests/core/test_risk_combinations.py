"""True owners of published combinations, against a search of all threads."""

import pytest
from support.attacks import EXAMPLES, attack_data, words_of

from setanon_core import anonymize_log
from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.combinations import combination_owners


@pytest.mark.parametrize("example", EXAMPLES)
def test_owners_are_counted_as_in_the_definition(example):
    typed, published = example
    combinations = {words_of(queries) for _, queries in published}
    combinations = [each for each in combinations if len(each) > 1]
    owners = [
        len({user for user, queries in typed if each <= words_of(queries)}) for each in combinations
    ]
    members = [
        len(
            {
                typed[source][0]
                for source, queries in published
                if words_of(queries) == each and each <= words_of(typed[source][1])
            }
        )
        for each in combinations
    ]
    result = combination_owners(attack_data(typed, published, k=3))

    assert result.sets == len(combinations)
    assert result.owners_below_k == sum(count < 3 for count in owners)
    assert (result.single_owner, result.no_owner) == (owners.count(1), owners.count(0))
    assert result.members_below_k == sum(count < 3 for count in members)
    assert (result.single_member, result.no_member) == (members.count(1), members.count(0))


def test_a_combination_that_three_users_share_but_one_typed():
    typed = [("ann", ["tea pot"]), ("bob", ["tea"]), ("cem", ["pot"]), ("dan", ["pot", "tea rum"])]
    published = [(source, ["tea pot"]) for source in range(3)]
    result = combination_owners(attack_data(typed, published, k=3))

    assert (result.owners_below_k, result.single_owner, result.no_owner) == (1, 0, 0)
    assert (result.members_below_k, result.single_member, result.no_member) == (1, 1, 0)
    assert result.sentence == (
        "1 of 1 published sets of several keywords (100.0%) were typed whole by fewer than k = 3 "
        "users, 0 (0.0%) by one user, 0 by none."
    )


def test_words_of_different_threads_are_no_combination():
    typed = [("ann", ["tea"]), ("ann", ["pot"]), ("bob", ["tea pot"])]
    result = combination_owners(attack_data(typed, [(2, ["tea pot"])]))

    assert result.single_owner == 1


def test_deletions_publish_only_combinations_of_k_owners():
    log = [
        (f"u{user}", user, " ".join(word for bit, word in enumerate("abcd") if user >> bit & 1))
        for user in range(1, 16)
    ]
    both, deletions = (
        combination_owners(
            AttackData.from_result(
                log, anonymize_log(log, k=3, operations=operations, secret=b"for tests only")
            )
        )
        for operations in ("both", "deletions")
    )

    assert both.members_below_k > 0
    assert deletions.sets > 0
    assert deletions.owners_below_k == deletions.members_below_k == 0
