"""Places that a stage has stored, as those of the records that are grouped.

Paper:      section 5.2: clusters are made once, then groups form within them.
Guarantee:  any places below the number of places give groups of k users. Other places are refused;
            so are surplus duplicates whose set fewer than k users of them have.
Complexity: O(n) for n threads; one part of them at a time.
Deviation:  that of `place_records`.
"""

from collections.abc import Iterable

import numpy as np

from setanon_core.columns.narrow import narrow_column
from setanon_core.errors import MalformedInputError
from setanon_core.grouping.strip import Stripped
from setanon_core.partition.place_records import (
    NO_PLACE,
    PlacedRecords,
    Places,
    empty_places,
)
from setanon_core.partition.surplus import count_unshared

AGAIN = "Materialize clusters again, with the parameters of this release."


def take_places(
    parts: Iterable[Places], stripped: Stripped, n: int, places: int, k: int
) -> PlacedRecords:
    """The places of the stripped records; `parts` are those of all n threads, in their order."""
    records = stripped.records
    row = narrow_column(n, -1)
    row[stripped.positions] = np.arange(len(records))
    choices, sizes = empty_places(len(records) + 1)  # one more row: index -1 is that of no record
    start = 0
    for part in parts:
        rows = row[start : start + len(part.choices)]
        choices[rows], sizes[rows] = part
        start += len(part.choices)
    placed = PlacedRecords(records, choices[:-1], sizes[:-1], places)
    _require_places(placed, k)
    return placed


def _require_places(placed: PlacedRecords, k: int) -> None:
    choices, sizes, own = placed.choices, placed.sizes, placed.own
    is_place = (choices >= 0) & (choices < placed.places)
    # Where a record can save nothing, there need not be a place, except for its own.
    faulty = ~(is_place | ((choices == NO_PLACE) & (sizes == 0))).all(axis=1) | (sizes < 0).any(
        axis=1
    )
    if faulty.any():
        raise MalformedInputError(
            f"each thread of clusters must have places from 0 to {placed.places - 1}; "
            f"{int(faulty.sum())} threads have others. {AGAIN}"
        )
    unshared = count_unshared(placed.records, own == NO_PLACE, k)
    if unshared:
        raise MalformedInputError(
            f"threads without a place in clusters must share their set with k = {k} users of such "
            f"threads; {unshared} do not. {AGAIN}"
        )
