"""The knobs of one anonymization: frozen, and checked once when made."""

import operator
from dataclasses import dataclass
from typing import Final, Literal, get_args

from setanon_core.errors import InvalidParameterError

Method = Literal["best", "paper"]
GrouperName = Literal["star", "suppression", "facility_location", "exact"]
Operations = Literal["both", "additions", "deletions"]

METHODS: Final[tuple[str, ...]] = get_args(Method)
GROUPERS: Final[tuple[str, ...]] = get_args(GrouperName)
OPERATIONS: Final[tuple[Operations, ...]] = get_args(Operations)


@dataclass(frozen=True, slots=True)
class Params:
    """What is asked of a grouping; every field has one default and one range."""

    k: int
    """Distinct users that must share every published set; at least 2."""

    method: Method = "best"
    """`best`: our groupers, then improvements; `paper`: one grouper and Algorithm 1."""

    grouper: GrouperName | None = None
    """Which algorithm forms the groups; None leaves the choice to the method."""

    operations: Operations = "both"
    """Which edits may be made to a published record (section 3 of the paper)."""

    min_owners: int | None = None
    """Users of the whole data who must hold an item before it is published; None means k."""

    seed: int = 0
    """Seeds the restarts of the local search; the same seed gives the same result."""

    def __post_init__(self) -> None:
        """Refuse what is out of range; store plain integers."""
        object.__setattr__(self, "k", check_k(self.k))
        if self.min_owners is not None:
            # None stays None: with another k, the default must follow it.
            object.__setattr__(self, "min_owners", integer("min_owners", self.min_owners))
        if self.owners < 0:
            raise InvalidParameterError(
                f"min_owners must be 0 (off) or more; got {self.owners}. Leave it out to use k."
            )
        object.__setattr__(self, "seed", integer("seed", self.seed))
        if self.seed < 0:
            raise InvalidParameterError(f"seed must be 0 or more; got {self.seed}.")
        check_choice("method", self.method, METHODS)
        check_choice("operations", self.operations, OPERATIONS)
        if self.grouper is not None:
            check_choice("grouper", self.grouper, GROUPERS)

    @property
    def owners(self) -> int:
        """`min_owners` with its default filled in."""
        return self.k if self.min_owners is None else self.min_owners


def check_k(k: object) -> int:
    """Return k as a plain integer of at least 2, or say why it is not one."""
    value = integer("k", k)
    if value < 2:  # noqa: PLR2004 - the range is the rule itself
        raise InvalidParameterError(
            f"k must be at least 2; got {value}. At k=1 the release would be the raw data."
        )
    return value


def integer(name: str, value: object) -> int:
    """Return a plain integer, or say what was given instead."""
    try:
        # True is an int to Python, and never what was meant here.
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]  # TypeError is the answer
    except TypeError:
        pass
    raise InvalidParameterError(
        f"{name} must be an integer; got a value of type {type(value).__name__}."
    )


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of the choices, and list them."""
    if isinstance(value, str) and value in choices:
        return
    # What is not even a word may be data in the wrong place: name its type only.
    seen = repr(value) if isinstance(value, str) else f"a value of type {type(value).__name__}"
    raise InvalidParameterError(f"{name} must be one of {', '.join(choices)}; got {seen}.")
