"""Uniqueness of each view of a published thread: set, set and number of queries, list of queries.

Paper:      none; Definition 1 concerns the set only.
Guarantee:  exact counts of distinct users; no hash is compared.
Complexity: O(W log W) for W words.
Deviation:  none.
"""

from dataclasses import dataclass

import numpy as np

from setanon_core.columns.arrays import Ints, dense_ranks
from setanon_core.columns.users import user_ranks
from setanon_core.risk.attack_data import AttackData


@dataclass(frozen=True, slots=True)
class ViewCounts:
    """How many published threads have a view that few users share."""

    view: str
    """"set", "set and number of queries" or "list of queries"."""

    threads: int
    distinct: int
    """Distinct values of the view."""

    below_k: int
    """Threads whose view fewer than k users have."""

    single: int
    """Threads whose view only one user has."""

    @property
    def below_k_share(self) -> float:
        """Share of the threads whose view fewer than k users have; 0 without threads."""
        return self.below_k / max(self.threads, 1)

    @property
    def single_share(self) -> float:
        """Share of the threads whose view only one user has; 0 without threads."""
        return self.single / max(self.threads, 1)


@dataclass(frozen=True, slots=True)
class ViewUniqueness:
    """The result of `view_uniqueness`: one row per published view."""

    k: int
    counts_users: bool
    """Whether users are counted; without a ledger, every thread counts as a user."""

    views: tuple[ViewCounts, ...]

    @property
    def ok(self) -> bool:
        """Whether at least k users share every view of every thread."""
        return not any(view.below_k for view in self.views)

    @property
    def sentence(self) -> str:
        """The counts of the last view, which is the most detailed one."""
        view = self.views[-1]
        unit = "users" if self.counts_users else "threads"
        return (
            f"{view.below_k:,} of {view.threads:,} published threads ({view.below_k_share:.1%}) "
            f"have a {view.view} that fewer than k = {self.k} {unit} have; {view.single:,} "
            f"({view.single_share:.1%}) have one that no other {unit[:-1]} has."
        )


def view_uniqueness(data: AttackData) -> ViewUniqueness:
    """Count the threads whose view is shared by fewer than k users, for each published view.

    The views of queries are left out if only sets are published.
    """
    published = data.published
    users = published.users
    holders = np.arange(len(published.keywords)) if users is None else users
    sets = published.set_ranks()
    views = [("set", sets)]
    if published.has_lists:
        sizes = np.diff(published.offsets)
        width = int(sizes.max(initial=0)) + 1
        views += [
            ("set and number of queries", sets * width + sizes),
            ("list of queries", published.list_ranks()),
        ]
    counts = tuple(_count_view(name, view, holders, data.k) for name, view in views)
    return ViewUniqueness(data.k, users is not None, counts)


def _count_view(name: str, view: Ints, users: Ints, k: int) -> ViewCounts:
    ranks, distinct = dense_ranks(view)
    _, sharing = user_ranks(ranks, users)
    below_k, single = int((sharing < k).sum()), int((sharing == 1).sum())
    return ViewCounts(name, len(view), distinct, below_k, single)
