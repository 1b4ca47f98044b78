"""Parameters of an anonymization: frozen dataclasses, checked when they are built."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from secrets import token_bytes
from typing import Annotated, Final, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from setanon_core.attribute_names import AttributeDeclarations, attribute_names
from setanon_core.declarations import check_parameters
from setanon_core.errors import InvalidParameterError
from setanon_core.ranges import AtLeast, Between, ByteLength, K

Method = Literal["best", "paper"]
GrouperName = Literal["star", "suppression", "facility_location", "exact"]
Operations = Literal["both", "additions", "deletions"]
Combinations = Literal["any", "typed"]
Identity = Literal["exact", "minhash"]
Spelling = Literal["common", "as_typed"]
UserNames = Literal["folded", "confusable", "exact"]
Format = Literal["queries", "edited", "sets"]
Unit = Literal["thread", "session", "query"]

METHODS: Final[tuple[str, ...]] = get_args(Method)
GROUPERS: Final[tuple[str, ...]] = get_args(GrouperName)
OPERATIONS: Final[tuple[Operations, ...]] = get_args(Operations)
FORMATS: Final[tuple[str, ...]] = get_args(Format)

Tokenizer = Callable[[str], Sequence[str]]
"""Splits a query into keywords. Text without spaces between words needs a custom tokenizer."""

PairComparison = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.bool_]]
"""Maps two columns of text numbers to a Boolean column: whether each pair is similar."""


class SimilarityMeasure(Protocol):
    """Decides which pairs of queries are similar."""

    def prepare(self, texts: Sequence[str]) -> PairComparison:
        """Preprocess these distinct texts once; return a function that compares pairs of them."""
        ...


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of the grouping of records.

    Thread ids are hashed from the names and values of the fields, in their order.
    """

    k: K
    """Distinct users who must share every published list of queries, or set."""

    method: Method = "best"
    """best: several groupers, then local search; paper: the paper's algorithms, for comparison."""

    grouper: GrouperName | None = None
    """Algorithm that forms the groups; None: the groupers of the method."""

    operations: Operations = "both"
    """Edits allowed in a published record (section 3): both, additions or deletions."""

    combinations: Combinations | None = None
    """Sets that may be published. any: all sets of published items; typed: only sets that k users
    have whole, each in one record; None: typed with unit query, otherwise any."""

    min_owners: Annotated[int, AtLeast(0, "0 turns it off; leave it out to use k.")] | None = None
    """Users of the complete input who must have an item before it is published; 0: off; None: k."""

    seed: Annotated[int, AtLeast(0)] = 0
    """Random seed of the restarts on small inputs; equal seeds give equal results."""

    user_names: UserNames = "folded"
    """Spellings that are one user. folded: those that differ in case, blanks or invisible
    characters; confusable: also in letters that look alike; exact: equal ones only."""

    def __post_init__(self) -> None:
        """Check all fields, those of subclasses included, then their combinations."""
        check_parameters(self)
        if self.combinations is None:
            object.__setattr__(self, "combinations", "any")
        if self.combinations == "typed" and self.operations == "additions":
            raise InvalidParameterError(
                "operations must be both or deletions with combinations typed: a set that k users "
                "did not type whole is published without some of its items; got additions."
            )

    @property
    def required_owners(self) -> int:
        """`min_owners`, or k if it is None."""
        # Not stored: the default has to follow k in `dataclasses.replace(params, k=...)`.
        return self.k if self.min_owners is None else self.min_owners


@dataclass(frozen=True, slots=True)
class PublishedParams(Params):
    """All parameters of a release that its certificate may state."""

    # Section 5.2. With more than 4 Min-Hashes hardly any two threads have equal keys.
    p: Annotated[int, Between(1, 4)] = 2
    """Min-Hashes in a cluster key, for method paper."""

    identity: Identity = "exact"
    """Keywords that count as one item. exact: equal ones; minhash: those with equal Min-Hashes."""

    spelling: Spelling = "common"
    """Spelling of an item. common: one per group; as_typed: each as typed, as in the paper."""

    unit: Unit = "thread"
    """Queries of one record. thread: those of one user on one topic; session: all queries of one
    user; query: each query alone."""

    format: Format = "queries"
    """What is published of a thread. queries: a list of queries that k users share; edited: its own
    queries with edits, as in the paper; sets: the set of its keywords."""

    attributes: Annotated[tuple[str, ...], AttributeDeclarations()] = ()
    """Attributes to publish beside the keywords, as columns."""

    def __post_init__(self) -> None:
        """Check all fields, then their combinations."""
        if self.combinations is None and self.unit == "query":
            # One user's repeated queries may be the majority of a group: the set of the group would
            # then be the query of this user.
            object.__setattr__(self, "combinations", "typed")
        Params.__post_init__(self)
        if self.combinations == "typed" and self.identity == "minhash":
            raise InvalidParameterError(
                "identity must be exact with combinations typed: users who typed an item may have "
                "typed other keywords than the published one; got minhash."
            )
        if self.format == "queries" and self.spelling == "as_typed":
            raise InvalidParameterError(
                "spelling must be common with format queries, since k users do not share lists "
                "with spellings as typed; got as_typed. Use format edited or sets, which can be "
                "published if k users share the sets."
            )
        self._check_attributes()

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The published columns of the attributes."""
        return attribute_names(self.attributes)

    def _check_attributes(self) -> None:
        """Refuse attributes where k users would not share the whole published row."""
        allowed = {"format": ("queries", "sets"), "spelling": ("common",)}
        allowed |= {"combinations": ("any",), "operations": ("both", "deletions")}
        for name, values in allowed.items():
            if self.attributes and getattr(self, name) not in values:
                raise InvalidParameterError(
                    f"{name} must be {' or '.join(values)} with attributes: otherwise k users "
                    "would not share all that is published of a thread, or rare values could not "
                    f"be deleted; got {getattr(self, name)}. Set {name}, or leave attributes out."
                )


@dataclass(frozen=True, slots=True)
class ReleaseParams(PublishedParams):
    """All parameters of a release, with the functions and the secret that are not published."""

    measure: SimilarityMeasure | None = None
    """Decides which queries of a session belong to one thread; None: `EditDistance()`."""

    tokenizer: Tokenizer | None = None
    """Splits a query into keywords, and keywords joined by spaces into the same keywords.

    None: `tokenize`.
    """

    secret: Annotated[bytes, ByteLength(1, blake2b.MAX_KEY_SIZE)] = field(
        default_factory=lambda: token_bytes(32), repr=False
    )
    """Key of the thread ids; random by default."""


@dataclass(frozen=True, slots=True)
class SeriesParams(Params):
    """Parameters of a series of batches."""

    hold: Annotated[int, AtLeast(0)] = field(kw_only=True)
    """Parts that a record may wait for others; 0: each part is published for itself."""

    secret: Annotated[bytes, ByteLength(1, blake2b.MAX_KEY_SIZE)] = field(
        default_factory=lambda: token_bytes(32), repr=False
    )
    """Key of the hashes of users and items, and of the digest of the state; random by default."""
