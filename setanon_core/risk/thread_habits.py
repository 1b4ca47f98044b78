"""Style and shape of published threads: numbers that may be typical of their user.

Paper:      none.
Guarantee:  none; heuristic. Uses published columns only.
Complexity: O(W) for W words, and a sort of the vocabulary.
Deviation:  none.
"""

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, concat_ranges, earlier_occurrences, offsets_of
from setanon_core.risk.thread_columns import PublishedThreads, QueryWords

Floats = npt.NDArray[np.float64]


def thread_habits(published: PublishedThreads, distinct: QueryWords) -> Floats:
    """Style and shape of each thread: lengths, popularity, digits, addresses, order, repetition."""
    sets = published.keywords
    texts = distinct.vocabulary
    length = np.fromiter(map(len, texts), np.float64, len(texts))
    digits = np.fromiter((not text.isalpha() for text in texts), np.float64, len(texts))
    address = np.fromiter(("." in text for text in texts), np.float64, len(texts))
    popularity = np.log1p(np.bincount(sets.items, minlength=len(texts)))
    columns = [np.log1p(sets.sizes)]
    columns += [range_means(each[sets.items], sets.offsets) for each in (length, digits, address)]
    columns.append(range_means(popularity[sets.items], sets.offsets))
    if published.has_lists:
        columns += _list_habits(published, distinct, popularity)
    return np.column_stack(columns)


def _list_habits(
    published: PublishedThreads, distinct: QueryWords, popularity: Floats
) -> list[Floats]:
    """Number and repetition of queries, their numbers of words, and the order of their words."""
    queries, offsets = published.queries, published.offsets
    counts = np.diff(offsets)
    thread = np.repeat(np.arange(len(counts)), counts)
    repeated = (np.diff(queries, prepend=-1) == 0) & (np.diff(thread, prepend=-1) == 0)
    first = earlier_occurrences(thread, queries) == 0
    sizes = np.diff(distinct.offsets)
    rising, rare_first = _word_order(distinct, popularity)
    return [
        np.log1p(counts),
        np.log1p(np.bincount(thread[first], minlength=len(counts))),
        range_means(repeated.astype(np.float64), offsets),
        range_means(sizes[queries].astype(np.float64), offsets),
        range_means(rising[queries], offsets),
        range_means(rare_first[queries], offsets),
    ]


def _word_order(distinct: QueryWords, popularity: Floats) -> tuple[Floats, Floats]:
    """For each query, the mean over adjacent words: in alphabetical order; rarer word first.

    A pair in this order counts 1, in the opposite order -1.
    """
    sizes = np.diff(distinct.offsets)
    pairs = np.maximum(sizes - 1, 0)
    left = concat_ranges(distinct.offsets[:-1], pairs)
    one, other = distinct.words[left], distinct.words[left + 1]
    order = sorted(range(len(distinct.vocabulary)), key=distinct.vocabulary.__getitem__)
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    bounds = offsets_of(pairs)
    return (
        range_means(np.sign(rank[other] - rank[one]), bounds),
        range_means(np.sign(popularity[other] - popularity[one]), bounds),
    )


def range_means(values: Floats, offsets: Ints) -> Floats:
    """The mean of each range of values; 0 for empty ranges."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    means: Floats = np.diff(sums[offsets]) / np.maximum(np.diff(offsets), 1)
    return means
