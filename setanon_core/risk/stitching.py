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

from setanon_core.risk.attack_data import AttackData

PAIRS: Final = 4000
"""Pairs of threads of one user, sampled by default; as many pairs of two users are sampled."""

TOP: Final = 100
"""The N of precision at N."""

LINEUP: Final = 100
"""Threads in a lineup: one of the same user, the others of other users."""


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
    """The same for the scorer with fixed weights."""

    top: int
    """N: the pairs with the highest scores."""

    precision_at_top: float
    """Share of the N highest pairs that are pairs of one user; chance is 0.5."""

    lineups: int
    """Threads for which a thread of the same user was sought among `lineup` threads."""

    lineup: int
    hits: int
    """Lineups in which the thread of the same user scored highest; ties count in part."""

    @property
    def hit_share(self) -> float:
        """Share of the lineups with a hit; chance is 1 / `lineup`."""
        return self.hits / max(self.lineups, 1)

    @property
    def sentence(self) -> str:
        """AUC, precision and hits against chance."""
        if not self.pairs:
            return "Fewer than two users have two published threads each: nothing can be linked."
        return (
            f"Threads of one user are told apart from threads of two users with AUC {self.auc:.3f} "
            f"(chance 0.5); {self.precision_at_top:.0%} of the {self.top} most similar pairs are "
            f"of one user (chance 50%), and the right thread among {self.lineup} is found in "
            f"{self.hit_share:.1%} of {self.lineups} cases (chance {1 / self.lineup:.1%})."
        )


def stitching(data: AttackData, *, pairs: int = PAIRS, seed: int = 0) -> Stitching:
    """Sample pairs of published threads, fit a scorer on half of the users, test it on the rest."""
    raise NotImplementedError(repr(data), pairs, seed)
