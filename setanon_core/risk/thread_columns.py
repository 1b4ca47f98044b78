"""Typed and published threads as columns: keyword numbers, query numbers, users."""

from collections.abc import Sequence
from dataclasses import dataclass

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets
from setanon_core.errors import InvalidParameterError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QueryWords:
    """The distinct queries: query q has the keywords `words[offsets[q]:offsets[q + 1]]`."""

    words: Ints
    """Keyword numbers in the order typed."""

    offsets: Ints
    vocabulary: Sequence[str]
    """The text of each keyword number."""

    def __repr__(self) -> str:
        """Counts only."""
        return f"QueryWords({len(self.offsets) - 1} queries, {len(self.vocabulary)} keywords)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TypedThreads:
    """Threads as typed: private."""

    keywords: Sets
    """The keyword numbers of each thread."""

    queries: Ints
    """Query numbers in the order typed; those of thread t begin at `offsets[t]`."""

    offsets: Ints
    users: Ints
    """The user number of each thread."""

    def __repr__(self) -> str:
        """Counts only."""
        return f"TypedThreads({len(self.keywords)} threads)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublishedThreads:
    """Threads as published, and what the ledger says about them."""

    keywords: Sets
    queries: Ints
    """Query numbers in the published order; empty if only sets are published."""

    offsets: Ints
    has_lists: bool
    """Whether queries are published; False for sets and baskets."""

    users: Ints | None = None
    """The user number of each thread; None without a ledger."""

    sources: Ints | None = None
    """The typed thread that each published thread was made from; None without a ledger."""

    def __repr__(self) -> str:
        """Counts only."""
        return f"PublishedThreads({len(self.keywords)} threads)"

    @property
    def known_users(self) -> Ints:
        """The users of the threads; refuses data without a ledger."""
        if self.users is None:
            raise InvalidParameterError("this attack needs the users of the ledger; pass a ledger.")
        return self.users

    @property
    def known_sources(self) -> Ints:
        """The typed threads of the threads; refuses data without a ledger."""
        if self.sources is None:
            raise InvalidParameterError(
                "this attack needs the threads of the ledger; pass a ledger."
            )
        return self.sources

    def set_ranks(self) -> Ints:
        """A number per thread; threads have one number if and only if their sets are equal."""
        return self.keywords.ranks

    def list_ranks(self) -> Ints:
        """A number per thread; equal if and only if text, order and number of queries are equal."""
        # `ranks` compares position by position; it does not need ascending values.
        return Sets.unchecked(items=self.queries.copy(), offsets=self.offsets.copy()).ranks
