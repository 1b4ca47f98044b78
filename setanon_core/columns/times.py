"""Times to integers that have the same order."""

from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, integer_column
from setanon_core.errors import MalformedInputError


def encode_times(times: npt.ArrayLike) -> Ints:
    """Convert integers, or datetimes (naive ones as UTC), to integers in the same order.

    >>> from datetime import UTC
    >>> encode_times([datetime(2006, 3, 1, 12, tzinfo=UTC), datetime(1970, 1, 1)]).tolist()
    [1141214400000000, 0]
    """
    try:
        column = np.asarray(times)
    except ValueError:  # lists of several lengths
        raise MalformedInputError("times must be one column of integers or dates.") from None
    if column.dtype.kind == "O" and all(isinstance(time, datetime) for time in column):
        # Not by astimezone: it overflows at datetime.min and datetime.max.
        local = np.asarray([time.replace(tzinfo=None) for time in column], "datetime64[us]")
        offset = [time.utcoffset() or timedelta() for time in column]
        column = local - np.asarray(offset, "timedelta64[us]")
    if column.dtype.kind == "M":
        missing = int(np.isnat(column).sum())
        if missing:
            raise MalformedInputError(f"every query must have a time; {missing} have none.")
        column = column.astype(np.int64)
    return integer_column("times", column)
