"""The integer program before Theorem 3, as printed and with the missing constraint."""

# ruff: noqa: S311 - seeded examples, no secrets

from random import Random

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from support.brute_force import partitions


def solve(d, k, *, assign_all):
    """Solve with the variables x_ij in row order, then y_j."""
    n = len(d)
    rows, low, high = [], [], []

    def constrain(x, y, at_least, at_most):
        rows.append(np.concatenate((x.ravel(), y)))
        low.append(at_least)
        high.append(at_most)

    for j in range(n):
        for i in range(n):
            x, y = np.zeros((n, n)), np.zeros(n)
            x[i, j], y[j] = 1, -1
            constrain(x, y, -np.inf, 0)  # x_ij <= y_j
        x, y = np.zeros((n, n)), np.zeros(n)
        x[:, j], y[j] = 1, -k
        constrain(x, y, 0, np.inf)  # sum_i x_ij >= k y_j
    for i in range(n if assign_all else 0):
        x = np.zeros((n, n))
        x[i] = 1
        constrain(x, np.zeros(n), 1, 1)  # sum_j x_ij = 1
    return milp(
        np.concatenate((d.ravel(), np.zeros(n))),
        constraints=LinearConstraint(np.array(rows), np.array(low), np.array(high)),
        integrality=np.ones(n * n + n),
        bounds=Bounds(0, 1),
    )


def instance(seed, n):
    random = Random(seed)
    records = [frozenset(e for e in range(6) if random.random() < 0.5) for _ in range(n)]
    return np.array([[len(a ^ b) for b in records] for a in records])


def optimum_with_centers_among_the_records(d, k):
    return min(
        sum(d[group].sum(axis=0).min() for group in groups) for groups in partitions(len(d), k)
    )


def test_as_printed_assigning_no_record_is_optimal():
    d = instance(seed=1, n=6)
    no_assignment = np.zeros(6 * 6 + 6)

    solution = solve(d, 2, assign_all=False)

    assert solution.fun == pytest.approx(0)
    assert optimum_with_centers_among_the_records(d, 2) > 0
    assert np.concatenate((d.ravel(), np.zeros(6))) @ no_assignment == 0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [2, 3])
def test_with_every_record_assigned_once_it_equals_brute_force(seed, k):
    d = instance(seed, n=7)

    solution = solve(d, k, assign_all=True)

    assert round(solution.fun) == optimum_with_centers_among_the_records(d, k)
