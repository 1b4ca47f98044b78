"""The published spelling of each item: one keyword per item and group, or each as typed.

Paper:      section 5.3 makes threads identical as sets of LSH(e_j), and publishes them as typed.
Guarantee:  with `common`, all threads of a group have identical keywords, and each of these was
            typed by `min_owners` users of the log.
Complexity: O(W log W) for W words.
Deviation:  items are not published, keywords are: where an item has several keywords, the most
            common one of the group replaces all. `as_typed` follows the paper, and is not literally
            k-anonymous.
"""

import numpy as np

from setanon_core.columns.arrays import Ints, earlier_occurrences, sorted_unique
from setanon_core.columns.sets import Sets
from setanon_core.model.groups import WITHDRAWN
from setanon_core.model.queries import Keywords, Queries


def common_spellings(
    typed: Queries, keywords: Keywords, labels: Ints, centers: Sets, min_owners: int
) -> tuple[Ints, int]:
    """The keyword for each item of each center, and the number of replaced thread keywords.

    The keyword is the one in most threads of the group, among those with at least `min_owners`
    users in the log; without such a keyword in the group, the one with most users in the log.
    """
    if np.array_equal(keywords.item, np.arange(len(keywords.item))):
        return centers.items, 0  # every item has exactly one keyword
    width = max(len(keywords.item), 1)
    thread, word = np.divmod(sorted_unique(typed.threads[typed.rows] * width + typed.words), width)
    label = labels[thread]
    # A cell is a pair (center, item) as one number.
    center_cell = centers.rows * width + centers.items
    cell = label * width + keywords.item[word]
    # Deleted items and withdrawn threads need no spelling.
    published = (label != WITHDRAWN) & np.isin(cell, center_cell)
    cell, word = cell[published], word[published]
    # In each group, count the threads that have each keyword.
    group_keyword, threads = np.unique(cell // width * width + word, return_counts=True)
    spelling = group_keyword % width
    rare = keywords.owners[spelling] < min_owners
    group_item = group_keyword // width * width + keywords.item[spelling]
    # The best keyword of each group and item is the first in this order.
    order = np.lexsort((spelling, -threads, rare, group_item))
    order = order[np.diff(group_item[order], prepend=-1) > 0]
    most_owned = _most_owned_keywords(keywords)[centers.items]
    chosen = np.where(rare[order], most_owned, spelling[order])
    replaced = chosen[np.searchsorted(center_cell, cell)] != word
    return chosen, int(replaced.sum())


def restore_typed_words(typed: Queries, keywords: Keywords, edited: Queries, common: Ints) -> Ints:
    """The words of the edited queries as they were typed; added words are taken from `common`."""
    width = max(len(keywords.item), 1)
    before = typed.threads[typed.rows] * width + keywords.item[typed.words]
    after = edited.threads[edited.rows] * width + edited.words
    order = np.argsort(before, kind="stable")
    # Edits preserve the order of an item's occurrences in a thread: the nth was the nth before.
    position = np.searchsorted(before[order], after) + earlier_occurrences(after)
    was_typed = position < np.searchsorted(before[order], after, side="right")
    words = common.copy()
    words[was_typed] = typed.words[order[position[was_typed]]]
    return words


def _most_owned_keywords(keywords: Keywords) -> Ints:
    """The keyword of each item with most users; ties: the first of the vocabulary."""
    order = np.lexsort((-keywords.owners, keywords.item))
    return order[np.diff(keywords.item[order], prepend=-1) > 0]
