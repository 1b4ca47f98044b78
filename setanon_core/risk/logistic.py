"""Logistic regression with a ridge penalty, by Newton's method.

Paper:      none.
Guarantee:  the objective is strictly convex, so its minimum is unique.
Complexity: O(rows * columns^2) per iteration.
Deviation:  none.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RIDGE: Final = 1.0
"""Penalty on squared weights of standardized columns."""

ITERATIONS: Final = 30
"""Maximum number of Newton steps."""

TOLERANCE: Final = 1e-8
"""The iteration ends when no weight changes by more."""

LARGEST_SCORE: Final = 30.0
"""Scores are clipped to this range before the exponential function."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogisticModel:
    """Weights of standardized columns; the last weight is the intercept."""

    mean: Floats
    spread: Floats
    weights: Floats

    def scores(self, columns: Floats) -> Floats:
        """Log-odds of each row."""
        scores: Floats = _with_intercept((columns - self.mean) / self.spread) @ self.weights
        return scores


def fit_logistic(columns: Floats, labels: npt.NDArray[np.bool_]) -> LogisticModel:
    """Fit the probability that a row has label True.

    >>> model = fit_logistic(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1]) > 0)
    >>> (model.scores(np.array([[0.0], [3.0]])) > 0).tolist()
    [False, True]
    """
    mean, spread = columns.mean(axis=0), columns.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    rows = _with_intercept((columns - mean) / spread)
    penalty = np.full(rows.shape[1], RIDGE)
    penalty[-1] = 1e-6  # the intercept is practically not penalized
    weights = np.zeros(rows.shape[1])
    for _ in range(ITERATIONS):
        odds = np.clip(rows @ weights, -LARGEST_SCORE, LARGEST_SCORE)
        probability = 1 / (1 + np.exp(-odds))
        gradient = rows.T @ (probability - labels) + penalty * weights
        curvature = (rows * (probability * (1 - probability))[:, None]).T @ rows
        step = np.linalg.solve(curvature + np.diag(penalty), gradient)
        weights -= step
        if np.abs(step).max() < TOLERANCE:
            break
    return LogisticModel(mean, spread, weights)


def _with_intercept(columns: Floats) -> Floats:
    return np.column_stack((columns, np.ones(len(columns))))
