"""Definition 1, asked of what is published, by code that shares nothing with the algorithms.

Paper:      section 3, Definition 1; section 5.1 for users instead of records.
Guarantee:  exact: one dictionary from set to users, and nothing else.
Complexity: O(N) for N item occurrences.
Deviation:  with `users`, distinct users are counted, not records; withdrawn records (None) are
            not published and so not counted.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from setanon_core.errors import MalformedInputError
from setanon_core.model.verdict import Verdict
from setanon_core.ranges import check_k

T = TypeVar("T")


def verify(
    records: Iterable[Collection[Hashable] | None],
    k: int,
    users: Sequence[Hashable] | None = None,
) -> Verdict:
    """Count the published records that fewer than k users share.

    `users` is the ledger: the user of every record, withdrawn ones included. Without it, every
    record counts as a user of its own, which is all that a reader of the release can check.

    >>> verify([{"a", "b"}, {"b", "a"}, {"a"}, None], k=2).violations
    1
    """
    least = check_k(k)
    published = _listed(records, "records")
    owners = range(len(published)) if users is None else _listed(users, "users")
    if len(owners) != len(published):
        raise MalformedInputError(
            f"users must name one user for each record; got {len(owners)} users "
            f"for {len(published)} records."
        )
    users_of: dict[frozenset[Hashable], set[Hashable]] = {}
    records_of: dict[frozenset[Hashable], int] = {}
    for position, (record, user) in enumerate(zip(published, owners, strict=True)):
        if record is None:
            continue
        items = _items(record, position)
        _check_user(user, position)
        users_of.setdefault(items, set()).add(user)
        records_of[items] = records_of.get(items, 0) + 1
    short = [items for items, those in users_of.items() if len(those) < least]
    return Verdict(
        k=least,
        records=sum(records_of.values()),
        groups=len(users_of),
        smallest_group=min(map(len, users_of.values()), default=0),
        violations=sum(records_of[items] for items in short),
        violating_groups=len(short),
    )


def _listed(column: Iterable[T], name: str) -> list[T]:
    """Read a column in its order: what has no order says nothing of who published what."""
    if isinstance(column, str | bytes | AbstractSet | Mapping) or not isinstance(column, Iterable):
        raise MalformedInputError(
            f"{name} must be a sequence with one entry for each record; got a value of type "
            f"{type(column).__name__}. Make it a list."
        )
    # Arrow's own nulls are not None.
    listed: list[T] = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return listed


def _items(record: Collection[Hashable], position: int) -> frozenset[Hashable]:
    try:
        # The letters of a word are a set as well, but not the one that is published.
        if not isinstance(record, str | bytes):
            return frozenset(record)
    except TypeError:
        pass
    raise MalformedInputError(
        f"record {position} must be a collection of hashable items, or None if it was withdrawn; "
        f"got a value of type {type(record).__name__}."
    )


def _check_user(user: Hashable, position: int) -> None:
    """Refuse a user who cannot be told from others: every NaN would count as one more."""
    try:
        hash(user)
        known = user is not None and bool(user == user)  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):
        known = False
    if not known:
        raise MalformedInputError(
            f"users must name the user of every published record; record {position} has none."
        )
