"""Place the threads of a log that are read batch by batch: strip them, then plan their places.

Paper:      section 5.2: clusters of threads, which are grouped separately.
Guarantee:  the places are those of `place_records` for all threads at once. They depend on the
            words and users of the threads, `k`, `min_owners`, `operations`, `combinations` and
            `identity` alone.
Complexity: two passes over the threads, in addition to `place_records`; memory is 4 bytes per
            thread, and that of the keywords, the users and one batch.
Deviation:  not in the paper.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, Keys
from setanon_core.columns.narrow import narrow, widen
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.strip import needs_owners, rare_items, strip
from setanon_core.keywords.encode_threads import OwnerCounter, ThreadBatch, batch_sets
from setanon_core.model.queries import Keywords
from setanon_core.params import Params
from setanon_core.partition.content_hashes import add_digests
from setanon_core.partition.place_records import Places, empty_places, place_parts
from setanon_core.partition.plan import count_places
from setanon_core.partition.record_parts import StoredRecords
from setanon_core.runtime.column_files import StoredColumns, store_columns


def place_threads(
    batches: Iterable[ThreadBatch], item: Ints, owner: Ints, params: Params
) -> Iterator[Places]:
    """The places of the threads of each batch.

    `item` is the item of each keyword, `owner` the user number of each thread. Threads that are
    withdrawn before the grouping have place 0.
    """
    sets, item_owners, rare = _store_sets(batches, item, owner, params)
    records, positions = StoredRecords(), []
    digests: Keys = np.zeros(int(owner.max(initial=-1)) + 1, np.uint64)
    sizes, start = [], 0
    for stored in sets:
        items, offsets = stored.take()
        of_batch = Sets.unchecked(items=items, offsets=offsets)
        users = widen(owner[start : start + len(of_batch)])
        batch = Records.from_checked_sets(of_batch, users)
        stripped = strip(batch, params, item_owners, rare)
        records.append(stripped.records)
        add_digests(digests, batch.subset(stripped.positions))
        positions.append(store_columns(narrow(stripped.positions, len(batch))))
        sizes.append(len(batch))
        start += len(batch)
    places = max(count_places(len(records)), 1)
    placed = place_parts(records, params, places, digests)
    for n, rows, part in zip(sizes, positions, placed, strict=True):
        every = empty_places(n)
        every.choices[:, 0] = 0
        (kept,) = rows.take()
        every.choices[kept], every.sizes[kept] = part
        yield every
    records.delete()


def _store_sets(
    batches: Iterable[ThreadBatch], item: Ints, owner: Ints, params: Params
) -> tuple[list[StoredColumns], Ints, Bools]:
    """Files of the sets of each batch; the owners of each item; items that are always deleted."""
    n_items = int(item.max(initial=-1)) + 1
    keywords, items = OwnerCounter(len(item), owner), OwnerCounter(n_items, owner)
    support, stored = np.zeros(n_items, np.int64), []
    # With one keyword per item, the owners of the keywords are those of the items.
    counts_items = needs_owners(params) and n_items < len(item)
    for batch in batches:
        sets = batch_sets(batch, item)
        keywords.add(batch)
        if counts_items:
            offsets = widen(sets.offsets)
            items.add(ThreadBatch(batch.first, batch.stop, widen(sets.items), offsets))
        support += np.bincount(sets.items, minlength=n_items)
        stored.append(store_columns(sets.items, sets.offsets))
    owners = keywords.finish()
    item_owners = Keywords((), item, owners).item_owners
    users = items.finish() if counts_items else item_owners
    rare = rare_items(users if needs_owners(params) else support, params)
    return stored, item_owners, rare
