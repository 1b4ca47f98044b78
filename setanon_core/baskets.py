"""Baskets in, a release with its ledger and its cost out: market data, clicks, any sets.

Paper:      section 1 names market baskets; they are the records of section 3 as they come.
Guarantee:  that of `pipeline`.
Complexity: O(N log N) for N item occurrences, before the grouping.
Deviation:  none. Without users every basket is a user of its own, as in the paper.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from setanon_core.columns import distinct_users, number_users, number_values
from setanon_core.edits import Queries
from setanon_core.errors import MalformedInputError
from setanon_core.pipeline import Threads, group_threads, release_of, threads_from
from setanon_core.release import Ledger, Release, ReleaseCost, ReleaseParams
from setanon_core.sets import bounds_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Baskets:
    """One row for each item of a basket: the basket, the item and, if known, the user."""

    records: Sequence[Hashable]
    items: Sequence[Hashable]
    users: Sequence[Hashable] | None = None

    @classmethod
    def from_lines(
        cls, lines: Iterable[str], separator: str | None = None, *, with_user: bool = False
    ) -> "Baskets":
        """Take one basket a line: a user, if asked for, and items, all parted by the separator.

        A basket is known by the number of its line, from 1. Without a separator, blanks part.
        Blank items are left out, and a blank line is no basket.

        >>> baskets = Baskets.from_lines(["ann,milk,bread", "bob,milk"], ",", with_user=True)
        >>> baskets.records, baskets.items, baskets.users
        ([1, 1, 2], ['milk', 'bread', 'milk'], ['ann', 'ann', 'bob'])
        """
        records: list[Hashable] = []
        items: list[Hashable] = []
        users: list[Hashable] = []
        for number, line in enumerate(lines, start=1):
            cells = [cell.strip() for cell in line.rstrip("\r\n").split(separator)]
            user = cells.pop(0) if with_user and cells else None
            own = [cell for cell in cells if cell]
            if with_user and own and not user:
                raise MalformedInputError(f"every basket must have a user; line {number} has none.")
            records.extend([number] * len(own))
            items.extend(own)
            users.extend([user] * len(own))
        return cls(records, items, users if with_user else None)


def anonymize_baskets(
    baskets: Baskets, params: ReleaseParams
) -> tuple[Release, Ledger, ReleaseCost]:
    """Group baskets and publish their sets; verify, or refuse.

    Items are what they are: `format`, `identity`, `spelling`, `measure` and `tokenizer`, which
    are about queries, change nothing.

    >>> baskets = Baskets.from_lines(["tea milk", "milk tea", "tea milk rum"])
    >>> release, _, cost = anonymize_baskets(baskets, ReleaseParams(k=3))
    >>> set(release.keywords), cost.certificate.cost.deletions
    ({('milk', 'tea')}, 1)
    """
    asked = replace(params, format="sets")
    threads = basket_threads(baskets)
    return release_of(threads, group_threads(threads, asked), asked)


def basket_threads(baskets: Baskets) -> Threads:
    """Every basket as a thread of one query, whose words are its items."""
    record, names = number_values(baskets.records, "record")
    word, items = number_values(baskets.items)
    if len(record) != len(word):
        raise MalformedInputError(
            f"every row must have a record and an item; got {len(record)} records and "
            f"{len(word)} items."
        )
    order = np.argsort(record, kind="stable")
    offsets = bounds_of(np.bincount(record, minlength=len(names)))
    owner = np.arange(len(names))
    users: Sequence[Hashable] = names
    if baskets.users is not None:
        user = number_users(baskets.users, len(record))
        owner[record] = user
        torn = len(np.unique(record[owner[record] != user]))
        if torn:
            raise MalformedInputError(
                f"every record must have one user; {torn} have several. "
                "Give the baskets of different users different records."
            )
        users = distinct_users(baskets.users)
    typed = Queries(word[order], offsets, np.arange(len(names)))
    return threads_from(typed, _as_texts(items), owner, users, names=list(map(str, names)))


def _as_texts(items: Sequence[Hashable]) -> tuple[str, ...]:
    """Items as they are published, if that tells them apart."""
    texts = tuple(map(str, items))
    if len(set(texts)) < len(texts):
        raise MalformedInputError(
            "items must differ when written as text; some do not, such as a number and the same "
            "number as text. Make them all text."
        )
    return texts
