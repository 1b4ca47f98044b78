"""The answer of a verifier."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verifier's answer to Definition 1, in counts."""

    k: int
    records: int
    """Published records that were read."""

    groups: int
    """Distinct published sets."""

    smallest_group: int
    """Users of the set with the fewest; 0 if nothing is published."""

    violations: int
    """Published records whose set fewer than k users share."""

    violating_groups: int
    """Distinct published sets that fewer than k users share."""

    @property
    def ok(self) -> bool:
        """Whether every published record is shared by at least k users."""
        return self.violations == 0
