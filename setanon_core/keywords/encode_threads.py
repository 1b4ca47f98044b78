"""Build the record of each thread, and count the owners of each keyword, in batches.

A log of 20 million queries has 50 million words: one int64 column over all words takes 400 MB, and
sorting it takes several times that. Only the distinct values of each batch are stored.
"""

from collections.abc import Sequence

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of, sorted_unique
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import encode_users
from setanon_core.keywords.thread_batches import thread_batches
from setanon_core.model.queries import Keywords, Queries


def encode_threads(
    typed: Queries, vocabulary: Sequence[str], item: Ints, owner: Ints
) -> tuple[Keywords, Records]:
    """Return the keywords with their numbers of owners, and each thread as a set of items.

    The queries must be sorted by thread. `item` is the item of each keyword, without unused
    numbers; `owner` is the user number of each thread.
    """
    width = max(len(item), 1)
    owned: list[Ints] = [np.empty(0, np.int64)]
    sizes = [*owned]
    items = [np.empty(0, np.int32)]
    for batch in thread_batches(typed, len(owner)):
        rows = batch.rows
        # Threads of one user are consecutive: a batch contains almost all repeats of a pair.
        owned.append(sorted_unique(owner[batch.first + rows] * width + batch.words))
        cells = sorted_unique(rows * width + item[batch.words])
        rows = cells // width
        items.append((cells - rows * width).astype(np.int32))
        sizes.append(np.bincount(rows, minlength=batch.stop - batch.first))
    owner_keyword_pairs = sorted_unique(np.concatenate(owned))
    owners_of_keyword = np.bincount(owner_keyword_pairs % width, minlength=len(item))
    sets = Sets.unchecked(items=np.concatenate(items), offsets=offsets_of(np.concatenate(sizes)))
    records = Records.from_checked_sets(sets, encode_users(owner, len(owner)))
    return Keywords(vocabulary, item, owners_of_keyword), records
