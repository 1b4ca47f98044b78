"""The knobs of one anonymization: frozen, and checked once when made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from secrets import token_bytes
from typing import Final, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from setanon_core.errors import InvalidParameterError
from setanon_core.ranges import check_choice, check_k, integer

Identity = Literal["exact", "minhash"]

Tokenizer = Callable[[str], Sequence[str]]
"""Splits a query into keywords. Text without spaces between words needs a custom tokenizer."""

Similar = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.bool_]]
"""Maps two columns of text numbers to a Boolean column: whether each pair is similar."""


class SimilarityMeasure(Protocol):
    """Decides which pairs of queries are similar."""

    def over(self, texts: Sequence[str]) -> Similar:
        """Preprocess these distinct texts once; return a function that compares pairs of them."""
        ...


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


Spelling = Literal["common", "as_typed"]


Format = Literal["queries", "sets"]


IDENTITIES: Final[tuple[str, ...]] = get_args(Identity)


SPELLINGS: Final[tuple[str, ...]] = get_args(Spelling)


FORMATS: Final[tuple[str, ...]] = get_args(Format)


MOST_HASHES: Final = 4
"""The largest p of section 5.2; beyond it hardly two threads share a key."""


@dataclass(frozen=True, slots=True)
class ReleaseParams(Params):
    """The knobs of `Params`, and those of the stages before and after the grouping."""

    p: int = 2
    """Min-Hashes of a cluster's key, with `method="paper"`; from 1 to 4."""

    identity: Identity = "exact"
    """Which keywords are one item: only the same, or those with the same Min-Hashes."""

    spelling: Spelling = "common"
    """How the keywords of an item are spelled: one way in each group, or each as it was typed."""

    format: Format = "queries"
    """What is published of a thread: its edited queries, or the set of its keywords."""

    measure: SimilarityMeasure | None = None
    """Decides which queries of a session belong to one thread; None: `EditDistance()`."""

    tokenizer: Tokenizer | None = None
    """Splits a query into keywords, and keywords joined by spaces into the same keywords.

    None: `tokenize`.
    """

    secret: bytes = field(default_factory=lambda: token_bytes(32), repr=False)
    """Key of the thread ids; fresh and random if none is given. Up to 64 bytes."""

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        Params.__post_init__(self)
        object.__setattr__(self, "p", integer("p", self.p))
        if not 1 <= self.p <= MOST_HASHES:
            raise InvalidParameterError(f"p must be from 1 to {MOST_HASHES}; got {self.p}.")
        check_choice("identity", self.identity, IDENTITIES)
        check_choice("spelling", self.spelling, SPELLINGS)
        check_choice("format", self.format, FORMATS)
        secret: object = self.secret
        if not (isinstance(secret, bytes) and 0 < len(secret) <= blake2b.MAX_KEY_SIZE):
            raise InvalidParameterError(f"secret must be 1 to {blake2b.MAX_KEY_SIZE} bytes.")
