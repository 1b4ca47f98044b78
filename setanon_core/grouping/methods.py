"""The methods: which groupers each one tries, and which steps improve the result.

`paper` is section 4 without additions: one grouper, then Algorithm 1. `best` tries several
groupers, improves each result, and returns the cheapest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Protocol

import numpy as np
from threadpoolctl import ThreadpoolController

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.flip import flip_cost
from setanon_core.grouping.improve.duplicates import add_surplus, surplus_duplicates
from setanon_core.grouping.improve.local_search import local_search, perturb
from setanon_core.grouping.improve.reassign import reassign
from setanon_core.grouping.improve.reopen import reopen
from setanon_core.grouping.improve.reprice import reprice
from setanon_core.grouping.mined_records import MinedRecords, min_center_support
from setanon_core.grouping.starts.exact import SUBSETS_LIMIT, exact
from setanon_core.grouping.starts.facility_location import facility_location
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.grouping.starts.star import star
from setanon_core.grouping.starts.suppression import suppression
from setanon_core.model.groups import WITHDRAWN, Cost, Grouping, Round
from setanon_core.params import OPERATIONS, GrouperName, Method, Operations, Params


class Grouper(Protocol):
    """Forms groups of at least k users; withdraws the records that it cannot group."""

    __name__: str

    def __call__(self, records: Records, params: Params) -> Grouping:
        """Return a group number or `WITHDRAWN` for each record."""
        ...


class Improver(Protocol):
    """Changes groups without raising the cost; every group keeps k users."""

    __name__: str

    def __call__(self, records: Records, labels: Ints, params: Params) -> Ints:
        """Return labels that cost at most as much as `labels`."""
        ...


@dataclass(frozen=True, slots=True)
class Start:
    """A grouper, and the inputs for which it is tried."""

    grouper: Grouper
    max_records: float = np.inf
    operations: frozenset[Operations] = frozenset(OPERATIONS)


@dataclass(frozen=True, slots=True)
class Step:
    """An improver, and the inputs for which it runs."""

    improver: Improver
    max_records: float = np.inf


@dataclass(frozen=True, slots=True)
class Recipe:
    """A method as data: alternative starts, and the steps that follow each of them."""

    starts: tuple[Start, ...]
    steps: tuple[Step, ...] = ()


SEARCH_LIMIT: Final = 100_000
"""Records up to which local search and chains run: for more, local search would save about 0.2 % of
the items in three times the time of all other steps together."""

DELETING: Final[frozenset[Operations]] = frozenset({"both", "deletions"})

GROUPERS: Final[Mapping[GrouperName, Grouper]] = {
    "star": star,
    "suppression": suppression,
    "facility_location": facility_location,
    "exact": exact,
}

RECIPES: Final[Mapping[Method, Recipe]] = {
    "paper": Recipe(starts=(Start(suppression),)),
    "best": Recipe(
        starts=(
            Start(exact, max_records=SUBSETS_LIMIT),
            Start(star, max_records=200, operations=DELETING),
            Start(suppression, max_records=5_000, operations=frozenset({"additions"})),
            Start(open_itemsets),
        ),
        steps=(
            Step(reassign),
            Step(reopen),
            Step(local_search, max_records=SEARCH_LIMIT),
            Step(reassign, max_records=SEARCH_LIMIT),
            Step(reprice, max_records=SEARCH_LIMIT),
            Step(perturb),
        ),
    ),
}


def group(records: Records, params: Params) -> Grouping:
    """Form groups with the method and the grouper of the parameters."""
    if records.n_users < params.k:
        labels = np.full(len(records), WITHDRAWN)
        only_round = Round("too few users", _cost(records, labels, params))
        return Grouping(labels, proven_optimal=True, rounds=(only_round,))
    starts, steps = _starts(params), RECIPES[params.method].steps
    if params.method == "paper":
        return _run_grouper(starts[0].grouper, records, params)
    surplus = surplus_duplicates(records, params)
    # Thousands of small matrix products: with more than one core, BLAS is slower.
    with _blas().limit(limits=1, user_api="blas"):
        best = cheapest(records.subset(np.flatnonzero(~surplus)), params, starts, steps)
    labels = add_surplus(records, surplus, best.labels)
    return replace(best, labels=labels, proven_optimal=best.proven_optimal and not surplus.any())


def first_groups(records: Records, params: Params, total: int) -> Grouping:
    """The cheapest start for a part of `total` records, without the steps that improve it.

    Which starts apply is decided by `total`, so that it does not depend on the part.
    """
    with _blas().limit(limits=1, user_api="blas"):
        return cheapest(records, params, _starts(params), (), total)


def _starts(params: Params) -> tuple[Start, ...]:
    if params.grouper is not None:
        return (Start(GROUPERS[params.grouper]),)
    return RECIPES[params.method].starts


def group_within(records: Records, params: Params, clusters: Ints) -> Grouping:
    """Section 5.2: group within each cluster; clusters of fewer than k users are withdrawn."""
    order = np.argsort(clusters, kind="stable")
    labels = np.full(len(records), WITHDRAWN)
    notes: dict[str, None] = {}
    next_label = 0
    for part in np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1):
        if len(part) < params.k:
            continue
        grouping = group(records.subset(part), params)
        labels[part] = np.where(
            grouping.labels == WITHDRAWN, WITHDRAWN, grouping.labels + next_label
        )
        next_label += int(grouping.labels.max(initial=WITHDRAWN)) + 1
        notes.update(dict.fromkeys(grouping.notes))
    return Grouping(
        labels,
        notes=tuple(notes),
        rounds=(Round("within clusters", _cost(records, labels, params)),),
    )


@cache
def _blas() -> ThreadpoolController:
    """Cached, because searching for the loaded libraries takes a millisecond."""
    return ThreadpoolController()


def cheapest(
    records: Records,
    params: Params,
    starts: tuple[Start, ...],
    steps: tuple[Step, ...],
    total: int | None = None,
) -> Grouping:
    """Run and improve every start that applies to `total` records; return the cheapest result.

    `total` is by default the number of these records.
    """
    total = len(records) if total is None else total
    records = MinedRecords.from_records(records, min_center_support(params))
    results = []
    for start in starts:
        if total > start.max_records or params.operations not in start.operations:
            continue
        grouping = _run_grouper(start.grouper, records, params)
        if grouping.proven_optimal:
            return grouping
        for step in steps:
            if total > step.max_records:
                continue
            labels = step.improver(records, grouping.labels, params)
            finished = Round(step.improver.__name__, _cost(records, labels, params))
            grouping = replace(grouping, labels=labels, rounds=(*grouping.rounds, finished))
        results.append(grouping)
    return min(results, key=lambda grouping: grouping.rounds[-1].cost.total)


def _run_grouper(grouper: Grouper, records: Records, params: Params) -> Grouping:
    grouping = grouper(records, params)
    cost = _cost(records, grouping.labels, params)
    return replace(grouping, rounds=(Round(grouper.__name__, cost),))


def _cost(records: Records, labels: Ints, params: Params) -> Cost:
    return flip_cost(records, labels, params.operations)
