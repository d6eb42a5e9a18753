"""The algebra of a surface against plain formulas."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

from tradewind.learning.surface.basis import AxisBasis
from tradewind.learning.surface.kriging import ResidualKriging
from tradewind.learning.surface.reml import FIXED_PRECISION, fit_mixed

BLOCKS = (slice(2, 6), slice(6, 9), slice(10, 12))
"""Column 9 belongs to no block, as the line of load does."""


@pytest.fixture
def columns():
    return np.random.default_rng(1).normal(size=(40, 12))


@pytest.mark.parametrize("known", [12, 9])
def test_variance_is_the_quadratic_form_of_the_posterior_covariance(columns, known):
    precisions = np.array([3.0, 20.0, 0.5])
    fit = fit_mixed(columns.T @ columns, columns.T @ columns[:, 0], BLOCKS, precisions, 0)
    prior = np.full(12, FIXED_PRECISION)
    for block, precision in zip(BLOCKS, precisions, strict=True):
        prior[block] = precision
    covariance = np.linalg.inv(columns.T @ columns + np.diag(prior))[:known, :known]
    some = columns[:, :known]
    np.testing.assert_allclose(fit.compute_variance(some), np.diagonal(some @ covariance @ some.T))


def test_a_step_sets_each_precision_to_its_degrees_of_freedom_over_its_energy(columns):
    G, g = columns.T @ columns, columns.T @ columns @ np.linspace(-1, 1, 12)
    start = np.array([3.0, 20.0, 0.5])
    before, after = (fit_mixed(G, g, BLOCKS, start, steps) for steps in (0, 1))
    covariance = before.root.T @ before.root
    for precision, block, better in zip(start, BLOCKS, after.precisions, strict=True):
        beta = before.coefficients[block]
        effective = len(beta) - precision * np.trace(covariance[block, block])
        assert better == pytest.approx(effective / (beta @ beta))


@pytest.mark.parametrize("nugget", [0.0, 0.2])
def test_kriging_from_few_cells_solves_the_normal_equations(nugget):
    rng = np.random.default_rng(3)
    position = np.stack(np.meshgrid([0.0, 1, 2], [0.0, 1, 2], indexing="ij"), axis=-1).reshape(-1, 2)
    residual, noise, decay = rng.normal(size=9), rng.uniform(0.1, 0.4, 9), np.array([0.3, 0.8])
    kriging = ResidualKriging(position, residual, noise, 0.7, nugget, decay, decay)
    places = np.array([[0.5, 1.0], [1.0, 1.0], [2.0, 0.2]])
    mean, variance = kriging.predict(places)
    apart = np.abs(position[:, None] - position) @ decay
    K = 0.7 * np.exp(-apart) + np.diag(nugget + noise)
    away = np.abs(places[:, None] - position) @ decay
    k = 0.7 * np.exp(-away) + nugget * (away == 0)
    np.testing.assert_allclose(mean, k @ np.linalg.solve(K, residual))
    np.testing.assert_allclose(variance, 0.7 + nugget - np.sum(k * np.linalg.solve(K, k.T).T, axis=1))


@pytest.mark.parametrize("count", [2, 3, 5, 12])
def test_columns_of_an_axis_are_its_b_splines_in_mixed_form(count):
    axis = AxisBasis.spanning("concurrency", 0, 2.0 ** np.linspace(0, 5, count))
    x = np.concatenate([axis.grid, np.linspace(-0.5, 5.5, 31)])
    inside = np.clip(x, axis.grid[0], axis.grid[-1])
    splines = BSpline.design_matrix(inside, axis.knots, axis.degree).toarray()
    np.testing.assert_allclose(axis.compute_columns(x), splines @ axis.marginal - axis.centre, atol=1e-12)
