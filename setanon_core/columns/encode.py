"""Encode the values of a column as integers: items and users of any type.

Two values get the same number if and only if they are equal in Python; otherwise one user could
be counted as two. Missing values (None, NaN) are refused.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import (
    Ints,
    inverse_permutation,
    require_unmasked,
)
from setanon_core.errors import MalformedInputError

Vocabulary = tuple[Hashable, ...]
Name = TypeVar("Name", bound=Hashable)


def sorted_vocabulary(names: Iterable[Hashable], what: str = "item") -> tuple[Vocabulary, Ints]:
    """Sort distinct names; return them and the position of each input name in the result.

    The order does not depend on the order of the input: names that Python cannot sort are sorted
    by type and `repr`.
    """
    values = list(names)
    order = list(range(len(values)))
    if set(map(type, values)) == {str}:
        # Fast path: strings are never missing and always sortable; a log has very many.
        order.sort(key=values.__getitem__)  # type: ignore[arg-type]  # all are str
        return tuple(map(values.__getitem__, order)), inverse_permutation(order)
    if any(map(is_missing, values)):
        raise MalformedInputError(
            f"no {what} may be missing (None or NaN). Drop these rows or items."
        )
    try:
        order.sort(key=values.__getitem__)  # type: ignore[arg-type]  # mixed types raise TypeError
        # `<` of frozen sets means subset: sorting by it gives no total order.
        ascending = all(values[a] < values[b] for a, b in pairwise(order))  # type: ignore[operator]
    except TypeError:
        ascending = False
    if not ascending:
        order.sort(key=lambda position: _type_and_repr(values[position]))
    return tuple(values[position] for position in order), inverse_permutation(order)


def checked_vocabulary(names: Iterable[Hashable]) -> Vocabulary:
    """The names in the given order; refuses repeated and missing names."""
    vocabulary = tuple(names)
    try:
        repeated = len(vocabulary) - len(set(vocabulary))
    except TypeError:
        raise MalformedInputError(
            "every item of the vocabulary must be hashable. Use strings, numbers or tuples."
        ) from None
    if repeated or any(map(is_missing, vocabulary)):
        raise MalformedInputError(
            f"the vocabulary must name every item once, and none may be missing (None or NaN); "
            f"{repeated} are repeated."
        )
    return vocabulary


def encode_values(values: Any, what: str = "item") -> tuple[Ints, Vocabulary]:  # noqa: ANN401
    """Number the values of any column by their position in the sorted vocabulary."""
    require_unmasked(f"the {what} column", values)
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "iu":
            return encode_integers(values)
        values = values.tolist()
    # Not by np.unique: it would make 1 and "1" equal, and drop a trailing NUL.
    try:
        numbers, seen = encode_first_seen(values)
    except TypeError:
        raise MalformedInputError(
            f"every {what} must be hashable. Use strings, numbers or tuples."
        ) from None
    vocabulary, rank = sorted_vocabulary(seen, what)
    return rank[numbers], vocabulary


def encode_integers(values: npt.NDArray[Any]) -> tuple[Ints, Vocabulary]:
    """`encode_values` for an integer array; small nonnegative integers are not sorted."""
    if len(values) and values.min() >= 0 and values.max() < 2 * len(values):
        used = np.bincount(values.astype(np.int64, copy=False)) > 0
        return (np.cumsum(used) - 1)[values], tuple(np.flatnonzero(used).tolist())
    distinct, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int64), tuple(distinct.tolist())


def encode_first_seen(values: Iterable[Name]) -> tuple[Ints, list[Name]]:
    """Number the values by first appearance; return the numbers and the distinct values.

    >>> numbers, distinct = encode_first_seen(["b", "a", "b"])
    >>> numbers.tolist(), distinct
    ([0, 1, 0], ['b', 'a'])
    """
    codes: defaultdict[Name, int] = defaultdict()
    codes.default_factory = codes.__len__
    # No Python loop: this runs over every query and every word of a log.
    numbers = np.fromiter(map(codes.__getitem__, values), np.int64)
    return numbers, list(codes)


def is_missing(name: object) -> bool:
    """Whether the name is None or NaN, contains a NaN, or cannot be compared with itself.

    >>> is_missing(("site", float("nan"))), is_missing(("site", None))
    (True, False)
    """
    if isinstance(name, tuple | frozenset):
        # Every NaN differs from all others: one user would be counted as several.
        return any(part is not None and is_missing(part) for part in name)
    try:
        return name is None or bool(name != name)  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):
        return True


def _type_and_repr(name: object) -> tuple[str, str]:
    """Sort key for names without a total order."""
    sortable = sorted(map(repr, name)) if isinstance(name, frozenset) else name
    return type(name).__qualname__, repr(sortable)
