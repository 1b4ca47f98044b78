"""Which groupers a method tries and how it improves them: the registry, as data.

`paper` is section 4 to the letter: one grouper, then Algorithm 1. `best` starts from several
groupers, improves each, and keeps the cheapest.
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
from setanon_core.grouping.improve.duplicates import settled_duplicates
from setanon_core.grouping.improve.local_search import local_search, shake
from setanon_core.grouping.improve.reassign import reassign
from setanon_core.grouping.improve.reopen import reopen
from setanon_core.grouping.starts.exact import SUBSETS_LIMIT, exact
from setanon_core.grouping.starts.facility_location import facility_location
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.grouping.starts.star import star
from setanon_core.grouping.starts.suppression import suppression
from setanon_core.model.groups import WITHDRAWN, Cost, Grouping, Round
from setanon_core.params import OPERATIONS, GrouperName, Method, Operations, Params


class Grouper(Protocol):
    """Forms groups of at least k users; what it cannot group, it withdraws."""

    __name__: str

    def __call__(self, records: Records, params: Params) -> Grouping:
        """Return a group or `WITHDRAWN` for each record."""
        ...


class Step(Protocol):
    """Improves groups: never costs more, and every group keeps k users."""

    __name__: str

    def __call__(self, records: Records, labels: Ints, params: Params) -> Ints:
        """Return better labels, or the same."""
        ...


@dataclass(frozen=True, slots=True)
class Start:
    """A grouper, and where it is worth its time."""

    grouper: Grouper
    at_most: float = np.inf
    """Records up to which it is tried."""

    operations: frozenset[Operations] = frozenset(OPERATIONS)
    """Operations with which it is tried."""


@dataclass(frozen=True, slots=True)
class Then:
    """A step, and where it is worth its time."""

    step: Step
    at_most: float = np.inf
    """Records up to which it is taken."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A method on one page: where it starts, and what it does then."""

    starts: tuple[Start, ...]
    steps: tuple[Then, ...] = ()


SEARCHED: Final = 100_000
"""Records up to which a search is worth its seconds: among more, it would still find 0.2 % of the
items, in three times the time of all other steps together."""

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
            Start(exact, at_most=SUBSETS_LIMIT),
            Start(star, at_most=200, operations=DELETING),
            Start(suppression, at_most=5_000, operations=frozenset({"additions"})),
            Start(open_itemsets),
        ),
        steps=(
            Then(reassign),
            Then(reopen),
            Then(local_search, at_most=SEARCHED),
            Then(reassign, at_most=SEARCHED),
            Then(shake),
        ),
    ),
}


def group(records: Records, params: Params) -> Grouping:
    """Form groups by the method and grouper that the parameters name."""
    if records.n_users < params.k:
        labels = np.full(len(records), WITHDRAWN)
        nothing = Round("too few users", _cost(records, labels, params))
        return Grouping(labels, proven_optimal=True, rounds=(nothing,))
    recipe = RECIPES[params.method]
    starts = recipe.starts
    if params.grouper is not None:
        starts = (Start(GROUPERS[params.grouper]),)
    if params.method == "paper":
        return _start(starts[0], records, params)
    done = settled_duplicates(records, params)
    # Thousands of small products: BLAS threads would spend their time waiting for each other.
    with _blas().limit(limits=1, user_api="blas"):
        best = cheapest(records.subset(np.flatnonzero(~done)), params, starts, recipe.steps)
    labels = np.empty(len(records), np.int64)
    labels[~done] = best.labels
    # Every settled set is a group of its own; its twins in play may join or leave it.
    labels[done] = best.labels.max() + 1 + records.ranks[done]
    return replace(best, labels=labels, proven_optimal=best.proven_optimal and not done.any())


def group_within(records: Records, params: Params, clusters: Ints) -> Grouping:
    """Section 5.2: group within each cluster; what has fewer than k users is withdrawn."""
    order = np.argsort(clusters, kind="stable")
    labels = np.full(len(records), WITHDRAWN)
    notes: dict[str, None] = {}
    spare = 0
    for part in np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1):
        if len(part) < params.k:
            continue
        found = group(records.subset(part), params)
        labels[part] = np.where(found.labels == WITHDRAWN, WITHDRAWN, found.labels + spare)
        spare += int(found.labels.max(initial=WITHDRAWN)) + 1
        notes.update(dict.fromkeys(found.notes))
    return Grouping(
        labels,
        notes=tuple(notes),
        rounds=(Round("within clusters", _cost(records, labels, params)),),
    )


@cache
def _blas() -> ThreadpoolController:
    """Finding the libraries takes a millisecond, so it is done once."""
    return ThreadpoolController()


def cheapest(
    records: Records, params: Params, starts: tuple[Start, ...], steps: tuple[Then, ...]
) -> Grouping:
    """Improve every start that applies, and keep the one that costs least."""
    found = []
    for start in starts:
        if len(records) > start.at_most or params.operations not in start.operations:
            continue
        grouping = _start(start, records, params)
        if grouping.proven_optimal:
            return grouping
        for then in steps:
            if len(records) > then.at_most:
                continue
            labels = then.step(records, grouping.labels, params)
            done = Round(then.step.__name__, _cost(records, labels, params))
            grouping = replace(grouping, labels=labels, rounds=(*grouping.rounds, done))
        found.append(grouping)
    return min(found, key=lambda grouping: grouping.rounds[-1].cost.total)


def _start(start: Start, records: Records, params: Params) -> Grouping:
    grouping = start.grouper(records, params)
    cost = _cost(records, grouping.labels, params)
    return replace(grouping, rounds=(Round(start.grouper.__name__, cost),))


def _cost(records: Records, labels: Ints, params: Params) -> Cost:
    return flip_cost(records, labels, params.operations)
