"""The models that surfaces are compared with: each learns the logarithm of a target from the same rows and inputs."""

import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler

from tradewind.learning.observations import Flags, Floats
from tradewind.learning.validation import compute_accuracy

MOST_PROCESS_ROWS = 800
"""A Gaussian process takes the cube of its rows; of more rows it learns a random part."""

TREES = 300
KNOTS = 6
PENALTIES = tuple(10.0**power for power in range(-4, 4))


def _make_boosting(_: int, seed: int) -> RegressorMixin:
    return HistGradientBoostingRegressor(random_state=seed)


def _make_forest(_: int, seed: int) -> RegressorMixin:
    return make_pipeline(SimpleImputer(strategy="median"), RandomForestRegressor(TREES, random_state=seed, n_jobs=1))


def _make_process(axes: int, seed: int) -> RegressorMixin:
    """Make a Gaussian process with a Matérn kernel of one length an axis, ν = 5/2, and noise."""
    kernel = ConstantKernel() * Matern(np.ones(axes), (1e-2, 1e3), nu=2.5) + WhiteKernel(0.1, (1e-5, 1e1))
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)
    return make_pipeline(*_make_scaling(), process)


def _make_additive(_: int, __: int) -> RegressorMixin:
    """Make a sum of one cubic spline an axis, penalised as cross-validation chooses."""
    return make_pipeline(*_make_scaling(), SplineTransformer(KNOTS, knots="quantile"), RidgeCV(PENALTIES))


def _make_scaling() -> tuple[Pipeline, ...]:
    return SimpleImputer(strategy="median"), FunctionTransformer(np.log1p), StandardScaler()


BASELINES: Mapping[str, Callable[[int, int], RegressorMixin]] = MappingProxyType(
    {"gbm": _make_boosting, "forest": _make_forest, "process": _make_process, "additive": _make_additive}
)
"""By name; each takes the number of axes and a seed."""


def measure_baselines(inputs: Floats, target: Floats, train: Flags, test: Flags, seed: int) -> dict[str, float]:
    """Return the accuracy of each baseline on the test rows, as ``NAME_accuracy``."""
    known = np.isfinite(target)
    rows, unseen = np.flatnonzero(train & known), test & known
    found = {}
    for name, make in BASELINES.items():
        used = rows
        if name == "process" and len(rows) > MOST_PROCESS_ROWS:
            used = np.random.default_rng(seed).choice(rows, MOST_PROCESS_ROWS, replace=False)
        model = make(inputs.shape[1], seed)
        with warnings.catch_warnings():  # the length of an axis that says nothing has no upper bound
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(inputs[used], np.log(target[used]))
        found[f"{name}_accuracy"] = compute_accuracy(target[unseen], np.exp(model.predict(inputs[unseen])))
    return found
