"""Homogeneity: what an attacker learns about a member of a group without singling it out.

A group is the threads that are published with one set. Who knows that a person's thread is in a
group knows its set, as far as the set is true for the members; who knows one keyword of a thread
learns every other keyword that all published threads with it have.

Paper:      section 5.5 leaves diversity open.
Guarantee:  exact counts.
Complexity: O(sum of squared sizes of the distinct published sets), and O(W log W) for W words.
Deviation:  none; the counts carry over homogeneity in the sense of l-diversity to sets, where every
            item may be sensitive.
"""

from dataclasses import dataclass

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, concat_ranges, run_starts
from setanon_core.columns.sets import Sets
from setanon_core.columns.supersets import contained
from setanon_core.risk.attack_data import AttackData


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """How much the members of a group have in common, and how much of it is true."""

    groups: int
    threads: int
    certain_groups: int
    """Groups whose members all typed the whole published set."""

    threads_in_certain_groups: int
    one_list: int
    """Groups whose members all have one published list of queries; all groups if no lists are."""

    cells: int
    """Pairs of published thread and keyword."""

    true_cells: int
    """Of these, the pairs whose keyword was typed in the thread."""

    certain_cells: int
    """Of these, the pairs whose keyword was typed by all members of the group."""

    known_cells: int
    """True pairs in sets of at least two keywords: what the attacker knows of a thread."""

    learned_cells: int
    """Of these, the pairs whose keyword implies another one in all published threads with it."""

    learned_true_cells: int
    """Of these, the pairs for which an implied keyword was typed in the thread."""

    @property
    def true_share(self) -> float:
        """Share of the published keywords that are true for their thread; 0 without threads."""
        return self.true_cells / max(self.cells, 1)

    @property
    def certain_share(self) -> float:
        """Share of the published keywords that are true for all members; 0 without threads."""
        return self.certain_cells / max(self.cells, 1)

    @property
    def learned_share(self) -> float:
        """Share of the known keywords that disclose another true one; 0 without any."""
        return self.learned_true_cells / max(self.known_cells, 1)

    @property
    def sentence(self) -> str:
        """What membership in a group, and one known keyword, disclose."""
        return (
            f"In {self.certain_groups:,} of {self.groups:,} groups every member has the whole "
            f"published set, so membership discloses it; {self.true_share:.1%} of all published "
            "keywords are true for their thread. One known keyword discloses another true one in "
            f"{self.learned_share:.1%} of the cases."
        )


def homogeneity(data: AttackData) -> Homogeneity:
    """Count what all members of a group share; needs the threads of the ledger."""
    published = data.published
    sets, sources = published.keywords, published.known_sources
    first, _, group = sets.distinct
    true = _true_cells(data.typed.keywords, sets, sources)
    false_in_thread = np.bincount(sets.rows[~true], minlength=len(sets)) > 0
    certain_group = np.bincount(group[false_in_thread], minlength=len(first)) == 0
    position = np.arange(len(sets.items)) - sets.offsets[:-1][sets.rows]
    width = int(sets.sizes.max(initial=0)) + 1
    # A pair (group, position of the keyword in the sorted set) as one number.
    cell = group[sets.rows] * width + position
    false_cells = np.bincount(cell[~true], minlength=len(first) * width)
    known = true & (sets.sizes[sets.rows] > 1)
    learned, learned_true = _learned(sets, true, known)
    return Homogeneity(
        groups=len(first),
        threads=len(sets),
        certain_groups=int(certain_group.sum()),
        threads_in_certain_groups=int(certain_group[group].sum()),
        one_list=_groups_with_one_list(data, group, len(first)),
        cells=len(sets.items),
        true_cells=int(true.sum()),
        certain_cells=int((false_cells[cell] == 0).sum()),
        known_cells=int(known.sum()),
        learned_cells=int(learned.sum()),
        learned_true_cells=int(learned_true.sum()),
    )


def _true_cells(typed: Sets, published: Sets, sources: Ints) -> Bools:
    """Whether the keyword of each published occurrence was typed in its thread."""
    width = max(typed.width, published.width, 1)
    cells = typed.rows * width + typed.items
    return contained(cells, sources[published.rows] * width + published.items)


def _groups_with_one_list(data: AttackData, group: Ints, groups: int) -> int:
    if not data.published.has_lists:
        return groups
    # A list determines its set: the distinct lists of a group are those with its number.
    ranks = data.published.list_ranks()
    order = np.lexsort((ranks, group))
    starts = run_starts(group[order], ranks[order])
    lists = np.bincount(group[order][starts], minlength=groups)
    return int((lists == 1).sum())


def _learned(sets: Sets, true: Bools, known: Bools) -> tuple[Bools, Bools]:
    """Whether each known occurrence implies another keyword, and whether one of these is true."""
    learned_true = np.zeros(len(sets.items), np.bool_)
    first, counts, group = sets.distinct
    distinct = sets.take(first)
    sizes = distinct.sizes
    # All ordered pairs of different keywords of each distinct set.
    left = np.repeat(np.arange(len(distinct.items)), sizes[distinct.rows])
    right = concat_ranges(distinct.offsets[:-1][distinct.rows], sizes[distinct.rows])
    different = left != right
    left, right = left[different], right[different]
    width = max(sets.width, 1)
    pair = distinct.items[left] * width + distinct.items[right]
    threads_with = np.bincount(sets.items, minlength=width)
    order = np.argsort(pair)
    starts = run_starts(pair[order])
    run = np.cumsum(starts) - 1
    together = np.bincount(run, weights=counts[distinct.rows[left[order]]]).astype(np.int64)
    implied = np.zeros(len(pair), np.bool_)
    implied[order] = together[run] == threads_with[distinct.items[left[order]]]
    left, right = left[implied], right[implied]
    # From occurrences in distinct sets to those in threads.
    implies = np.zeros(len(distinct.items), np.bool_)
    implies[left] = True
    offset_in_set = np.arange(len(sets.items)) - sets.offsets[:-1][sets.rows]
    of_distinct = distinct.offsets[:-1][group[sets.rows]] + offset_in_set
    learned = known & implies[of_distinct]
    bounds = np.searchsorted(left, np.arange(len(distinct.items) + 1))
    occurrences = np.flatnonzero(learned)
    number = of_distinct[occurrences]
    sizes = np.diff(bounds)[number]
    others = right[concat_ranges(bounds[:-1][number], sizes)]
    owner = np.repeat(occurrences, sizes)
    others += owner - of_distinct[owner]  # the same position within the set of the thread
    learned_true[owner[true[others]]] = True
    return learned, learned_true
