"""True owners of published combinations: users who typed all words of a published set together.

A published set of several keywords is that of at least k users, but keywords may have been added
or deleted: fewer than k of these users may have typed the whole combination.

Paper:      none.
Guarantee:  exact counts.
Complexity: that of `SupersetIndex` for the distinct published sets.
Deviation:  none.
"""

from dataclasses import dataclass

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.supersets import SupersetIndex
from setanon_core.columns.users import count_users
from setanon_core.risk.attack_data import AttackData


@dataclass(frozen=True, slots=True)
class CombinationOwners:
    """Published sets of at least two keywords by the number of users who typed them whole.

    An owner of a set typed all of its keywords in one thread. A member is an owner whose thread is
    published with this set.
    """

    k: int
    sets: int
    """Distinct published sets of at least two keywords."""

    owners_below_k: int
    """Sets with fewer than k owners in the complete log."""

    single_owner: int
    no_owner: int
    """Sets that nobody typed: every member differs from the set."""

    members_below_k: int
    """Sets with fewer than k owners among their members."""

    single_member: int
    no_member: int

    @property
    def below_k_share(self) -> float:
        """Share of the sets with fewer than k owners; 0 without sets."""
        return self.owners_below_k / max(self.sets, 1)

    @property
    def single_share(self) -> float:
        """Share of the sets with one owner; 0 without sets."""
        return self.single_owner / max(self.sets, 1)

    @property
    def sentence(self) -> str:
        """The counts of the sets with few owners."""
        return (
            f"{self.owners_below_k:,} of {self.sets:,} published sets of several keywords "
            f"({self.below_k_share:.1%}) were typed whole by fewer than k = {self.k} users, "
            f"{self.single_owner:,} ({self.single_share:.1%}) by one user, "
            f"{self.no_owner:,} by none."
        )


def combination_owners(data: AttackData) -> CombinationOwners:
    """Count the users who typed each published set of several keywords within one thread."""
    first, _, ranks = data.published.keywords.distinct
    distinct = data.published.keywords.take(first)
    several = np.flatnonzero(distinct.sizes > 1)
    sought = distinct.take(several)
    number = np.full(len(first), -1)
    number[several] = np.arange(len(several))
    rows, threads = SupersetIndex(data.typed.keywords).find_all(sought)
    users = data.typed.users
    owners = count_users(rows, users[threads], len(sought))
    # The published set of each typed thread; -1 for withdrawn ones.
    published_as = np.full(len(users), -1)
    published_as[data.published.known_sources] = number[ranks]
    is_member = published_as[threads] == rows
    members = count_users(rows[is_member], users[threads[is_member]], len(sought))
    return CombinationOwners(
        data.k,
        len(sought),
        *(int(count) for count in _few(owners, data.k)),
        *(int(count) for count in _few(members, data.k)),
    )


def _few(counts: Ints, k: int) -> tuple[Ints, ...]:
    return (counts < k).sum(), (counts == 1).sum(), (counts == 0).sum()
