"""The optimum: subset dynamic programming for tiny inputs, integer programs for larger ones.

Paper:      section 3, Definition 2; section 4 for the integer program.
Guarantee:  optimal if `proven_optimal`; otherwise feasible, and a note gives the reason.
Complexity: O(3^n) for n <= SUBSETS_LIMIT; for more, exponential in the worst case: the number of
            centers is limited to CENTERS_LIMIT, the time of each of two integer programs to
            EXACT_SECONDS.
Deviation:  users are counted, not records, and records may be withdrawn; the printed program
            lacks `sum_j x_ij = 1`; all possible centers are facilities, not only records.
"""

from functools import lru_cache
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.errors import MalformedInputError
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.grouping.improve.local_search import local_search
from setanon_core.grouping.matrices import Floats
from setanon_core.grouping.starts.configurations import assign, choose, configurations
from setanon_core.grouping.starts.cooccurrence import Centers, centers_of
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.model.groups import WITHDRAWN, Grouping
from setanon_core.params import Params

SUBSETS_LIMIT: Final = 14
"""Records up to which every subset is tried; 3^14 steps take about a hundredth of a second."""

CENTERS_LIMIT: Final = 3000
"""Centers of the integer program; with more it is not solved within a minute."""

CELLS_LIMIT: Final = 3_000_000
"""Centers times records: bounds memory."""

EXACT_SECONDS: Final = 60.0
"""Time limit of each integer program: the only place where time affects a result."""

CUT_OFF: Final = "Too many possible centers to try them all: exact returned a local optimum."
STOPPED: Final = "The integer program was too large or out of time: optimality is not proved."


def exact(records: Records, params: Params) -> Grouping:
    """Find groups of least cost; `proven_optimal` states whether the optimum is proved.

    >>> records = Records.from_sets([{1, 2, 3}, {1, 2}, {1, 3}, {4, 5, 6}, {4, 5}])
    >>> grouping = exact(records, Params(k=2))
    >>> grouping.labels.tolist(), grouping.proven_optimal
    ([0, 0, 0, 3, 3], True)
    """
    n = len(records)
    if n <= SUBSETS_LIMIT or records.n_users < params.k:
        return Grouping(optimum(records, params)[1], proven_optimal=True)
    centers = centers_of(records, params, min(CENTERS_LIMIT, CELLS_LIMIT // n))
    if centers.complete and len(centers.distances) == 0:
        return Grouping(np.full(n, WITHDRAWN), proven_optimal=True)
    incumbent = local_search(records, open_itemsets(records, params).labels, params)
    if not centers.complete:
        return Grouping(incumbent, notes=(CUT_OFF,))
    return _solve(records, params, centers, incumbent)


def optimum(records: Records, params: Params, *, withdrawals: bool = True) -> tuple[int, Ints]:
    """Return the least cost of at most SUBSETS_LIMIT records, and labels that attain it.

    Without `withdrawals` this is Definition 2: every record is in a group, but a center may be
    empty. With operations="additions" no record is withdrawn in either case, unless the input has
    fewer than k users.
    """
    n = len(records)
    labels = np.full(n, WITHDRAWN)
    if records.n_users < params.k:
        return len(records.items), labels
    if n > SUBSETS_LIMIT:
        raise MalformedInputError(
            f"optimum takes at most {SUBSETS_LIMIT} records; got {n}. Use exact()."
        )
    weights = _weights(records, params, withdrawals=withdrawals)
    best = np.zeros(1 << n)
    for i in range(n):
        # For subsets with last member i: the cost of the group of i plus the best of the rest.
        if i < n - 1:
            parts, rests, starts = _splits(i)
            sums = weights[1 << i : 2 << i][parts] + best[rests]
            best[1 << i : 2 << i] = np.minimum.reduceat(sums, starts)
    cost, remaining = 0, (1 << n) - 1
    while remaining:
        i = remaining.bit_length() - 1
        parts = _subsets_with(remaining ^ (1 << i), i, n)
        group = parts[np.argmin(weights[parts] + best[remaining ^ parts])]
        members = np.flatnonzero(group >> np.arange(n) & 1)
        labels[members] = members[0] if len(members) > 1 else WITHDRAWN
        cost += int(weights[group])
        remaining ^= int(group)
    return cost, labels


@lru_cache(maxsize=SUBSETS_LIMIT + 1)
def _splits(r: int) -> tuple[Ints, Ints, Ints]:
    """All T within M within r bits: T and M - T, by rising M, largest T first; start of each M."""
    if r == 0:
        return np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    parts, rests, _ = _splits(r - 1)
    bit = 1 << (r - 1)
    # The new bit is not in M, in T, or in M - T.
    part = np.concatenate((parts, parts + bit, parts))
    rest = np.concatenate((rests, rests, rests + bit))
    order = np.lexsort((-part, part + rest))
    sizes = 2 ** _popcounts(r).astype(np.int64)
    return part[order], rest[order], np.cumsum(sizes) - sizes


def _subsets_with(rest: int, i: int, n: int) -> Ints:
    """All subsets of `rest`, each with i added, largest first."""
    if i == n - 1:  # the first call, with all other records in `rest`
        return np.arange((1 << n) - 1, (1 << i) - 1, -1)
    parts, _, starts = _splits(i)
    low = starts[rest]
    return parts[low : low + (1 << rest.bit_count())] + (1 << i)


@lru_cache(maxsize=SUBSETS_LIMIT + 1)
def _popcounts(bits: int) -> Floats:
    counts = np.zeros(1)
    for _ in range(bits):
        counts = np.concatenate((counts, counts + 1))
    return counts


def _patterns(values: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The distinct sets of records, as bitmasks, that contain a value; and how many values each."""
    _, inverse = np.unique(values, return_inverse=True)
    bits = np.bincount(inverse, weights=np.exp2(rows)).astype(np.int64)
    return np.unique(bits, return_counts=True)


def _weights(records: Records, params: Params, *, withdrawals: bool) -> Floats:
    """Cost of every subset of records as one group; infinite if it cannot be a group."""
    n = len(records)
    subsets = np.arange(1 << n)
    counts = _popcounts(n)
    weights = np.zeros(1 << n)
    deleted = np.zeros(1 << n)
    patterns, repeats = _patterns(records.items, records.rows)
    for low in range(0, len(patterns), 64):  # in blocks: bounds memory for very many items
        ones = counts[subsets[:, None] & patterns[low : low + 64]]
        size = counts[:, None]
        if params.operations == "both":
            costs = np.minimum(ones, size - ones)
        elif params.operations == "additions":
            costs = (ones > 0) * size - ones
        else:
            costs = ones - (ones == size) * size
        weights += costs @ repeats[low : low + 64].astype(np.float64)
        deleted += ones @ repeats[low : low + 64].astype(np.float64)
    users, _ = _patterns(records.users, np.arange(n))
    n_users = counts if len(users) == n else ((subsets[:, None] & users) > 0).sum(axis=1)
    weights[n_users < params.k] = np.inf
    if withdrawals and params.operations != "additions":
        weights[weights == deleted] = np.inf  # empty center: its members count as withdrawn
        weights[1 << np.arange(n)] = records.sizes
    return weights


def _solve(records: Records, params: Params, centers: Centers, incumbent: Ints) -> Grouping:
    """Solve over the groups generated by pricing; if not optimal, over all that could improve."""
    generated = configurations(centers, records, params)
    cost, labels = choose(generated, records, params, EXACT_SECONDS)
    incumbent_cost = cost_of(records, *flip(records, incumbent, params.operations)).total
    if incumbent_cost <= cost:
        cost, labels = incumbent_cost, incumbent
    if cost <= generated.bound:
        return Grouping(labels, proven_optimal=True)
    pairs = generated.could_improve(centers, records, params, cost)
    proven, least, better = assign(pairs, records, params, EXACT_SECONDS)
    labels = better if least < cost else labels
    return Grouping(labels, proven, () if proven else (STOPPED,))
