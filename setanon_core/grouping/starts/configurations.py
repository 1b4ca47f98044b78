"""The configuration program: choose groups that cover each record once; linear relaxation.

Paper:      none; section 4 relaxes assignments instead, which gives a weaker bound.
Guarantee:  `bound` is a lower bound on every solution whose centers are among `centers`.
Complexity: one linear program per round of pricing; pricing is O(C n log n) for C centers.
Deviation:  none.

For any prices pi_i, with pi_i <= |S_i| where withdrawal is allowed, a solution with groups
G_1..G_g costs at least sum_i pi_i + sum_j sum_{i in G_j} (d(S_i, c_j) - pi_i). Let -r be the
least of the inner sums over all groups of at least k users. As g <= n / k, the cost is at least
sum_i pi_i - floor(n / k) * max(r, 0). Prices are rounded to multiples of 1 / SCALE, and all
further arithmetic is on integers, so that rounding errors of the solver cannot raise the bound.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.matrices import Floats
from setanon_core.grouping.starts.cooccurrence import (
    FAR,
    Centers,
    cheapest_groups,
    members_of_cheapest,
)
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params

SCALE: Final = 1 << 20
"""Prices are multiples of 1 / SCALE: exact as integers, and much less than one flip."""

TOLERANCE: Final = 1e-6
"""Values of the solver that exceed an integer by less than this are rounded down to it."""

ROUNDS_LIMIT: Final = 200
WORK_LIMIT: Final = 30_000
"""Limits of the rounds of pricing, and of rounds times records; every round gives a valid bound."""

GROUPS_LIMIT: Final = 300
"""New groups per round."""

PAIRS_LIMIT: Final = 300_000
"""Pairs (center, record) up to which the assignment program is solved."""

HALF: Final = 0.5
"""Values of integer variables above this are 1."""

OPTIMAL: Final = 0
INFEASIBLE: Final = 2
"""Status codes of a completed run of HiGHS; all other codes prove nothing."""


class Configurations(NamedTuple):
    """The groups generated for the linear program, and the bound that its prices prove."""

    members: Bools
    """One row per group; True for its members."""

    costs: Ints
    bound: int
    prices: Ints
    """pi_i * SCALE of the round that proved `bound`."""

    def could_improve(
        self, centers: Centers, records: Records, params: Params, cost: int
    ) -> tuple[Ints, Ints, Ints]:
        """List (c, i, d(S_i, c)) for all pairs that may occur in a solution cheaper than `cost`.

        A group at c that contains i has at least the reduced cost of the cheapest group at c, and
        at least that of i plus the cheapest group of k - 1 users at c.
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
    """Generate groups until the prices prove the value of the linear program, rounded up."""
    n, k = len(records), params.k
    if params.operations != "additions":
        reduced = centers.distances - records.sizes
        chosen = np.argsort(cheapest_groups(reduced, records.users, k), kind="stable")[
            :GROUPS_LIMIT
        ]
        members, costs = _groups(centers, chosen, reduced, records, k)
    else:  # all records in one group, so that there is a solution
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
        new_members, new_costs = _groups(centers, chosen[sums[chosen] < 0], reduced, records, k)
        members, costs = _merge(members, costs, new_members, new_costs)
    return Configurations(members, costs, best, best_prices)


def _groups(
    centers: Centers, chosen: Ints, reduced: Ints, records: Records, k: int
) -> tuple[Bools, Ints]:
    """The cheapest group at each chosen center under reduced costs, and its actual cost."""
    members = members_of_cheapest(reduced[chosen], records.users, k)
    return members, np.where(members, centers.distances[chosen], 0).sum(axis=1)


def _merge(members: Bools, costs: Ints, new_members: Bools, new_costs: Ints) -> tuple[Bools, Ints]:
    """Append groups; of groups with equal members, keep the first position and the least cost."""
    all_members = np.concatenate((members, new_members))
    all_costs = np.concatenate((costs, new_costs))
    packed = np.packbits(all_members, axis=1)
    keys = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    least = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(least, inverse, all_costs)
    order = np.argsort(first)
    return all_members[first[order]], least[order]


def _master(members: Bools, costs: Ints, sizes: Ints, params: Params) -> tuple[Any, Floats]:
    """Matrix with records as rows and groups, then allowed withdrawals, as columns; their costs."""
    from scipy.sparse import csc_array

    covers, weights = members.T, costs
    if params.operations != "additions":
        covers = np.concatenate((covers, np.eye(len(sizes), dtype=np.bool_)), axis=1)
        weights = np.append(costs, sizes)
    return csc_array(covers.astype(np.float64)), weights.astype(np.float64)


def _prices(members: Bools, costs: Ints, sizes: Ints, params: Params) -> tuple[float, Ints]:
    """Solve the linear program over these groups: value, and dual prices rounded down."""
    from scipy.optimize import linprog

    matrix, weights = _master(members, costs, sizes, params)
    solution: Any = linprog(weights, A_eq=matrix, b_eq=np.ones(len(sizes)), method="highs")
    prices: Ints = np.floor(np.asarray(solution.eqlin.marginals) * SCALE).astype(np.int64)
    if params.operations != "additions":
        prices = np.minimum(prices, sizes * SCALE)
    return float(solution.fun), prices


def _milp(costs: Floats, rows: list[Any], n_integers: int, seconds: float) -> Any:  # noqa: ANN401
    """Minimise over [0, 1]; the first `n_integers` variables are integers.

    `rows` are constraints (matrix, low, high).
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    return milp(
        costs,
        integrality=(np.arange(len(costs)) < n_integers).astype(np.int64),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(*row) for row in rows],
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )


def choose(
    generated: Configurations, records: Records, params: Params, seconds: float
) -> tuple[int, Ints]:
    """Choose the best partition into generated groups: its cost and labels."""
    n, g = len(records), len(generated.costs)
    matrix, costs = _master(generated.members, generated.costs, records.sizes, params)
    solution = _milp(costs, [(matrix, 1, 1)], g, seconds)
    if solution.x is None and params.operations == "additions":
        return int(generated.costs[0]), np.zeros(n, np.int64)  # the first group has all records
    savings = generated.members @ records.sizes - generated.costs
    chosen = np.argsort(-savings, kind="stable")  # used without a solution: greatest saving first
    if solution.x is not None:
        chosen = np.flatnonzero(solution.x[:g] > HALF)
    labels, saved = np.full(n, WITHDRAWN), 0
    for group in chosen.tolist():
        members = np.flatnonzero(generated.members[group])
        if (labels[members] == WITHDRAWN).all():
            labels[members] = members[0]
            saved += int(savings[group])
    return len(records.items) - saved, labels


def assign(
    pairs: tuple[Ints, Ints, Ints], records: Records, params: Params, seconds: float
) -> tuple[bool, float, Ints]:
    """Solve the program of assignments x_ic to open centers y_c, for pairs (c, i, d(S_i, c)).

    Returns whether the optimum is proved, the cost of the labels (infinite without a solution) and
    the labels. z_uc = 1 if user u is counted at center c; w_i = 1 if record i is withdrawn.
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
    is_proved = solution.status in (OPTIMAL, INFEASIBLE)
    if solution.x is None:
        return is_proved, math.inf, np.empty(0, np.int64)
    labels = np.full(n, WITHDRAWN)
    assigned = solution.x[x_at] > HALF
    labels[i[assigned]] = y[assigned]
    return is_proved, round(float(solution.fun)), labels
