"""Linking of threads: the scorer, its measures, and logs whose threads can or cannot be linked."""

import random
from math import isnan

import numpy as np
import pytest
from support.attacks import attack_data

from setanon_core.risk import stitching as module
from setanon_core.risk.pair_features import PairFeatures
from setanon_core.risk.stitching import (
    Stitching,
    area_under_curve,
    lineup_hits,
    precision_at,
    stitching,
)
from setanon_core.risk.thread_habits import thread_habits

SMALL = {"pairs": 300, "lineups": 20}


def log(own_words, users=120, threads=4, seed=1):
    """Threads of random words, and of a word of the user's own with this probability."""
    rng = random.Random(seed)  # noqa: S311 - example data
    return [
        (user, [f"{rng.choice('abcdefgh')} w{user if rng.random() < own_words else rng.random()}"])
        for user in range(users)
        for _ in range(threads)
    ]


def brute_force_auc(scores, positive):
    wins = [
        (one > other) + (one == other) / 2
        for one, is_one in zip(scores, positive, strict=True)
        for other, is_other in zip(scores, positive, strict=True)
        if is_one and not is_other
    ]
    return sum(wins) / len(wins)


@pytest.mark.parametrize("seed", range(10))
def test_area_under_the_curve_is_the_share_of_pairs_won(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, 20).astype(float)
    positive = np.arange(20) < 7

    assert area_under_curve(scores, positive) == pytest.approx(brute_force_auc(scores, positive))


@pytest.mark.parametrize("seed", range(4))
def test_precision_and_hits_are_means_over_all_orders_of_ties(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, 12).astype(float)
    positive = rng.random(12) < 0.5
    shuffles = [rng.permutation(12) for _ in range(2000)]
    top = [
        positive[order[np.argsort(-scores[order], kind="stable")[:5]]].mean() for order in shuffles
    ]
    assert precision_at(scores, positive, 5) == pytest.approx(np.mean(top), abs=0.03)

    rows = rng.integers(0, 2, (3, 4)).astype(float)
    expected = sum((row[0] == row.max()) / np.count_nonzero(row == row.max()) for row in rows)
    assert lineup_hits(rows) == pytest.approx(expected)


def test_threads_with_a_word_of_their_user_are_linked():
    result = stitching(attack_data(log(own_words=0.9)), **SMALL)

    assert result.users == 120
    assert result.pairs == 300
    assert result.auc > 0.85
    assert result.auc_unsupervised > 0.85
    assert result.precision_at_top > 0.95
    assert result.hit_share > 0.6
    assert "AUC" in result.sentence


def test_independent_threads_are_linked_by_chance_only():
    result = stitching(attack_data(log(own_words=0)), **SMALL)

    assert 0.4 < result.auc < 0.6
    assert 0.4 < result.auc_unsupervised < 0.6
    assert result.hit_share < 0.2


@pytest.mark.parametrize("sets", [False, True])
def test_a_habit_alone_links_threads(sets):
    rng = random.Random(2)  # noqa: S311 - example data
    typed = [
        (user, [" ".join(f"x{rng.random()}" for _ in range(1 + user % 6))])
        for user in range(120)
        for _ in range(3)
    ]

    assert stitching(attack_data(typed, sets=sets), **SMALL).auc > 0.8


def test_topics_of_other_users_link_threads_without_a_common_word():
    rng = random.Random(3)  # noqa: S311 - example data
    fields = [[f"{letter}{number}" for number in range(6)] for letter in "abcdefghijkl"]
    typed = [
        (user, [word]) for user in range(240) for word in rng.sample(fields[user % len(fields)], 3)
    ]
    result = stitching(attack_data(typed), **SMALL)

    assert result.auc > 0.8
    assert result.auc_unsupervised < 0.65  # no thread has two words, so no topics are known


def test_equal_seeds_give_equal_results():
    data = attack_data(log(own_words=0.5))
    one, again, other = (stitching(data, **SMALL, seed=seed) for seed in (1, 1, 2))

    assert one == again
    assert one != other


def test_users_are_either_learned_from_or_tested(monkeypatch):
    sampled = []
    original = module._ThreadsByUser.sample_pairs  # noqa: SLF001 - records what is sampled

    def record(self, rng, users, n):
        sampled.append((set(users.tolist()), original(self, rng, users, n)))
        return sampled[-1][1]

    profiled = []
    features_of = PairFeatures.of
    monkeypatch.setattr(module._ThreadsByUser, "sample_pairs", record)  # noqa: SLF001
    monkeypatch.setattr(
        PairFeatures, "of", lambda *args: profiled.append(args[2]) or features_of(*args)
    )
    data = attack_data(log(own_words=0.5))
    stitching(data, **SMALL)
    users = data.published.users
    (train, train_pairs), (test, test_pairs) = sampled
    known = set(users[profiled[0]].tolist())

    assert not train & test
    assert not known & (train | test)
    assert known | train | test == set(range(120))
    for chosen, (left, right) in ((train, train_pairs), (test, test_pairs)):
        same = users[left] == users[right]
        assert same.tolist() == [True] * 300 + [False] * 300
        assert (left != right).all()
        assert set(users[left].tolist()) | set(users[right].tolist()) <= chosen


def test_lineups_have_one_thread_of_the_same_user_first():
    users = np.repeat(np.arange(30), 3)
    by_user = module._ThreadsByUser.of(users)  # noqa: SLF001
    targets, candidates = by_user.sample_lineups(np.random.default_rng(0), np.arange(30), 50)

    assert targets.shape == candidates.shape == (50, module.LINEUP)
    same = users[targets] == users[candidates]
    assert same[:, 0].all()
    assert not same[:, 1:].any()
    assert (targets[:, 0] != candidates[:, 0]).all()


@pytest.mark.parametrize("typed", [[], [("ann", ["a"])], log(own_words=1, users=7)])
def test_too_few_users_give_no_numbers(typed):
    result = stitching(attack_data(typed))

    assert result.pairs == 0
    assert isnan(result.auc)
    assert result.sentence.startswith("Too few users")


def test_sentence_has_all_numbers():
    assert Stitching(9, 40, 0.61, 0.6, 10, 0.9, 50, 100, 5.0).sentence == (
        "Of the 10 most similar pairs of threads, 90.0% are of one user (guessing: 50.0%); the "
        "other thread of a user is found among 100 in 10.0% of 50 cases (guessing: 1.0%). AUC: "
        "0.610 (guessing: 0.5, always right: 1)."
    )


def test_features_of_hand_made_pairs():
    typed = [(0, ["tea pot"]), (0, ["tea pot"]), (1, ["tea rum"]), (1, ["ash"]), (2, ["ash tea"])]
    data = attack_data(typed)
    features = PairFeatures.of(data.published, data.distinct, np.array([0, 1]), 0)
    equal, similar, different = features.of_pairs(np.array([0, 0, 0]), np.array([1, 2, 3]))
    idf_tea, idf_pot, idf_rum = np.log([5 / 4, 5 / 2, 5]) + 0.01

    assert equal[0] == pytest.approx(idf_tea + idf_pot)
    assert equal[2] == pytest.approx(idf_pot)
    assert (equal[3], equal[4]) == (pytest.approx(1), 1)
    assert similar[0] == similar[2] == pytest.approx(idf_tea)
    assert similar[3] == pytest.approx(idf_tea / (idf_tea + idf_pot + idf_rum))
    assert (equal[5] > 0, similar[5]) == (True, 0)
    assert different[:6].tolist() == [0] * 6


def test_habits_of_hand_made_threads():
    data = attack_data([(0, ["b a", "b a", "x1.com"]), (1, ["a b"]), (2, ["a"])])
    habits = thread_habits(data.published, data.distinct)

    assert np.allclose(habits[:, 0], np.log1p([3, 2, 1]))  # keywords
    assert np.allclose(habits[:, 1], [8 / 3, 1, 1])  # letters per keyword
    assert np.allclose(habits[:, 2], [1 / 3, 0, 0])  # not only letters
    assert np.allclose(habits[:, 3], [1 / 3, 0, 0])  # addresses
    assert np.allclose(habits[:, 5], np.log1p([3, 1, 1]))  # queries
    assert np.allclose(habits[:, 6], np.log1p([2, 1, 1]))  # distinct queries
    assert np.allclose(habits[:, 7], [1 / 3, 0, 0])  # repetitions
    assert np.allclose(habits[:, 8], [5 / 3, 2, 1])  # words per query
    assert np.allclose(habits[:, 9], [-2 / 3, 1, 0])  # alphabetical order
    assert np.allclose(habits[:, 10], [2 / 3, -1, 0])  # rarer word first
