"""Distances from one set to another that weigh the items of each side differently.

Paper:      none; the Hamming distance d_ij of section 4 is `HAMMING`.
Guarantee:  exact integers.
Complexity: O(1).
Deviation:  none.
"""

from typing import Any, Final, NamedTuple


class Metric(NamedTuple):
    """The distance `own` * |S - Z| + `other` * |Z - S| from a set S to a set Z."""

    own: int
    other: int

    @property
    def unit(self) -> int:
        """The distance from S to Z and that from Z to S add up to `unit` * |S ^ Z|."""
        return self.own + self.other


HAMMING: Final = Metric(1, 1)
LOST: Final = Metric(1, 0)
"""The items that S loses if it becomes a subset of Z: those that deletions force on S."""

GAINED: Final = Metric(0, 1)
"""The items that S gains if it becomes a superset of Z: those that additions force on S."""

MOSTLY_LOST: Final = Metric(3, 1)


def distance(s: Any, z: Any, shared: Any, metric: Metric) -> Any:  # noqa: ANN401
    """Distance from a set of s items to one of z items, with `shared` common items."""
    return metric.own * (s - shared) + metric.other * (z - shared)
