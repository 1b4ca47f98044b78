"""The result of a verification."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a release is k-anonymous (Definition 1), in counts."""

    k: int
    records: int
    """Published records."""

    groups: int
    """Distinct published sets."""

    smallest_group: int
    """Users of the set with the fewest users; 0 if nothing is published."""

    violations: int
    """Published records whose set is shared by fewer than k users."""

    violating_groups: int
    """Distinct published sets that are shared by fewer than k users."""

    @property
    def ok(self) -> bool:
        """Whether every published record's set is shared by at least k users."""
        return self.violations == 0

    def __bool__(self) -> bool:
        """Equal to `ok`: `if verify(...)` must not accept a release with violations."""
        return self.ok
