"""One number of utility, beside the same number of the original and of the paper's release."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

V = TypeVar("V")

Three = tuple[V, V, V]
"""The original, the release, and the paper's release."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure: its name, what it means, and its three numbers; no keyword is in it."""

    name: str
    meaning: str
    original: float
    release: float
    paper: float
    cases: int
    """How many things the original's number is a share of; NaN is the number of nothing."""


def measured(
    name: str, meaning: str, three: Three[V], number: Callable[[V], float], cases: int
) -> Measured:
    """Take the same number of all three."""
    original, release, paper = map(number, three)
    return Measured(name, meaning, original, release, paper, cases)


def share(part: float, whole: float) -> float:
    """A part of a whole; of nothing, there is no share (NaN)."""
    return part / whole if whole else float("nan")


def recall(wanted: Sequence[object], found: Iterable[object]) -> float:
    """Share of the wanted, which all differ, that were found.

    >>> recall(["tea", "milk"], {"milk", "rum"})
    0.5
    """
    return share(len(set(wanted).intersection(found)), len(wanted))
