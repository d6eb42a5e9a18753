"""The models that surfaces are compared with: each learns a target from the same rows and inputs.

``gbm`` is gradient boosting of the logarithm as scikit-learn sets it up. Every other model has candidates.
Cross-validation on training rows chooses among them by the squared error of the raw target, which is what accuracy
measures. The same folds choose a factor on its predictions: the exponential of a mean of logarithms is too low.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler

from benchmarks.surfaces.gaussian_process import GaussianProcess
from tradewind.learning.observations import Flags, Floats

Candidate = Callable[[int], RegressorMixin]
"""Makes a model from a seed."""

Learn = Callable[[RegressorMixin], RegressorMixin]
"""Makes a model learn a function of the target."""

INNER_FOLDS = 3
MOST_CHOICE_ROWS = 2000
"""Training rows that candidates are compared on; of more, a random part."""

TREES = 100
PENALTIES = tuple(10.0**power for power in range(-4, 5))


class Split(NamedTuple):
    """Masks (n,) of training and test rows with a known target, and the seed of the models."""

    train: Flags
    test: Flags
    seed: int


PLAIN = "gbm"
"""The model that is taken as it is."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate of one model and the factor on its predictions."""

    candidate: Candidate
    factor: float = 1.0


def _learn_logarithm(model: RegressorMixin) -> RegressorMixin:
    return TransformedTargetRegressor(model, func=np.log, inverse_func=np.exp, check_inverse=False)


def _learn_raw(model: RegressorMixin) -> RegressorMixin:
    """Scale the target, so that penalties mean the same whatever its unit."""
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def _scale_inputs() -> tuple[Pipeline, ...]:
    return SimpleImputer(strategy="median"), FunctionTransformer(np.log1p), StandardScaler()


def _make_plain(seed: int) -> RegressorMixin:
    return _learn_logarithm(HistGradientBoostingRegressor(random_state=seed))


def _list_boosting() -> tuple[Candidate, ...]:
    def make(learn: Learn, leaves: int, rows: int) -> Candidate:
        return lambda seed: learn(
            HistGradientBoostingRegressor(
                learning_rate=0.05, max_iter=200, max_leaf_nodes=leaves, min_samples_leaf=rows, random_state=seed
            )
        )

    logarithms = (make(_learn_logarithm, *shape) for shape in ((31, 20), (8, 10), (4, 10)))
    return (*logarithms, make(_learn_raw, 31, 20), make(_learn_raw, 8, 10))


def _list_forests() -> tuple[Candidate, ...]:
    def make(learn: Learn, leaf_rows: int, share: float) -> Candidate:
        return lambda seed: learn(
            make_pipeline(
                SimpleImputer(strategy="median"),
                RandomForestRegressor(
                    TREES, min_samples_leaf=leaf_rows, max_features=share, random_state=seed, n_jobs=1
                ),
            )
        )

    logarithms = (make(_learn_logarithm, *shape) for shape in ((1, 1.0), (3, 1.0), (8, 1.0), (3, 0.6)))
    return (*logarithms, make(_learn_raw, 3, 1.0), make(_learn_raw, 3, 0.6))


def _list_processes() -> tuple[Candidate, ...]:
    def make(nu: float) -> Candidate:
        return lambda seed: _learn_logarithm(make_pipeline(*_scale_inputs(), GaussianProcess(nu=nu, seed=seed)))

    return tuple(make(nu) for nu in (1.5, 2.5))


def _list_sums() -> tuple[Candidate, ...]:
    """List sums of one cubic spline an axis, with a penalty that leave-one-out errors choose."""

    def make(learn: Learn, knots: int) -> Candidate:
        return lambda _: learn(
            make_pipeline(*_scale_inputs(), SplineTransformer(knots, knots="quantile"), RidgeCV(PENALTIES))
        )

    return (*(make(_learn_logarithm, knots) for knots in (4, 6, 10)), make(_learn_raw, 6))


CANDIDATES: Mapping[str, tuple[Candidate, ...]] = MappingProxyType(
    {
        "boosting": _list_boosting(),
        "forest": _list_forests(),
        "process": _list_processes(),
        "additive": _list_sums(),
    }
)

BASELINES = (PLAIN, *CANDIDATES)


def choose_baselines(inputs: Floats, target: Floats, split: Split) -> Mapping[str, Choice]:
    """Return for each model the candidate of least cross-validated error on the training rows (n,)."""
    rows = np.flatnonzero(split.train)
    if len(rows) > MOST_CHOICE_ROWS:
        rows = np.random.default_rng(split.seed).choice(rows, MOST_CHOICE_ROWS, replace=False)
    choices = {name: _choose(found, inputs[rows], target[rows], split.seed) for name, found in CANDIDATES.items()}
    return {PLAIN: Choice(_make_plain), **choices}


def predict_baselines(choices: Mapping[str, Choice], inputs: Floats, target: Floats, split: Split) -> dict[str, Floats]:
    """Return what each model predicts for the test rows after learning from the training rows."""
    return {
        name: choice.factor
        * _fit(choice.candidate, inputs[split.train], target[split.train], split.seed).predict(inputs[split.test])
        for name, choice in choices.items()
    }


def _choose(candidates: Sequence[Candidate], inputs: Floats, target: Floats, seed: int) -> Choice:
    folds = list(KFold(INNER_FOLDS, shuffle=True, random_state=seed).split(inputs))
    best, least = None, np.inf
    for candidate in candidates:
        predicted = np.empty(len(target))
        for seen, unseen in folds:
            predicted[unseen] = _fit(candidate, inputs[seen], target[seen], seed).predict(inputs[unseen])
        factor = float(target @ predicted / (predicted @ predicted))
        loss = float(np.mean((target - factor * predicted) ** 2))
        if loss < least:
            best, least = Choice(candidate, factor), loss
    assert best is not None, "a target is finite, and so is the error of a model"
    return best


def _fit(candidate: Candidate, inputs: Floats, target: Floats, seed: int) -> RegressorMixin:
    with warnings.catch_warnings():  # the length of an axis that says nothing has no upper bound
        warnings.simplefilter("ignore", ConvergenceWarning)
        return candidate(seed).fit(inputs, target)
