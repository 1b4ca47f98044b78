"""The result of a release: what is published, the private ledger, the cost."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from setanon_core.columns.tables import TableConstructor
from setanon_core.model.groups import Certificate, Round
from setanon_core.model.verdict import Verdict
from setanon_core.params import ReleaseParams

ThreadIds = npt.NDArray[np.uint8]
"""Thread ids of 16 bytes, one row per thread."""


@dataclass(frozen=True, slots=True, repr=False)
class QueryRelease:
    """Edited queries with thread id and position in the thread, sorted by both."""

    thread_ids: tuple[str, ...]
    positions: tuple[int, ...]
    queries: tuple[str, ...]
    constructor: TableConstructor = field(default=dict, kw_only=True, compare=False)

    def __repr__(self) -> str:
        """Counts only."""
        return f"QueryRelease({len(set(self.thread_ids))} threads, {len(self.queries)} queries)"

    def to_frame(self, constructor: TableConstructor | None = None) -> Any:  # noqa: ANN401 - a table
        """A table of the kind that was passed in; `constructor` builds another kind."""
        return (constructor or self.constructor)(
            {
                "thread_id": list(self.thread_ids),
                "position": list(self.positions),
                "query": list(self.queries),
            }
        )


@dataclass(frozen=True, slots=True, repr=False)
class SetRelease:
    """The sorted keywords of each thread, or items of each basket, sorted by thread id."""

    thread_ids: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...]
    constructor: TableConstructor = field(default=dict, kw_only=True, compare=False)

    def __repr__(self) -> str:
        """Counts only."""
        return f"SetRelease({len(self.thread_ids)} threads)"

    def to_frame(self, constructor: TableConstructor | None = None) -> Any:  # noqa: ANN401 - a table
        """A table of the kind that was passed in; `constructor` builds another kind."""
        return (constructor or self.constructor)(
            {"thread_id": list(self.thread_ids), "keywords": list(map(list, self.keywords))}
        )


Release = QueryRelease | SetRelease


@dataclass(frozen=True, slots=True, repr=False)
class Ledger:
    """Private: the user of every published thread, and the thread's number in the input."""

    thread_ids: tuple[str, ...]
    threads: tuple[int, ...]
    users: tuple[Hashable, ...]
    constructor: TableConstructor = field(default=dict, kw_only=True, compare=False)

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show a user."""
        return f"Ledger({len(self.thread_ids)} threads, {len(set(self.users))} users)"

    def to_frame(self, constructor: TableConstructor | None = None) -> Any:  # noqa: ANN401 - a table
        """A table of the kind that was passed in; `constructor` builds another kind. Private."""
        return (constructor or self.constructor)(
            {
                "thread_id": list(self.thread_ids),
                "thread": list(self.threads),
                "user": list(self.users),
            }
        )


@dataclass(frozen=True, slots=True, repr=False)
class ReleaseCost:
    """The cost of a release, in keywords of threads, with its certificate."""

    k: int
    threads: int
    keywords: int
    """Items of all threads before the release."""

    respellings: int
    """Published words whose spelling was changed."""

    certificate: Certificate
    rounds: tuple[Round, ...] = ()
    """The cost after each round of the grouping."""

    query_rows: int = field(default=0, compare=False)
    """Queries of the published threads, edited to their centers; 0 if no queries are published."""

    true_query_rows: int = field(default=0, compare=False)
    """Published queries that their own threads have after the edits; not more than `query_rows`."""

    def __repr__(self) -> str:
        """Counts only, without the rounds."""
        return (
            f"ReleaseCost(k={self.k}, {self.threads} threads, {self.keywords} keywords, "
            f"cost {self.certificate.cost.total}, retained {self.retained:.1%})"
        )

    @property
    def retained(self) -> float:
        """Share of the keywords that remain: 1 - cost / keywords."""
        return 1 - self.certificate.cost.total / max(self.keywords, 1)


@dataclass(frozen=True, slots=True)
class ReleaseResult:
    """The result of `anonymize_log` or `anonymize_baskets`. Publish `release` only."""

    release: Release
    ledger: Ledger
    """Private: the users of the published threads."""

    cost: ReleaseCost
    verdict: Verdict
    """Verification of the published texts against the ledger."""

    params: ReleaseParams = field(repr=False)
    """All parameters, including the secret if it was generated. Private."""

    def to_frame(self, constructor: TableConstructor | None = None) -> Any:  # noqa: ANN401 - a table
        """The release as a table: `release.to_frame()`."""
        return self.release.to_frame(constructor)


@dataclass(frozen=True, slots=True, repr=False)
class Sweep:
    """The cost of a release for each k."""

    points: tuple[ReleaseCost, ...]
    constructor: TableConstructor = field(default=dict, kw_only=True, compare=False)

    def __repr__(self) -> str:
        """The values of k only."""
        return f"Sweep(k={[point.k for point in self.points]})"

    def __iter__(self) -> Iterator[ReleaseCost]:
        """The cost for each k."""
        return iter(self.points)

    def __len__(self) -> int:
        """The number of points."""
        return len(self.points)

    def to_frame(self, constructor: TableConstructor | None = None) -> Any:  # noqa: ANN401 - a table
        """A table with a row per k; of the kind that was passed in, or built by `constructor`."""
        points, costs = self.points, [point.certificate.cost for point in self.points]
        return (constructor or self.constructor)(
            {
                "k": [point.k for point in points],
                "threads": [point.threads for point in points],
                "keywords": [point.keywords for point in points],
                "additions": [cost.additions for cost in costs],
                "deletions": [cost.deletions for cost in costs],
                "withdrawals": [cost.withdrawals for cost in costs],
                "respellings": [point.respellings for point in points],
                "cost": [cost.total for cost in costs],
                "lower_bound": [point.certificate.lower_bound for point in points],
                "factor": [point.certificate.factor for point in points],
                "retained": [point.retained for point in points],
            }
        )
