"""Numbers for names: items and users of any type become columns of integers.

Two names get the same number if and only if they are equal to Python: that one user never counts
as two rests on it. A missing name (None, NaN) equals nothing, and is refused.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from setanon_core.columns.sets import Ints, first_positions, integer_column, inverse_order
from setanon_core.errors import MalformedInputError

Vocabulary = tuple[Hashable, ...]
Name = TypeVar("Name", bound=Hashable)


def sorted_vocabulary(names: Iterable[Hashable], what: str = "item") -> tuple[Vocabulary, Ints]:
    """Order distinct names, whatever order they came in; say where each one went."""
    given = list(names)
    places = list(range(len(given)))
    if set(map(type, given)) == {str}:
        # None is missing, and different texts are in line: the vocabulary of a log is large.
        places.sort(key=given.__getitem__)  # type: ignore[arg-type]  # they are texts
        return tuple(map(given.__getitem__, places)), inverse_order(places)
    if any(map(_is_missing, given)):
        raise MalformedInputError(f"no {what} may be missing (None or NaN). Leave them out.")
    try:
        places.sort(key=given.__getitem__)  # type: ignore[arg-type]  # mixed types fall through
        # Frozen sets can be compared, but not put in line: that is no order.
        line = all(given[a] < given[b] for a, b in pairwise(places))  # type: ignore[operator]
    except TypeError:
        line = False
    if not line:
        places.sort(key=lambda place: _spelling(given[place]))
    return tuple(given[place] for place in places), inverse_order(places)


def checked_vocabulary(names: Iterable[Hashable]) -> Vocabulary:
    """The names as they come, if they are a vocabulary: one item must not pass for two."""
    vocabulary = tuple(names)
    try:
        repeated = len(vocabulary) - len(set(vocabulary))
    except TypeError:
        raise MalformedInputError(
            "every item of the vocabulary must be hashable. Use strings, numbers or tuples."
        ) from None
    if repeated or any(map(_is_missing, vocabulary)):
        raise MalformedInputError(
            f"the vocabulary must name every item once, and none may be missing (None or NaN); "
            f"{repeated} are repeated."
        )
    return vocabulary


def encode_values(values: Any, what: str = "item") -> tuple[Ints, Vocabulary]:  # noqa: ANN401
    """Number the values of any column in the order of their vocabulary."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "iu":
            return _number_integers(values)
        values = values.tolist()
    # Not through NumPy: it would make 1 and "1" one item, and cut off a trailing NUL.
    try:
        numbers, seen = encode_first_seen(values)
    except TypeError:
        raise MalformedInputError(
            f"every {what} must be hashable. Use strings, numbers or tuples."
        ) from None
    vocabulary, rank = sorted_vocabulary(seen, what)
    return rank[numbers], vocabulary


def _number_integers(values: npt.NDArray[Any]) -> tuple[Ints, Vocabulary]:
    """The same for integers; where they are small, as numbers of items are, none is sorted."""
    if len(values) and values.min() >= 0 and values.max() < 2 * len(values):
        used = np.bincount(values.astype(np.int64, copy=False)) > 0
        return (np.cumsum(used) - 1)[values], tuple(np.flatnonzero(used).tolist())
    distinct, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int64), tuple(distinct.tolist())


def encode_first_seen(values: Iterable[Name]) -> tuple[Ints, list[Name]]:
    """Number the values by first appearance, and list them in that order.

    >>> numbers, distinct = encode_first_seen(["b", "a", "b"])
    >>> numbers.tolist(), distinct
    ([0, 1, 0], ['b', 'a'])
    """
    codes: defaultdict[Name, int] = defaultdict()
    codes.default_factory = codes.__len__
    # A loop in C: this sees every query, and every word, of a log.
    numbers = np.fromiter(map(codes.__getitem__, values), np.int64)
    return numbers, list(codes)


def encode_users(users: Sequence[Hashable] | npt.NDArray[Any] | None, n: int) -> Ints:
    """Number users from 0 by first appearance; without users every record is its own."""
    if users is None:
        return np.arange(n)
    if not hasattr(users, "__len__") or not hasattr(users, "__getitem__"):
        raise MalformedInputError(
            "users must be a sequence with one user for each record; got a value of type "
            f"{type(users).__name__}. Make it a list."
        )
    if getattr(users, "ndim", 1) != 1:
        raise MalformedInputError("users must be one column, with one user for each record.")
    if len(users) != n:
        raise MalformedInputError(
            f"users must name one user for each record; got {len(users)} users for {n} records."
        )
    if hasattr(users, "dictionary_encode"):  # an Arrow column, whose nulls are not None
        users = encode_arrow(users, "user")[0]
    if isinstance(users, np.ndarray) and users.dtype.kind in "iu":
        numbers, _ = _number_integers(users)
        return inverse_order(np.argsort(first_positions(numbers)))[numbers]
    try:
        numbers, _ = encode_first_seen(users)
    except TypeError:
        raise MalformedInputError("users must be hashable. Use strings or numbers.") from None
    missing = sum(map(_is_missing, users))
    if missing:
        raise MalformedInputError(
            f"every record must have a user; {missing} have none. "
            "Drop these records, or give each a user of its own."
        )
    return numbers


def distinct_users(users: Any) -> list[Hashable]:  # noqa: ANN401 - any column
    """The users in the order of their numbers; read by place, since brackets may mean labels."""
    plain = next((how for how in ("to_pylist", "tolist") if hasattr(users, how)), None)
    return list(dict.fromkeys(users if plain is None else getattr(users, plain)()))


def encode_times(times: npt.ArrayLike) -> Ints:
    """Times as numbers that only their order matters of: integers, or dates with times.

    >>> from datetime import UTC
    >>> encode_times([datetime(2006, 3, 1, 12, tzinfo=UTC), datetime(1970, 1, 1)]).tolist()
    [1141214400000000, 0]
    """
    try:
        column = np.asarray(times)
    except ValueError:  # lists of several lengths
        raise MalformedInputError("times must be one column of integers or dates.") from None
    if column.dtype.kind == "O" and all(isinstance(time, datetime) for time in column):
        # Not through astimezone: the first and the last day of all would overflow.
        local = np.asarray([time.replace(tzinfo=None) for time in column], "datetime64[us]")
        offset = [time.utcoffset() or timedelta() for time in column]
        column = local - np.asarray(offset, "timedelta64[us]")
    if column.dtype.kind == "M":
        missing = int(np.isnat(column).sum())
        if missing:
            raise MalformedInputError(f"every query must have a time; {missing} have none.")
        column = column.astype(np.int64)
    return integer_column("times", column)


def arrow_lists(lists: Any) -> tuple[Ints, Any]:  # noqa: ANN401 - duck-typed Arrow
    """Offsets from 0, and the values beneath, of a list column."""
    column = _whole(lists)
    kind = str(getattr(column, "type", type(column).__name__))
    if not kind.startswith(("list<", "large_list<")):
        raise MalformedInputError(
            f"the records must be an Arrow column of lists; got {kind.partition('<')[0]}. "
            "Cast it to list or large_list."
        )
    if column.null_count:
        raise MalformedInputError(
            f"every record must be a list; {column.null_count} are null. Pass empty lists."
        )
    offsets = column.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], column.flatten()


def encode_arrow(column: Any, what: str) -> tuple[Ints, Vocabulary]:  # noqa: ANN401 - the same
    """Number an Arrow column of items or users, with one Python object per distinct value."""
    whole = _whole(column)
    try:
        encoded = whole.dictionary_encode()
    except NotImplementedError:
        raise MalformedInputError(
            f"every {what} must be a single value, not a list or a struct. Flatten them first."
        ) from None
    if whole.null_count:
        raise MalformedInputError(f"no {what} may be null; {whole.null_count} are. Drop them.")
    # A dictionary that somebody else made may hold nulls, repeats and values out of use.
    codes = encoded.indices.to_numpy()
    used = np.flatnonzero(np.bincount(codes, minlength=len(encoded.dictionary)))
    numbers, vocabulary = encode_values(encoded.dictionary.take(used).to_pylist(), what)
    renumber = np.empty(len(encoded.dictionary), np.int64)
    renumber[used] = numbers
    return renumber[codes], vocabulary


def _whole(column: Any) -> Any:  # noqa: ANN401 - the same
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def _is_missing(name: object) -> bool:
    try:
        return name is None or bool(name != name)  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):  # one that will not even say whether it equals itself
        return True


def _spelling(name: object) -> tuple[str, str]:
    """Sort key for names that have no order of their own."""
    spelled = sorted(map(repr, name)) if isinstance(name, frozenset) else name
    return type(name).__qualname__, repr(spelled)
