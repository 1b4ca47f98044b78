"""Choices of lists: members without a shared list, candidate lists, and the cost of each pair."""

from dataclasses import dataclass

import numpy as np

from setanon_core.columns.arrays import (
    Bools,
    Ints,
    concat_ranges,
    dense_ranks,
    offsets_of,
)
from setanon_core.lists.query_lists import QueryLists


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Choices:
    """Members of groups, candidate lists of groups, and the cost of each pair.

    Both are sorted by group, and the groups are numbered from 0. The cost of a list for a member
    is the number of queries removed from the member's own list plus the number of queries added.
    """

    group: Ints
    """The group of each member."""

    user: Ints
    """The user of each member."""

    candidate_group: Ints
    shared: Bools
    """Whether k other members have each candidate already."""

    member: Ints
    """The member of each pair; pairs are sorted by member, then by candidate."""

    candidate: Ints
    """The candidate of each pair."""

    cost: Ints
    """The cost of each pair."""

    starts: Ints
    """The position of the first pair of each member."""

    first_candidate: Ints
    """The first candidate of each group."""

    def take(self, groups: Bools) -> tuple["Choices", Ints, Ints]:
        """The choices of some groups, and the numbers of their members and candidates."""
        number = np.cumsum(groups) - 1
        members = np.flatnonzero(groups[self.group])
        candidates = np.flatnonzero(groups[self.candidate_group])
        group = number[self.group[members]]
        candidate_group = number[self.candidate_group[candidates]]
        sizes = np.bincount(candidate_group)[group]
        pairs = concat_ranges(self.starts[members], sizes)
        first = offsets_of(np.bincount(candidate_group))[:-1]
        choices = Choices(
            group,
            self.user[members],
            candidate_group,
            self.shared[candidates],
            np.repeat(np.arange(len(members)), sizes),
            concat_ranges(first[group], sizes),
            self.cost[pairs],
            offsets_of(sizes)[:-1],
            first,
        )
        return choices, members, candidates

    def cost_of(self, members: Ints, candidates: Ints) -> Ints:
        """The costs of these candidates for these members of the same groups."""
        first = self.first_candidate[self.group[members]]
        costs: Ints = self.cost[self.starts[members] + candidates - first]
        return costs


def build_choices(  # noqa: PLR0913 - the columns of members and candidates
    own: QueryLists,
    group: Ints,
    user: Ints,
    *,
    lists: QueryLists,
    list_group: Ints,
    shared: Bools,
) -> Choices:
    """Pair each member with all candidates of its group, and compute the costs.

    `own` are the members' lists, `lists` the candidates; both are sorted by group.
    """
    n_groups = int(list_group.max(initial=-1)) + 1
    candidates = np.bincount(list_group, minlength=n_groups)
    first_candidate = offsets_of(candidates)[:-1]
    sizes = candidates[group]
    starts = offsets_of(sizes)[:-1]
    member = np.repeat(np.arange(len(group)), sizes)
    candidate = concat_ranges(first_candidate[group], sizes)
    row, other = _common_queries(own, group, lists, list_group)
    position = starts[row] + other - first_candidate[group[row]]
    common = np.bincount(position, minlength=len(member))
    cost = own.sizes[member] + lists.sizes[candidate] - 2 * common
    return Choices(
        group, user, list_group, shared, member, candidate, cost, starts, first_candidate
    )


def _common_queries(
    own: QueryLists, group: Ints, lists: QueryLists, list_group: Ints
) -> tuple[Ints, Ints]:
    """Member and candidate of every common query; the nth repetition equals the nth only."""
    both = own.append(lists)
    width = int(both.queries.max(initial=0)) + 1
    in_group, _ = dense_ranks(np.append(group, list_group)[both.rows] * width + both.queries)
    repetition = both.repetitions()
    item = in_group * (int(repetition.max(initial=0)) + 1) + repetition
    n = len(own.queries)
    order = np.argsort(item[n:], kind="stable")
    ascending = item[n:][order]
    first = np.searchsorted(ascending, item[:n])
    count = np.searchsorted(ascending, item[:n], side="right") - first
    row = np.repeat(own.rows, count)
    return row, lists.rows[order[concat_ranges(first, count)]]
