"""Verify Definition 1 on published records; independent of the code that grouped them.

Paper:      section 3, Definition 1; section 5.1 for users instead of records.
Guarantee:  exact: counts the users of every published set.
Complexity: O(N) for N item occurrences.
Deviation:  with `users`, distinct users are counted, not records; withdrawn records (None) are
            not published and not counted.
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
    *,
    users: Sequence[Hashable] | None = None,
) -> Verdict:
    """Count the published records whose set is shared by fewer than k users.

    `records` is a sequence of collections, or a column of lists (a pandas or Polars Series, an
    Arrow array); None is a withdrawn record. `users` has the user of every record, including the
    withdrawn ones; without it, every record has its own user.

    >>> verify([{"a", "b"}, {"b", "a"}, {"a"}, None], k=2).violations
    1
    """
    k = check_k(k)
    published = _as_list(records, "records")
    owners = range(len(published)) if users is None else _as_list(users, "users")
    if getattr(users, "ndim", 1) != 1:
        raise MalformedInputError("users must be one column; got a table or a matrix.")
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
    violating = [items for items, group in users_of.items() if len(group) < k]
    return Verdict(
        k=k,
        records=sum(records_of.values()),
        groups=len(users_of),
        smallest_group=min(map(len, users_of.values()), default=0),
        violations=sum(records_of[items] for items in violating),
        violating_groups=len(violating),
    )


def _as_list(column: Iterable[T], name: str) -> list[T]:
    """The values of an ordered column; refuse sets and mappings, which do not pair with records."""
    if isinstance(column, str | bytes | AbstractSet | Mapping) or not isinstance(column, Iterable):
        raise MalformedInputError(
            f"{name} must be a sequence with one entry for each record; got a value of type "
            f"{type(column).__name__}. Convert it to a list."
        )
    # Iterating over an Arrow column would give scalars that are not None where null.
    values: list[T] = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return values


def _items(record: Collection[Hashable], position: int) -> frozenset[Hashable]:
    try:
        # A text is a collection of letters, which is never meant.
        if not isinstance(record, str | bytes):
            return frozenset(record)
    except TypeError:
        pass
    raise MalformedInputError(
        f"record {position} must be a collection of hashable items, or None if it was withdrawn; "
        f"got a value of type {type(record).__name__}."
    )


def _check_user(user: Hashable, position: int) -> None:
    """Refuse missing users: every NaN, also within a tuple, would count as another user."""
    try:
        hash(user)
        known = user is not None and _equals_itself(user)
    except (TypeError, ValueError):
        known = False
    if not known:
        raise MalformedInputError(
            f"users must name the user of every published record; record {position} has none."
        )


def _equals_itself(user: Hashable) -> bool:
    if isinstance(user, tuple | frozenset):
        return all(map(_equals_itself, user))
    return bool(user == user)  # noqa: PLR0124 - NaN
