"""The configuration program: choose groups that hold each record once, as a linear relaxation.

Paper:      none; section 4 relaxes assignments instead, which bounds the optimum less well.
Guarantee:  `bound` is a lower bound on every solution whose centers are among those given.
Complexity: one linear program for each round of pricing; pricing is O(C n log n) for C centers.
Deviation:  none.

For any prices pi_i, with pi_i <= |S_i| where withdrawal is allowed, a solution with groups
G_1..G_g costs at least sum_i pi_i + sum_j sum_{i in G_j} (d(S_i, c_j) - pi_i). Let -r be the
least of the inner sums over all groups of at least k users. As g <= n / k, the cost is at least
sum_i pi_i - floor(n / k) * max(r, 0). Prices are rounded to multiples of 1 / SCALE and the rest
is integer arithmetic, so that no error of the linear solver can make the bound too high.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.starts.cooccurrence import (
    FAR,
    Centers,
    cheapest_groups,
    members_of_cheapest,
)
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params

Floats = npt.NDArray[np.float64]

SCALE: Final = 1 << 20
"""Prices are multiples of 1 / SCALE: exact in integers, and far below a flip."""

TOLERANCE: Final = 1e-6
"""How far below an integer the solver's value may fall and still count as that integer."""

ROUNDS_LIMIT: Final = 200
WORK_LIMIT: Final = 30_000
"""Rounds of pricing, and rounds times records; the bound is valid after any of them."""

GROUPS_LIMIT: Final = 300
"""New groups in each round."""


PAIRS_LIMIT: Final = 300_000
"""Pairs of a center and a record that the integer program may assign."""

ROUNDED: Final = 0.5
OPTIMAL: Final = 0
INFEASIBLE: Final = 2
"""What HiGHS answers when it has finished; every other answer proves nothing."""


class Configurations(NamedTuple):
    """Groups that the linear program has looked at, and what its prices prove."""

    members: Bools
    """One row of marks for each group."""

    costs: Ints
    bound: int
    prices: Ints
    """pi_i * SCALE of the round that proved the bound."""

    def could_improve(
        self, centers: Centers, records: Records, params: Params, cost: int
    ) -> tuple[Ints, Ints, Ints]:
        """List (c, i, d(S_i, c)) for all that may be together in a solution below `cost`.

        A group at c that holds i costs, beyond the prices, at least the cheapest group at c; and
        at least what i adds to the cheapest group of k - 1 users at c.
        """
        reduced = centers.distances * SCALE - self.prices
        sums = cheapest_groups(reduced, records.users, params.k)
        slack = max(0, -int(sums.min(initial=0)))
        others = len(records) // params.k - 1
        room = (cost - 1) * SCALE - int(self.prices.sum()) + others * slack
        rows = np.flatnonzero(sums <= room)
        fewer = cheapest_groups(reduced[rows], records.users, params.k - 1)
        fits = (reduced[rows] + fewer[:, None] <= room) & (centers.distances[rows] < FAR)
        c, i = np.nonzero(fits)
        return rows[c], i, centers.distances[rows[c], i]


def configurations(centers: Centers, records: Records, params: Params) -> Configurations:
    """Generate groups until prices prove the value of the linear program, rounded up."""
    n, k = len(records), params.k
    if params.operations != "additions":
        reduced = centers.distances - records.sizes
        chosen = np.argsort(cheapest_groups(reduced, records.users, k), kind="stable")[
            :GROUPS_LIMIT
        ]
        members, costs = _groups(centers, chosen, reduced, records, k)
    else:  # everybody in one group, so that there is a solution
        members = np.ones((1, n), np.bool_)
        costs = np.asarray([n * len(np.unique(records.items)) - len(records.items)])
    best, best_prices = 0, np.zeros(n, np.int64)
    for _ in range(min(ROUNDS_LIMIT, 1 + WORK_LIMIT // n)):
        value, prices = _prices(members, costs, records.sizes, params)
        reduced = centers.distances * SCALE - prices
        sums = cheapest_groups(reduced, records.users, k)
        slack = max(0, -int(sums.min(initial=0)))
        bound = -(-(int(prices.sum()) - n // k * slack) // SCALE)
        if bound > best:
            best, best_prices = bound, prices
        if best >= math.ceil(value - TOLERANCE) or slack == 0:
            break
        chosen = np.argsort(sums, kind="stable")[:GROUPS_LIMIT]
        more, distances = _groups(centers, chosen[sums[chosen] < 0], reduced, records, k)
        members, costs = _merge(members, costs, more, distances)
    return Configurations(members, costs, best, best_prices)


def _groups(
    centers: Centers, chosen: Ints, reduced: Ints, records: Records, k: int
) -> tuple[Bools, Ints]:
    """Find the cheapest group at each chosen center under reduced costs, and its true cost."""
    members = members_of_cheapest(reduced[chosen], records.users, k)
    return members, np.where(members, centers.distances[chosen], 0).sum(axis=1)


def _merge(members: Bools, costs: Ints, more: Bools, theirs: Ints) -> tuple[Bools, Ints]:
    """Add groups; of two with the same members the cheaper stays, where the first one was."""
    every = np.concatenate((members, more))
    paid = np.concatenate((costs, theirs))
    packed = np.packbits(every, axis=1)
    keys = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    least = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(least, inverse, paid)
    order = np.argsort(first)
    return every[first[order]], least[order]


def _master(members: Bools, costs: Ints, sizes: Ints, params: Params) -> tuple[Any, Floats]:
    """Rows are records, columns groups, then withdrawals where they are allowed; and the costs."""
    from scipy.sparse import csc_array

    marks, weights = members.T, costs
    if params.operations != "additions":
        marks = np.concatenate((marks, np.eye(len(sizes), dtype=np.bool_)), axis=1)
        weights = np.append(costs, sizes)
    return csc_array(marks.astype(np.float64)), weights.astype(np.float64)


def _prices(members: Bools, costs: Ints, sizes: Ints, params: Params) -> tuple[float, Ints]:
    """Solve the linear program over these groups: its value, and its dual prices rounded down."""
    from scipy.optimize import linprog

    matrix, weights = _master(members, costs, sizes, params)
    solution: Any = linprog(weights, A_eq=matrix, b_eq=np.ones(len(sizes)), method="highs")
    prices: Ints = np.floor(np.asarray(solution.eqlin.marginals) * SCALE).astype(np.int64)
    if params.operations != "additions":
        prices = np.minimum(prices, sizes * SCALE)
    return float(solution.fun), prices


def _milp(costs: Floats, rows: list[Any], n_integers: int, seconds: float) -> Any:  # noqa: ANN401
    """Minimise over [0, 1], the first `n_integers` integral; `rows` are (matrix, low, high)."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    return milp(
        costs,
        integrality=(np.arange(len(costs)) < n_integers).astype(np.int64),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(*row) for row in rows],
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )


def choose(
    found: Configurations, records: Records, params: Params, seconds: float
) -> tuple[int, Ints]:
    """Choose the best partition into the groups found: its cost, and labels."""
    n, g = len(records), len(found.costs)
    matrix, costs = _master(found.members, found.costs, records.sizes, params)
    solution = _milp(costs, [(matrix, 1, 1)], g, seconds)
    if solution.x is None and params.operations == "additions":
        return int(found.costs[0]), np.zeros(n, np.int64)  # the first group is everybody
    savings = found.members @ records.sizes - found.costs
    chosen = np.argsort(-savings, kind="stable")  # without an answer, whatever saves most
    if solution.x is not None:
        chosen = np.flatnonzero(solution.x[:g] > ROUNDED)
    labels, saved = np.full(n, WITHDRAWN), 0
    for group in chosen.tolist():
        members = np.flatnonzero(found.members[group])
        if (labels[members] == WITHDRAWN).all():
            labels[members] = members[0]
            saved += int(savings[group])
    return len(records.items) - saved, labels


def assign(
    pairs: tuple[Ints, Ints, Ints], records: Records, params: Params, seconds: float
) -> tuple[bool, float, Ints]:
    """Solve the program of assignments x_ic to open centers y_c, for pairs (c, i, d(S_i, c)).

    Returns whether its optimum is known, which is infinite if it has no solution; what the labels
    cost; and the labels. z_uc says that user u counts at center c, w_i that i is withdrawn.
    """
    c, i, distances = pairs
    if not 0 < len(c) <= PAIRS_LIMIT:
        return len(c) == 0, math.inf, np.empty(0, np.int64)
    n, base = len(records), int(records.users.max()) + 1
    _, y = np.unique(c, return_inverse=True)
    counted, z = np.unique(y * base + records.users[i], return_inverse=True)
    n_y, n_x, n_z = int(y.max()) + 1, len(c), len(counted)
    x, zs, ys = np.arange(n_x), np.arange(n_z), np.arange(n_y)
    w = np.arange(n if params.operations != "additions" else 0)
    x_at, z_at, w_at = n_y + x, n_y + n_x + zs, n_y + n_x + n_z + w
    costs = np.zeros(n_y + n_x + n_z + len(w))
    costs[x_at], costs[w_at] = distances, records.sizes[w]

    def matrix(n_rows: int, *parts: tuple[Ints, Ints, float]) -> Any:  # noqa: ANN401
        from scipy.sparse import csr_array

        rows, columns = (np.concatenate([part[axis] for part in parts]) for axis in (0, 1))
        values = np.concatenate([np.full(len(part[0]), part[2]) for part in parts])
        return csr_array((values, (rows, columns)), shape=(n_rows, len(costs)))

    rows = [
        (matrix(n, (i, x_at, 1), (w, w_at, 1)), 1, 1),  # sum_c x_ic + w_i = 1
        (matrix(n_x, (x, x_at, 1), (x, y, -1)), -np.inf, 0),  # x_ic <= y_c
        (matrix(n_z, (zs, z_at, 1), (z, x_at, -1)), -np.inf, 0),  # z_uc <= sum_i x_ic
        (matrix(n_y, (counted // base, z_at, 1), (ys, ys, -params.k)), 0, np.inf),  # k users
    ]
    solution = _milp(costs, rows, n_y + n_x, seconds)
    known = solution.status in (OPTIMAL, INFEASIBLE)
    if solution.x is None:
        return known, math.inf, np.empty(0, np.int64)
    labels = np.full(n, WITHDRAWN)
    taken = solution.x[x_at] > ROUNDED
    labels[i[taken]] = y[taken]
    return known, round(float(solution.fun)), labels
