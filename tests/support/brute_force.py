"""Brute force: the optimal grouping of a few records, and the cost of a grouping."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations

Group = tuple[int, ...]
Price = Callable[[Sequence[frozenset[int]]], int]


def partitions(n: int, k: int) -> Iterator[list[list[int]]]:
    """All partitions of range(n) into groups of at least k."""

    def extend(position: int, groups: list[list[int]]) -> Iterator[list[list[int]]]:
        if position == n:
            if all(len(group) >= k for group in groups):
                yield [list(group) for group in groups]
            return
        for group in [*groups, []]:
            is_new = not group
            if is_new:
                groups.append(group)
            group.append(position)
            yield from extend(position + 1, groups)
            group.pop()
            if is_new:
                groups.pop()

    yield from extend(0, [])


def flips(group: Sequence[frozenset[int]]) -> int:
    """Cost of a group with the best center in {0,1}^m: the minority of every column."""
    ones = [sum(item in record for record in group) for item in frozenset().union(*group)]
    return sum(min(count, len(group) - count) for count in ones)


def additions(group: Sequence[frozenset[int]]) -> int:
    """Cost of a group if items may only be added."""
    return len(group) * len(frozenset().union(*group)) - sum(map(len, group))


def deletions(group: Sequence[frozenset[int]]) -> int:
    """Cost of a group if items may only be deleted."""
    return sum(map(len, group)) - len(group) * len(frozenset.intersection(*group))


def stars(group: Sequence[frozenset[int]]) -> int:
    """Cost of a group by suppression: every non-constant column is starred throughout."""
    return len(group) * len(frozenset().union(*group) - frozenset.intersection(*group))


def discrete(group: Sequence[frozenset[int]]) -> int:
    """Cost of a group whose center must be one of its records."""
    return min(sum(len(center ^ record) for record in group) for center in group)


def price_of(price: Price, records: Sequence[frozenset[int]], labels: Iterable[int]) -> int:
    """Total cost of the groups with these labels."""
    groups: dict[int, list[frozenset[int]]] = {}
    for record, label in zip(records, labels, strict=True):
        groups.setdefault(int(label), []).append(record)
    return sum(map(price, groups.values()))


def harmonic(t: int) -> float:
    """H(t) = 1 + 1/2 + ... + 1/t, the factor of a greedy cover with groups of at most t."""
    return sum(1 / i for i in range(1, t + 1))


PRICES: dict[str, Price] = {"both": flips, "additions": additions, "deletions": deletions}


def optimum(
    records: Sequence[frozenset[int]],
    k: int,
    price: Price,
    *,
    users: Sequence[int] | None = None,
    withdraw: bool = False,
) -> int:
    """Optimal cost of any grouping, by dynamic programming over subsets of the records.

    Every group needs k distinct users. Without repeated users no group of 2k or more is needed,
    because splitting never raises a price of this module.
    """
    owners = range(len(records)) if users is None else users
    largest = len(records) if len(set(owners)) < len(records) else 2 * k - 1

    @cache
    def least(rest: Group) -> float:
        if not rest:
            return 0
        first, others = rest[0], rest[1:]
        best = len(records[first]) + least(others) if withdraw else float("inf")
        for size in range(k - 1, min(largest, len(rest))):
            for members in combinations(others, size):
                group = (first, *members)
                if len({owners[member] for member in group}) < k:
                    continue
                left = tuple(member for member in others if member not in members)
                if left and len(left) < k and not withdraw:
                    continue
                best = min(best, cost(group) + least(left))
        return best

    @cache
    def cost(group: Group) -> int:
        return price([records[member] for member in group])

    return int(least(tuple(range(len(records)))))
