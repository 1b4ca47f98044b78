"""32-bit columns: the columns of a very large log take half the memory of int64."""

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, inverse_permutation
from setanon_core.columns.records import Records
from setanon_core.columns.sets import NUMBER_LIMIT, SETS_AT_ONCE


def narrow(column: npt.NDArray[np.integer], largest: int) -> Any:  # noqa: ANN401 - Ints or Int32s
    """The column as int32 if its largest number fits, else unchanged; widen before arithmetic.

    >>> narrow(np.array([7]), 7).dtype, narrow(np.array([1 << 40]), 1 << 40).dtype
    (dtype('int32'), dtype('int64'))
    """
    return column.astype(np.int32, copy=False) if largest < NUMBER_LIMIT else column


def narrow_column(n: int, number: int) -> Ints:
    """An int32 column of equal numbers; `Ints` also stands for narrow columns."""
    return cast("Ints", np.full(n, number, np.int32))


def widen(column: npt.NDArray[np.integer]) -> Ints:
    """The column as int64; no copy if it is already."""
    return column.astype(np.int64, copy=False)


def narrow_records(records: Records) -> Records:
    """The records in 32-bit columns, without the vocabulary.

    `Records.subset` of them has 64-bit users again: only subsets are passed to other functions.
    """
    return Records.unchecked(
        items=narrow(records.items, NUMBER_LIMIT - 1),
        offsets=narrow(records.offsets, len(records.items)),
        users=narrow(records.users, NUMBER_LIMIT - 1),
        vocabulary=(),
    )


def number_by_appearance(users: npt.NDArray[np.integer], n: int) -> Ints:
    """Number the users, which are below n, by first appearance, as `encode_users` does.

    >>> number_by_appearance(np.array([2, 0, 2, 1]), 3).tolist()
    [0, 1, 0, 2]
    """
    first: Ints = np.full(n, len(users))  # users that do not appear are last
    for low in reversed(range(0, len(users), SETS_AT_ONCE)):
        part = users[low : low + SETS_AT_ONCE]
        # Assigned in reverse order: the first occurrence is written last.
        first[part[::-1]] = np.arange(low, low + len(part))[::-1]
    number = inverse_permutation(np.argsort(first)).astype(np.int32)
    return cast("Ints", number[users])
