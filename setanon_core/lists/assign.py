"""Assign a list to each member of a group so that every list has at least k users.

Paper:      none. The problem is that of section 3 for lists in place of sets: facility location
            with at least k users per facility.
Guarantee:  every list that is not shared already is assigned to at least k users. The cost is that
            of a local optimum; each step lowers it, so that the search ends.
Complexity: O(P log P) for P pairs of members and candidates, per step; few steps in practice.
Deviation:  none; the paper shares sets, not lists.
"""

from typing import NamedTuple

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, earlier_occurrences, run_starts, sorted_unique
from setanon_core.lists.choices import Choices


class _Moves(NamedTuple):
    """Members and the candidates that they get."""

    members: Ints
    candidates: Ints


def assign_lists(choices: Choices, k: int) -> Ints:
    """The candidate of each member. A group without a shared candidate must have k users."""
    assigned = _start(choices)
    result = assigned.copy()
    # Numbers, in the argument, of the members and candidates of the groups that may change.
    members, candidates = np.arange(len(result)), np.arange(len(choices.shared))
    active = _can_change(choices, k)
    while active.any():
        choices, kept, kept_candidates = choices.take(active)
        position = np.cumsum(np.isin(np.arange(len(candidates)), kept_candidates)) - 1
        assigned = position[assigned[kept]]
        members, candidates = members[kept], candidates[kept_candidates]
        active = np.zeros(len(choices.first_candidate), np.bool_)
        for step in (_open_lists, _replace_lists, _move_members, _close_lists):
            moves = step(choices, assigned, k)
            assigned[moves.members] = moves.candidates
            active[choices.group[moves.members]] = True
        result[members] = candidates[assigned]
    return result


def _can_change(choices: Choices, k: int) -> Bools:
    """Groups in which a second list can be assigned: with a shared candidate, or 2k members."""
    shared = np.bincount(choices.candidate_group, choices.shared) > 0
    return shared | (np.bincount(choices.group) >= 2 * k)


def _start(choices: Choices) -> Ints:
    """The best shared candidate of each member; without any, the best candidate of the group."""
    assigned = np.empty(len(choices.group), np.int64)
    total = np.bincount(choices.candidate, choices.cost, len(choices.shared))
    best = _smallest(total, choices.candidate_group)
    assigned[:] = best[choices.group]
    pairs = np.flatnonzero(choices.shared[choices.candidate])
    pairs = pairs[_smallest(choices.cost[pairs], choices.member[pairs])]
    assigned[choices.member[pairs]] = choices.candidate[pairs]
    return assigned


def _open_lists(choices: Choices, assigned: Ints, k: int) -> _Moves:
    """In each group, assign the unused candidate that lowers the cost most."""
    spare = _spare_members(choices, assigned, k)
    # Members that can leave their lists; a new list needs k of them.
    leaving = np.bincount(choices.group, choices.shared[assigned])
    leaving += np.bincount(choices.candidate_group, np.where(choices.shared, 0, spare))
    used = _used(choices, assigned)
    pairs = np.flatnonzero((leaving >= k)[choices.group][choices.member])
    pairs = pairs[~used[choices.candidate[pairs]]]
    member, candidate = choices.member[pairs], choices.candidate[pairs]
    gain = choices.cost_of(member, assigned[member]) - choices.cost[pairs]
    order = np.lexsort((-gain, candidate))
    member, candidate, gain = member[order], candidate[order], gain[order]
    source = assigned[member]
    earlier = earlier_occurrences(candidate * len(used) + source)
    can_leave = choices.shared[source] | (earlier < spare[source])
    member, candidate, gain = member[can_leave], candidate[can_leave], gain[can_leave]
    width = int(choices.user.max(initial=0)) + 1
    new_user = earlier_occurrences(candidate * width + choices.user[member]) == 0
    before = np.cumsum(new_user) - new_user
    starts = run_starts(candidate)
    before -= before[starts][np.cumsum(starts) - 1] if len(before) else 0
    # Members who gain, and the cheapest others until there are k users.
    taken = (gain > 0) | (new_user & (before < k))
    total = np.bincount(candidate, gain * taken, len(used))
    users = np.bincount(candidate, new_user & taken, len(used))
    valid = np.flatnonzero((users >= k) & (total > 0))
    chosen = np.zeros(len(used), np.bool_)
    chosen[valid[_smallest(-total[valid], choices.candidate_group[valid])]] = True
    taken &= chosen[candidate]
    return _Moves(member[taken], candidate[taken])


def _replace_lists(choices: Choices, assigned: Ints, _k: int) -> _Moves:
    """Replace each list by the candidate that costs its members least."""
    pairs = np.flatnonzero(~choices.shared[assigned][choices.member])
    n = len(choices.shared)
    key = assigned[choices.member[pairs]] * n + choices.candidate[pairs]
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(run_starts(key[order]))
    if not len(starts):
        return _no_moves()
    total = np.add.reduceat(choices.cost[pairs[order]], starts)
    source, target = np.divmod(key[order][starts], n)
    best = _smallest(total, source)
    own = np.flatnonzero(source == target)  # sorted by source, as `best`
    better = total[best] < total[own]
    replaced = np.arange(n)
    replaced[source[best[better]]] = target[best[better]]
    members = np.flatnonzero(replaced[assigned] != assigned)
    return _Moves(members, replaced[assigned[members]])


def _move_members(choices: Choices, assigned: Ints, k: int) -> _Moves:
    """Give members better lists that are in use, if their lists keep k users."""
    member, candidate, gain = _best_alternatives(choices, assigned)
    better = gain > 0
    member, candidate, gain = member[better], candidate[better], gain[better]
    order = np.argsort(-gain, kind="stable")
    member, candidate = member[order], candidate[order]
    source = assigned[member]
    spare = _spare_members(choices, assigned, k)
    can_leave = choices.shared[source] | (earlier_occurrences(source) < spare[source])
    return _Moves(member[can_leave], candidate[can_leave])


def _close_lists(choices: Choices, assigned: Ints, _k: int) -> _Moves:
    """In each group, stop using the list without which the cost is lowest, if it is lower."""
    member, candidate, gain = _best_alternatives(choices, assigned)
    source = assigned[member]
    total = np.bincount(source, gain, len(choices.shared))
    closable = np.flatnonzero((total > 0) & ~choices.shared)
    closed = np.zeros(len(total), np.bool_)
    closed[closable[_smallest(-total[closable], choices.candidate_group[closable])]] = True
    leaving = closed[source]
    return _Moves(member[leaving], candidate[leaving])


def _best_alternatives(choices: Choices, assigned: Ints) -> tuple[Ints, Ints, Ints]:
    """Members, the best other list in use in their groups, and by how much it costs less."""
    used = _used(choices, assigned)
    pairs = np.flatnonzero(used[choices.candidate])
    pairs = pairs[choices.candidate[pairs] != assigned[choices.member[pairs]]]
    pairs = pairs[_smallest(choices.cost[pairs], choices.member[pairs])]
    member, candidate = choices.member[pairs], choices.candidate[pairs]
    return member, candidate, choices.cost_of(member, assigned[member]) - choices.cost[pairs]


def _used(choices: Choices, assigned: Ints) -> Bools:
    """Whether each candidate is shared or assigned."""
    used = choices.shared.copy()
    used[assigned] = True
    return used


def _spare_members(choices: Choices, assigned: Ints, k: int) -> Ints:
    """How many members can leave each list that is assigned; k users remain in any case."""
    width = int(choices.user.max(initial=0)) + 1
    pairs = sorted_unique(assigned * width + choices.user)
    return np.maximum(np.bincount(pairs // width, minlength=len(choices.shared)) - k, 0)


def _smallest(values: Ints, groups: Ints) -> Ints:
    """The position of the smallest value of each group, by group; ties: the first."""
    order = np.lexsort((values, groups))
    return order[run_starts(groups[order])]


def _no_moves() -> _Moves:
    empty = np.empty(0, np.int64)
    return _Moves(empty, empty)
