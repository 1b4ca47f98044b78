"""Items of keywords: exact identity, and classes of equal Min-Hashes."""

import numpy as np
import pytest

from setanon_core.keywords.identity import item_names, items_of


def test_exact_identity_gives_one_item_per_keyword():
    assert items_of(["a", "aa", "b"]).tolist() == [0, 1, 2]
    assert items_of(["listen", "silent"]).tolist() == [0, 1]
    assert list(item_names(["listen", "silent"])[0]) == ["listen", "silent"]


def test_repeated_characters_are_distinct_elements():
    # Equal as sets of characters; as multisets they share 2 of 4 elements.
    pairs = [items_of(["ab", "aabb"], "minhash", hashes=1, seed=seed) for seed in range(400)]
    equal_share = np.mean([first == second for first, second in pairs])

    assert 0.38 < equal_share < 0.62


@pytest.mark.parametrize("identity", ["exact", "minhash"])
def test_item_name_depends_on_the_keyword_alone(identity):
    words = ["listen", "shelter", "silent", "zebra"]
    names, numbers = item_names(words, identity)
    assert list(names) == sorted(set(names))
    for word, number in zip(words, numbers.tolist(), strict=True):
        assert item_names([word], identity)[0] == [names[number]]
    items = items_of(words, identity)
    pairs = set(zip(items.tolist(), numbers.tolist(), strict=True))
    assert len(pairs) == len(set(items.tolist()))
    assert item_names([], identity)[1].tolist() == []


def test_items_do_not_depend_on_other_keywords():
    with_other = items_of(["caffeine", "caffiene", "shelter"], "minhash")
    alone = items_of(["caffeine", "caffiene"], "minhash")

    assert (with_other[0] == with_other[1]) == (alone[0] == alone[1])
    assert with_other[0] == with_other[1]  # the same letters in another order


def test_keywords_share_an_item_if_three_min_hashes_are_equal():
    # The two words of a pair share 3 of 5 characters: one Min-Hash is equal with probability 3/5,
    # three are with probability 27/125.
    letters = [chr(code) for code in range(0x4E00, 0x4E00 + 5 * 200)]
    fives = ["".join(letters[start : start + 5]) for start in range(0, len(letters), 5)]
    words = [word for five in fives for word in (five[:4], five[:3] + five[4])]

    items, numbers = items_of(words, "minhash"), item_names(words, "minhash")[1]
    shared = items[::2] == items[1::2]

    assert 0.12 < np.mean(shared) < 0.32
    assert (numbers[::2] == numbers[1::2]).tolist() == shared.tolist()
