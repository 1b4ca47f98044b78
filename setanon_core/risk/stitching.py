"""Stitching: link the published threads of one user.

A scorer compares two published threads by shared keywords, topics, style and shape. Without the
ledger its weights are fixed; with the ledger they are fitted on half of the users and tested on
the other half, which bounds what an attacker with other knowledge of some users could achieve.

Paper:      section 5.5 names the problem and leaves it open.
Guarantee:  none; heuristic: another scorer may be better. Deterministic for a seed.
Complexity: O(W log W) for W words, a truncated singular value decomposition, and O(pairs).
Deviation:  none.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from setanon_core.columns.arrays import Bools, Ints, offsets_of
from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.logistic import fit_logistic
from setanon_core.risk.pair_features import PairFeatures, unsupervised_scores

Floats = npt.NDArray[np.float64]

PAIRS: Final = 4000
"""Pairs of threads of one user, sampled by default; as many pairs of two users are sampled."""

TOP: Final = 100
"""The N of precision at N."""

LINEUP: Final = 100
"""Threads in a lineup: one of the same user, the others of other users."""

LINEUPS: Final = 500
"""Lineups tried by default."""

MIN_USERS: Final = 4
"""Users with two threads that each half must have."""


@dataclass(frozen=True, slots=True)
class Stitching:
    """How well a scorer separates pairs of threads of one user from pairs of two users."""

    users: int
    """Users with at least two published threads."""

    pairs: int
    """Tested pairs of one user; as many pairs of two users were tested. 0: too few users."""

    auc: float
    """Probability that a pair of one user scores higher than a pair of two; chance is 0.5."""

    auc_unsupervised: float
    """AUC of the scorer with fixed weights, which needs no ledger; chance is 0.5."""

    top: int
    """N: the pairs with the highest scores."""

    precision_at_top: float
    """Share of the N highest pairs that are pairs of one user; chance is 0.5."""

    lineups: int
    """Threads for which a thread of the same user was sought among `lineup` threads."""

    lineup: int
    hits: float
    """Expected number of lineups in which the thread of the same user scores highest."""

    @property
    def hit_share(self) -> float:
        """Share of the lineups with a hit; chance is 1 / `lineup`."""
        return self.hits / max(self.lineups, 1)

    @property
    def sentence(self) -> str:
        """AUC, precision and hits against chance."""
        if not self.pairs:
            return "Too few users have two published threads: links were not tested."
        return (
            f"Of the {self.top:,} most similar pairs of threads, {self.precision_at_top:.1%} are "
            "of one user (guessing: 50.0%); the other thread of a user is found among "
            f"{self.lineup:,} in {self.hit_share:.1%} of {self.lineups:,} cases (guessing: "
            f"{1 / self.lineup:.1%}). AUC: {self.auc:.3f} (guessing: 0.5, always right: 1)."
        )


def stitching(
    data: AttackData, *, pairs: int = PAIRS, lineups: int = LINEUPS, seed: int = 0
) -> Stitching:
    """Sample pairs of published threads, fit a scorer on half of the users, test it on the rest.

    Needs the users of the ledger. A user with many threads is sampled as often as one with two.
    """
    published = data.published
    rng = np.random.default_rng(seed)
    users = _ThreadsByUser.of(published.known_users)
    several = rng.permutation(np.flatnonzero(users.counts > 1))
    train, test = several[: len(several) // 2], several[len(several) // 2 :]
    if min(len(train), len(test)) < MIN_USERS:
        nan = float("nan")
        return Stitching(len(several), 0, nan, nan, 0, nan, 0, LINEUP, 0.0)
    # One BLAS thread: equal results on every number of cores.
    with ThreadpoolController().limit(limits=1):
        return _fit_and_test(data, users, (train, test), (pairs, lineups), seed)


def _fit_and_test(
    data: AttackData,
    users: "_ThreadsByUser",
    halves: tuple[Ints, Ints],
    sizes: tuple[int, int],
    seed: int,
) -> Stitching:
    (train, test), (pairs, lineups) = halves, sizes
    published = data.published
    rng = np.random.default_rng((seed, 1))
    # Interests and weights are learned from different users: the interests of a user predict the
    # user's own pairs too well.
    profiled, train = np.split(train, [len(train) * 2 // 3])
    known = np.flatnonzero(np.isin(published.known_users, profiled))
    features = PairFeatures.of(published, data.distinct, known, seed)
    same = np.arange(2 * pairs) < pairs
    model = fit_logistic(features.of_pairs(*users.sample_pairs(rng, train, pairs)), same)
    tested = features.of_pairs(*users.sample_pairs(rng, test, pairs))
    scores = model.scores(tested)
    top = min(TOP, pairs)
    targets, candidates = users.sample_lineups(rng, test, lineups)
    lineup_scores = model.scores(features.of_pairs(targets.ravel(), candidates.ravel()))
    return Stitching(
        users=len(profiled) + len(train) + len(test),
        pairs=pairs,
        auc=area_under_curve(scores, same),
        auc_unsupervised=area_under_curve(unsupervised_scores(tested), same),
        top=top,
        precision_at_top=precision_at(scores, same, top),
        lineups=lineups,
        lineup=LINEUP,
        hits=lineup_hits(lineup_scores.reshape(lineups, LINEUP)),
    )


def area_under_curve(scores: Floats, positive: Bools) -> float:
    """Probability that a positive scores higher than a negative; ties count half.

    >>> area_under_curve(np.array([0.1, 0.5, 0.5, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    from scipy.stats import rankdata  # 0.3 s, and loaded with the definitions otherwise

    wins = rankdata(scores)[positive].sum() - positive.sum() * (positive.sum() + 1) / 2
    return float(wins / (positive.sum() * (~positive).sum()))


def precision_at(scores: Floats, positive: Bools, n: int) -> float:
    """Expected share of positives among the n highest scores; ties are in random order.

    >>> precision_at(np.array([3.0, 2.0, 2.0, 1.0]), np.array([True, True, False, True]), 2)
    0.75
    """
    lowest = np.sort(scores)[-n]
    above, tied = scores > lowest, scores == lowest
    certain = positive[above].sum()
    return float((certain + (n - above.sum()) * positive[tied].mean()) / n)


def lineup_hits(scores: Floats) -> float:
    """Expected number of rows whose first column is chosen as the highest score of the row.

    >>> lineup_hits(np.array([[2.0, 1.0], [1.0, 1.0], [0.0, 1.0]]))
    1.5
    """
    highest = scores == scores.max(axis=1, keepdims=True)
    return float((highest[:, 0] / highest.sum(axis=1)).sum())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _ThreadsByUser:
    """The threads of each user number."""

    threads: Ints
    begins: Ints
    counts: Ints

    @classmethod
    def of(cls, users: Ints) -> "_ThreadsByUser":
        counts = np.bincount(users, minlength=1)
        return cls(np.argsort(users, kind="stable"), offsets_of(counts)[:-1], counts)

    def sample_pairs(self, rng: np.random.Generator, users: Ints, n: int) -> tuple[Ints, Ints]:
        """Two columns of threads: n pairs of one user each, then n pairs of two users."""
        left, right = self._two_of(rng, users[rng.integers(0, len(users), n)])
        # Two different users: the second is at a random distance from the first, in a circle.
        one = rng.integers(0, len(users), n)
        other = (one + rng.integers(1, len(users), n)) % len(users)
        return (
            np.concatenate((left, self._one_of(rng, users[one]))),
            np.concatenate((right, self._one_of(rng, users[other]))),
        )

    def sample_lineups(self, rng: np.random.Generator, users: Ints, n: int) -> tuple[Ints, Ints]:
        """N rows of `LINEUP` pairs: the first is of one user, the others are of two users."""
        one = rng.integers(0, len(users), n)
        target, own = self._two_of(rng, users[one])
        distance = rng.integers(1, len(users), (n, LINEUP - 1))
        decoys = self._one_of(rng, users[(one[:, None] + distance) % len(users)].ravel())
        candidates = np.column_stack((own, decoys.reshape(n, LINEUP - 1)))
        return np.repeat(target[:, None], LINEUP, axis=1), candidates

    def _one_of(self, rng: np.random.Generator, users: Ints) -> Ints:
        """A random thread of each user."""
        threads: Ints = self.threads[self.begins[users] + rng.integers(0, self.counts[users])]
        return threads

    def _two_of(self, rng: np.random.Generator, users: Ints) -> tuple[Ints, Ints]:
        """Two different random threads of each user."""
        first = rng.integers(0, self.counts[users])
        second = rng.integers(0, self.counts[users] - 1)
        second += second >= first
        return self.threads[self.begins[users] + first], self.threads[self.begins[users] + second]
