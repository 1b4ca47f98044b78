"""Retained items of ways to choose the place of a record, at equal visits, and of the whole log.

python bench/partition_homes.py [--queries N] [--data FILE ...] [--places N ...]
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import data_files
import demo_log
import markdown_table
import numpy as np
from markdown_table import Row

from setanon_core import Params, Records
from setanon_core.columns.arrays import Ints, Keys, inverse_permutation
from setanon_core.columns.sets import Sets
from setanon_core.grouping.improve.duplicates import surplus_duplicates
from setanon_core.grouping.itemsets import MAX_ITEMS
from setanon_core.grouping.methods import group
from setanon_core.grouping.strip import strip
from setanon_core.model.groups import Grouping
from setanon_core.partition.content_hashes import record_hashes, user_digests, user_keys
from setanon_core.partition.group_in_places import group_placed
from setanon_core.partition.place_records import (
    PlacedRecords,
    count_itemsets,
    join_places,
    place_by_wishes,
)
from setanon_core.partition.plan import Plan, cut
from setanon_core.partition.record_parts import RecordRanges
from setanon_core.partition.wishes import CHOICES, NO_ITEM
from setanon_core.pipeline.group_records import canonical_order

K = 3

Place = Callable[[Records, int], PlacedRecords]
"""Chooses the places of records."""


def compare(name: str, records: Records, places: list[int]) -> Iterator[Row]:
    """The whole log, then each way for each number of places; CPU seconds of the grouping."""
    params = Params(K)
    stripped = strip(records, params)
    order = canonical_order(records.subset(stripped.positions))
    ordered = stripped.records.subset(order)
    remaining = ordered.subset(np.flatnonzero(~surplus_duplicates(ordered, params)))

    def row(way: str, count: int, work: Callable[[], Grouping]) -> Row:
        start = time.process_time()
        rounds = work().rounds
        seconds = time.process_time() - start
        costs = [stripped.cost + each.cost.total for each in rounds]
        retained = [round(1 - cost / len(records.items), 4) for cost in costs]
        return {
            "data": name,
            "homes": way,
            "places": count,
            "first groups": retained[0],
            "retained": retained[-1],
            "CPU s": round(seconds, 1),
        }

    yield row("whole", 1, lambda: group(ordered, params))
    for way, place in WAYS.items():
        for count in places:

            def work(place: Place = place, count: int = count) -> Grouping:
                return group_placed(place(remaining, count), params)

            yield row(way, count, work)


def by_rank(rank_of: Callable[[Ints], Ints]) -> Place:
    """The home of a record is its item of lowest rank; ranks follow from the supports."""

    def place(records: Records, places: int) -> PlacedRecords:
        support = np.bincount(records.items, minlength=max(records.width, 1))
        rank = rank_of(support)
        homes, sizes = _lowest_ranks(records.keep_items(support >= K), rank)
        first = homes[:, 0]
        weights = np.bincount(first[first != NO_ITEM], minlength=len(rank))
        plan = Plan(places, *cut(weights, places))
        hashes = record_hashes(records, _user_keys(records))
        choices = np.column_stack([plan.place_of(home, hashes) for home in homes.T])
        return PlacedRecords(records, choices.astype(np.int16), sizes.astype(np.int8), places)

    return place


def _user_keys(records: Records) -> Keys:
    parts = RecordRanges(records)
    return user_keys(user_digests(parts, parts.n_users))


def _lowest_ranks(sets: Sets, rank: Ints) -> tuple[Ints, Ints]:
    """The items of lowest rank of each set; each home may save the whole set."""
    order = np.lexsort((rank[sets.items], sets.rows))
    homes = np.full((len(sets), CHOICES), NO_ITEM)
    for column in range(CHOICES):
        exists = np.flatnonzero(sets.sizes > column)
        homes[exists, column] = sets.items[order[sets.offsets[exists] + column]]
    return homes, np.where(homes == NO_ITEM, 0, sets.sizes[:, None])


def random_order(support: Ints) -> Ints:
    """A random permutation: the item of lowest rank is a Min-Hash."""
    return np.random.default_rng(1).permutation(len(support))


def rarity(support: Ints) -> Ints:
    """Rarest item first: a Min-Hash in the order of frequency."""
    return inverse_permutation(np.argsort(support, kind="stable"))


def random_order_by_rarity(support: Ints) -> Ints:
    """Consistent weighted sampling: an item is first with probability ~ 1 / support."""
    variates = np.random.default_rng(1).exponential(size=len(support)) * support
    return inverse_permutation(np.argsort(variates, kind="stable"))


def by_itemset(levels: int) -> Place:
    """Wishes of at most this many items."""

    def place(records: Records, places: int) -> PlacedRecords:
        parts = RecordRanges(records)
        active = [np.ones(len(part), np.bool_) for part in parts]
        frequent = count_itemsets(parts, records.width, K)
        frequent = replace(frequent, levels=frequent.levels[:levels])
        placed = place_by_wishes(parts, active, frequent, _user_keys(records), places)
        return join_places(records, placed, places)

    return place


WAYS: dict[str, Place] = {
    "Min-Hash": by_rank(random_order),
    "rarest item": by_rank(rarity),
    "Min-Hash weighted by rarity": by_rank(random_order_by_rarity),
    "frequent pair": by_itemset(2),
    "wishes": by_itemset(MAX_ITEMS),
}


def main() -> None:
    """Compare on the demo log and on the given files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=400_000)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--places", type=int, nargs="+", default=[8, 32, 128])
    args = parser.parse_args()
    inputs = [(path.stem, data_files.read(path)[0]) for path in args.data]
    if args.queries:
        inputs.insert(0, ("demo log", demo_log.demo_threads(args.queries, 0).records))
    for name, records in inputs:
        print(markdown_table.table(list(compare(name, records, args.places))))


if __name__ == "__main__":
    main()
