"""Direct implementations of the definitions, to test fast algorithms against."""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_, or_

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.model.queries import Keywords


def group_cost(masks: Sequence[int], operations: str) -> int:
    """Least number of flips that make these sets equal, by the definition of each problem."""
    union = reduce(or_, masks, 0)
    if operations == "additions":
        return sum((union & ~mask).bit_count() for mask in masks)
    if operations == "deletions":
        common = reduce(and_, masks)
        return sum((mask & ~common).bit_count() for mask in masks)
    ones = [sum(mask >> item & 1 for mask in masks) for item in range(union.bit_length())]
    return sum(min(n1, len(masks) - n1) for n1 in ones)


def partitions(members: Sequence[int]) -> Iterator[list[list[int]]]:
    """All partitions of the members into blocks."""
    if not members:
        yield []
        return
    first, *others = members
    for smaller in partitions(others):
        yield [[first], *smaller]
        for position, block in enumerate(smaller):
            yield [*smaller[:position], [first, *block], *smaller[position + 1 :]]


def best_partition_cost(
    masks: Sequence[int],
    users: Sequence[int],
    k: int,
    operations: str,
    *,
    withdrawals: bool = True,
) -> int:
    """The optimum over all partitions; a block of fewer than k users is withdrawn.

    If withdrawal is not allowed (additions, or without `withdrawals`), such partitions are skipped,
    unless there are fewer than k users: then all records are withdrawn.
    """
    everything = sum(mask.bit_count() for mask in masks)
    if len(set(users)) < k:
        return everything
    allowed = withdrawals and operations != "additions"
    best = everything if allowed else None
    for blocks in partitions(range(len(masks))):
        cost = 0
        for block in blocks:
            if len({users[i] for i in block}) >= k:
                cost += group_cost([masks[i] for i in block], operations)
            elif allowed:
                cost += sum(masks[i].bit_count() for i in block)
            else:
                break
        else:
            best = cost if best is None else min(best, cost)
    assert best is not None  # one group of all records is always possible
    return best


def grouping_cost(records: Records, labels: Sequence[int], operations: str) -> int:
    """Cost of the labels, group by group; negative labels are withdrawals."""
    masks = records.bitmasks()
    groups: dict[int, list[int]] = {}
    cost = 0
    for mask, label in zip(masks, labels, strict=True):
        if label < 0:
            cost += mask.bit_count()
        else:
            groups.setdefault(label, []).append(mask)
    return cost + sum(group_cost(group, operations) for group in groups.values())


def fewest_users(records: Records, labels: Sequence[int]) -> int | None:
    """Least number of distinct users of a group; None if all records are withdrawn."""
    users: dict[int, set[int]] = {}
    for label, user in zip(labels, records.users.tolist(), strict=True):
        if label >= 0:
            users.setdefault(label, set()).add(user)
    return min(map(len, users.values()), default=None)


def random_records(
    rng: np.random.Generator, n: int, items: int = 5, users: int | None = None
) -> Records:
    """Random sets of few items, with duplicates and empty sets; `users` is the number of users."""
    popularity = rng.uniform(0.1, 0.8, items)
    sets = [set(np.flatnonzero(rng.random(items) < popularity).tolist()) for _ in range(n)]
    owners = None if users is None else rng.integers(0, users, n).tolist()
    return Records.from_sets(sets, owners)


def keywords_of(vocabulary: Sequence[str], item: Ints, typed: Ints, users: Ints) -> Keywords:
    """Count the users of each keyword; `typed` and `users` have a row for each word of the log."""
    width = max(len(item), 1)
    once = np.unique(users * width + typed)
    return Keywords(vocabulary, item, np.bincount(once % width, minlength=len(item)))
