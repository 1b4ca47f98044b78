"""The result of a release: what is published, the private ledger, the cost."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setanon_core.columns.arrays import offsets_of
from setanon_core.columns.one_hot import zero_one_matrix
from setanon_core.columns.tables import TableConstructor
from setanon_core.model.attributes import AttributeCost
from setanon_core.model.groups import Certificate, Round
from setanon_core.model.table_result import TableResult
from setanon_core.model.verdict import Verdict
from setanon_core.params import ReleaseParams

ThreadIds = npt.NDArray[np.uint8]
"""Thread ids of 16 bytes, one row per thread."""


@dataclass(frozen=True, slots=True, repr=False)
class QueryRelease(TableResult):
    """Edited queries with thread id and position in the thread, sorted by both."""

    thread_ids: tuple[str, ...]
    positions: tuple[int, ...]
    queries: tuple[str, ...]
    attributes: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """For each attribute, its values in each row: those of the thread."""

    constructor: TableConstructor = field(default=dict, kw_only=True, compare=False)

    def __repr__(self) -> str:
        """Counts only."""
        return f"QueryRelease({len(set(self.thread_ids))} threads, {len(self.queries)} queries)"

    def table_columns(self) -> dict[str, list[Any]]:
        """Thread id, position and query; one row per query."""
        return {
            "thread_id": list(self.thread_ids),
            "position": list(self.positions),
            "query": list(self.queries),
            **_value_lists(self.attributes),
        }


@dataclass(frozen=True, slots=True, repr=False)
class SetRelease(TableResult):
    """The sorted keywords of each thread, or items of each basket, sorted by thread id."""

    thread_ids: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...]
    attributes: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """For each attribute, its values in each row."""

    constructor: TableConstructor = field(default=dict, kw_only=True, compare=False)

    def __repr__(self) -> str:
        """Counts only."""
        return f"SetRelease({len(self.thread_ids)} threads)"

    def table_columns(self) -> dict[str, list[Any]]:
        """Thread id and list of keywords; one row per thread."""
        return {
            "thread_id": list(self.thread_ids),
            "keywords": list(map(list, self.keywords)),
            **_value_lists(self.attributes),
        }

    @property
    def items(self) -> tuple[str, ...]:
        """The distinct published keywords or items, sorted: the columns of `to_sparse`."""
        return tuple(sorted(set(chain.from_iterable(self.keywords))))

    def to_sparse(self) -> sparse.csr_array:
        """A sparse 0/1 matrix: one row per thread, one column for each of `items`.

        Withdrawn threads have no row, as in the release.
        """
        column = {item: number for number, item in enumerate(self.items)}
        columns = [column[item] for items in self.keywords for item in items]
        offsets = offsets_of(np.array([len(items) for items in self.keywords], np.int64))
        return zero_one_matrix(np.array(columns, np.int64), offsets, len(column))


Release = QueryRelease | SetRelease


def _value_lists(attributes: Mapping[str, tuple[tuple[str, ...], ...]]) -> dict[str, list[Any]]:
    return {name: list(map(list, values)) for name, values in attributes.items()}


@dataclass(frozen=True, slots=True, repr=False)
class Ledger(TableResult):
    """Private: the user of every published thread, and the thread's number in the input."""

    thread_ids: tuple[str, ...]
    threads: tuple[int, ...]
    users: tuple[Hashable, ...]
    constructor: TableConstructor = field(default=dict, kw_only=True, compare=False)

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show a user."""
        return f"Ledger({len(self.thread_ids)} threads, {len(set(self.users))} users)"

    def table_columns(self) -> dict[str, list[Any]]:
        """Private: thread id, number of the thread and user; one row per thread."""
        return {
            "thread_id": list(self.thread_ids),
            "thread": list(self.threads),
            "user": list(self.users),
        }


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

    attributes: tuple[AttributeCost, ...] = ()
    """The cost of each attribute, which the costs of the keywords do not include."""

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


@dataclass(frozen=True, slots=True, repr=False)
class ReleaseResult(TableResult):
    """The result of `anonymize_log` or `anonymize_baskets`. Publish `release` only."""

    release: Release
    ledger: Ledger
    """Private: the users of the published threads."""

    cost: ReleaseCost
    verdict: Verdict
    """Verification of the published texts against the ledger."""

    params: ReleaseParams
    """All parameters, including the secret if it was generated. Private."""

    def __repr__(self) -> str:
        """Counts only."""
        verified = "verified" if self.verdict.ok else f"{self.verdict.violations} violations"
        return f"ReleaseResult({self.release!r}, {self.cost!r}, {verified})"

    @property
    def constructor(self) -> TableConstructor:  # type: ignore[override]  # of the release
        """Builds the table of the release."""
        return self.release.constructor

    def table_columns(self) -> dict[str, list[Any]]:
        """The columns of the release."""
        return self.release.table_columns()


@dataclass(frozen=True, slots=True, repr=False)
class Sweep(TableResult):
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

    def table_columns(self) -> dict[str, list[Any]]:
        """One row per k."""
        points, costs = self.points, [point.certificate.cost for point in self.points]
        return {
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
            **self._attribute_columns(),
        }

    def _attribute_columns(self) -> dict[str, list[Any]]:
        """For each attribute: values before the release, additions and deletions."""
        costs = [{each.name: each for each in point.attributes} for point in self.points]
        return {
            f"{name}_{count}": [getattr(of_point[name], count) for of_point in costs]
            for name in (costs[0] if costs else {})
            for count in ("total", "additions", "deletions")
        }
