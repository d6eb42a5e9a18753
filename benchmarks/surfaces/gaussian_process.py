"""A Gaussian process for many rows: repeats become one point with less noise, and lengths are fitted on a part."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from tradewind.learning.observations import Floats

MOST_LENGTH_POINTS = 300
"""Points from which the lengths of the axes are fitted, by marginal likelihood: the cube of them is taken often."""

MOST_POINTS = 1200
"""Points that predictions rest on, whose cube is taken once; of more, a random part."""


class GaussianProcess(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A Matérn kernel with one length an axis, and noise between and within points.

    Parameters
    ----------
    nu : smoothness of the kernel.
    seed : of the random parts.
    """

    def __init__(self, nu: float = 2.5, seed: int = 0) -> None:
        self.nu = nu
        self.seed = seed

    def fit(self, inputs: Floats, target: Floats) -> Self:
        """Fit to inputs (n, k) and a target (n,)."""
        points, mean, rows, within = _average_repeats(inputs, target)
        self.centre_, self.scale_ = float(np.mean(mean)), max(float(np.std(mean)), 1e-9)
        scaled, noise = (mean - self.centre_) / self.scale_, within / self.scale_**2 / rows + 1e-10
        random = np.random.default_rng(self.seed).permutation(len(points))
        some, more = random[:MOST_LENGTH_POINTS], random[:MOST_POINTS]
        kernel = ConstantKernel() * Matern(np.ones(inputs.shape[1]), (1e-2, 1e3), nu=self.nu)
        kernel += WhiteKernel(0.1, (1e-6, 1e1))
        fitted = GaussianProcessRegressor(kernel, alpha=noise[some], random_state=self.seed)
        fitted.fit(points[some], scaled[some])
        self.process_ = GaussianProcessRegressor(fitted.kernel_, alpha=noise[more], optimizer=None)
        self.process_.fit(points[more], scaled[more])
        return self

    def predict(self, inputs: Floats) -> Floats:
        """Return the mean (r,) at inputs (r, k)."""
        mean: Floats = self.centre_ + self.scale_ * self.process_.predict(inputs)
        return mean


def _average_repeats(inputs: Floats, target: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Return the distinct inputs, their mean target and number of rows, and the variance within them."""
    points, point = np.unique(inputs, axis=0, return_inverse=True)
    rows = np.bincount(point).astype(np.float64)
    mean = np.bincount(point, weights=target) / rows
    spare = len(target) - len(points)
    within = float(np.sum((target - mean[point]) ** 2)) / spare if spare else 0.0
    return points, mean, rows, within
