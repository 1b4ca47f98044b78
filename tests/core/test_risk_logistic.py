"""Logistic regression and associations, against their definitions."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from setanon_core.risk.associations import Associations
from setanon_core.risk.logistic import RIDGE, fit_logistic


@pytest.mark.parametrize("seed", range(5))
def test_weights_minimize_the_penalized_log_loss(seed):
    rng = np.random.default_rng(seed)
    columns = rng.normal(3, 2, (80, 3))
    labels = columns @ [1, -1, 0] + rng.normal(0, 2, 80) > 0
    model = fit_logistic(columns, labels)
    rows = np.column_stack(((columns - columns.mean(axis=0)) / columns.std(axis=0), np.ones(80)))

    def loss(weights):
        odds = rows @ weights
        return np.logaddexp(0, np.where(labels, -odds, odds)).sum() + RIDGE / 2 * (
            weights[:-1] @ weights[:-1]
        )

    best = minimize(loss, np.zeros(4), tol=1e-10)
    assert np.allclose(model.weights, best.x, atol=1e-3)
    assert np.allclose(model.scores(columns), rows @ model.weights)


def test_separable_labels_and_constant_columns_have_finite_weights():
    columns = np.column_stack((np.arange(10.0), np.full(10, 7.0)))
    model = fit_logistic(columns, np.arange(10) >= 5)

    assert np.isfinite(model.weights).all()
    assert model.weights[1] == pytest.approx(0)
    assert ((model.scores(columns) > 0) == (np.arange(10) >= 5)).all()


@pytest.mark.parametrize("seed", range(8))
def test_associations_compare_users_with_both_keywords_in_different_threads(seed):
    rng = np.random.default_rng(seed)
    threads = rng.random((12, 5)) < 0.35
    user = rng.integers(0, 4, 12)
    known = np.flatnonzero(rng.random(12) < 0.8)
    members = sparse.csr_matrix((np.ones(len(known)), (user[known], known)), shape=(4, 12))
    found = Associations.of(members, sparse.csr_matrix(threads * 0.5))

    owned = np.array([threads[known[user[known] == each]].any(axis=0) for each in range(4)])
    for one, other in product(range(5), repeat=2):
        together = (threads[known][:, one] & threads[known][:, other]).sum()
        apart = max((owned[:, one] & owned[:, other]).sum() - together, 0)
        expected = owned[:, one].sum() * owned[:, other].sum() / 4
        strength = 0 if one == other else max(np.log((apart + 0.5) / (expected + 0.5)), 0)
        assert found.of_pairs(np.array([one]), np.array([other])) == pytest.approx(strength)


def test_without_known_users_nothing_is_associated():
    found = Associations.of(sparse.csr_matrix((1, 2)), sparse.csr_matrix(np.eye(2)))

    assert found.of_pairs(np.array([0, 1]), np.array([1, 0])).tolist() == [0, 0]
