"""One spelling for each item of a group, or every keyword as it was typed.

Paper:      section 5.3 makes threads identical as sets of LSH(e_j), and publishes them as typed.
Guarantee:  with `common`, threads of one group have the same keywords, letter for letter, and
            each of these was typed by `min_owners` users of the log.
Complexity: O(W log W) for W words.
Deviation:  items are not published, keywords are: where one item has several, the most common of
            the group stands for all. `as_typed` is the paper's way, and not literally k-anonymous.
"""

import numpy as np

from setanon_core.columns.arrays import Ints, earlier_occurrences, sorted_unique
from setanon_core.columns.sets import Sets
from setanon_core.model.groups import WITHDRAWN
from setanon_core.model.queries import Keywords, Queries


def common_spellings(
    typed: Queries, keywords: Keywords, labels: Ints, centers: Sets, least: int
) -> tuple[Ints, int]:
    """The keyword for each item of each center, and how many keywords of threads it replaces.

    It is the one that most threads of the group have, of those that `least` users of the log
    typed; if there is none in the group, the one that most users of the log typed.
    """
    if np.array_equal(keywords.item, np.arange(len(keywords.item))):
        return centers.items, 0  # every item has one spelling
    width = max(len(keywords.item), 1)
    thread, word = np.divmod(sorted_unique(typed.threads[typed.rows] * width + typed.words), width)
    label = labels[thread]
    wanted = centers.rows * width + centers.items
    cell = label * width + keywords.item[word]
    # Deleted items and withdrawn threads need no spelling.
    inside = (label != WITHDRAWN) & np.isin(cell, wanted)
    cell, word = cell[inside], word[inside]
    uses, times = np.unique(cell // width * width + word, return_counts=True)
    spelling = uses % width
    rare = keywords.held[spelling] < least
    of = uses // width * width + keywords.item[spelling]
    order = np.lexsort((spelling, -times, rare, of))
    order = order[np.diff(of[order], prepend=-1) > 0]
    everywhere = _most_typed(keywords)[centers.items]
    chosen = np.where(rare[order], everywhere, spelling[order])
    respelled = chosen[np.searchsorted(wanted, cell)] != word
    return chosen, int(respelled.sum())


def as_typed(typed: Queries, keywords: Keywords, edited: Queries, common: Ints) -> Ints:
    """Give each word of the edited queries back as it was typed; what was added is as `common`."""
    width = max(len(keywords.item), 1)
    before = typed.threads[typed.rows] * width + keywords.item[typed.words]
    after = edited.threads[edited.rows] * width + edited.words
    order = np.argsort(before, kind="stable")
    # Edits keep the order of an item's occurrences in a thread: the nth was the nth before.
    place = np.searchsorted(before[order], after) + earlier_occurrences(after)
    known = place < np.searchsorted(before[order], after, side="right")
    words = common.copy()
    words[known] = typed.words[order[place[known]]]
    return words


def _most_typed(keywords: Keywords) -> Ints:
    """For each item the keyword that most users typed; of equals, the first of the vocabulary."""
    order = np.lexsort((-keywords.held, keywords.item))
    return order[np.diff(keywords.item[order], prepend=-1) > 0]
