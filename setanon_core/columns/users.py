"""User columns: number the users, and count or rank the distinct users of each group."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import (
    Ints,
    first_positions,
    inverse_permutation,
    require_unmasked,
    run_starts,
    sorted_unique,
)
from setanon_core.columns.arrow import encode_arrow_column
from setanon_core.columns.encode import encode_first_seen, encode_integers, is_missing
from setanon_core.errors import MalformedInputError


def encode_users(users: Sequence[Hashable] | npt.NDArray[Any] | None, n: int) -> Ints:
    """Number the users of n records by first appearance; None: every record has its own user."""
    if users is None:
        return np.arange(n)
    if not hasattr(users, "__len__") or not hasattr(users, "__getitem__"):
        raise MalformedInputError(
            "users must be a sequence with one user for each record; got a value of type "
            f"{type(users).__name__}. Convert it to a list."
        )
    if getattr(users, "ndim", 1) != 1:
        raise MalformedInputError("users must be one column, with one user for each record.")
    if len(users) != n:
        raise MalformedInputError(
            f"users must name one user for each record; got {len(users)} users for {n} records."
        )
    require_unmasked("users", users)
    if hasattr(users, "dictionary_encode"):  # an Arrow column, whose nulls are not None
        users = encode_arrow_column(users, "user")[0]
    if isinstance(users, np.ndarray) and users.dtype.kind in "iu":
        numbers, _ = encode_integers(users)
        return inverse_permutation(np.argsort(first_positions(numbers)))[numbers]
    try:
        numbers, _ = encode_first_seen(users)
    except TypeError:
        raise MalformedInputError("users must be hashable. Use strings or numbers.") from None
    missing = sum(map(is_missing, users))
    if missing:
        raise MalformedInputError(
            f"every record must have a user; {missing} have none. "
            "Drop these records, or give each a user of its own."
        )
    return numbers


def user_of_each_record(users: Ints, records: Ints, n: int) -> Ints:
    """The user of each of n records, from the user and the record of each row; refuse several.

    >>> user_of_each_record(np.array([4, 7, 4]), np.array([1, 0, 1]), 2).tolist()
    [7, 4]
    """
    owner = np.arange(n)
    owner[records] = users
    conflicting = len(np.unique(records[owner[records] != users]))
    if conflicting:
        raise MalformedInputError(
            f"every record must have one user; {conflicting} have several. "
            "Use different records for the baskets of different users."
        )
    return owner


def distinct_users(users: Any) -> list[Hashable]:  # noqa: ANN401 - any column
    """The distinct users in the order in which `encode_users` numbers them."""
    # Not by users[i]: in a pandas Series, i would be an index label.
    to_list = next((name for name in ("to_pylist", "tolist") if hasattr(users, name)), None)
    return list(dict.fromkeys(users if to_list is None else getattr(users, to_list)()))


def user_ranks(groups: Ints, users: Ints) -> tuple[Ints, Ints]:
    """For each record: the rank of its user among its group's users, from 0, and their count.

    >>> ranks, counts = user_ranks(np.array([7, 7, 7, 9]), np.array([4, 2, 4, 4]))
    >>> ranks.tolist(), counts.tolist()
    ([1, 0, 1, 0], [2, 2, 2, 1])
    """
    width = int(users.max(initial=0)) + 1
    order = np.argsort(groups * width + users)
    new_group, new_user = run_starts(groups[order]), run_starts(groups[order], users[order])
    row = np.cumsum(new_group) - 1
    user_run = np.cumsum(new_user) - 1
    ranks, counts = np.empty((2, len(order)), np.int64)
    ranks[order] = user_run - user_run[new_group][row]
    counts[order] = np.diff(user_run[new_group], append=new_user.sum())[row]
    return ranks, counts


def count_users(rows: Ints, users: Ints, n: int) -> Ints:
    """The number of distinct users of each row 0, ..., n - 1.

    >>> count_users(np.array([0, 0, 2]), np.array([7, 7, 5]), 3).tolist()
    [1, 0, 1]
    """
    width = int(users.max(initial=0)) + 1
    return np.bincount(sorted_unique(rows * width + users) // width, minlength=n)
