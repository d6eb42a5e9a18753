"""How far a leaf's surfaces can be trusted: held-out rows and the checks before a release.

accuracy = 1 − RMSE/mean, MAPE and R² compare raw values with predicted means; coverage counts rows within the central
90 % band.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tradewind.errors import CannotFit
from tradewind.learning.current_model import ModelComparison
from tradewind.learning.leaf import LeafSurfaces, fit_leaf
from tradewind.learning.leaf_prediction import LatticeTable
from tradewind.learning.observations import Flags, Floats, Observations
from tradewind.learning.surface.response import NORMAL_90, Surface

TRAIN_SHARE = 0.7
"""Rows that train in a random split (GreenDataFlow §IV)."""

FOLDS = 5
MIN_VALIDATED_ROWS = 20
"""Fewer rows leave too few on either side of a split to say anything."""

MIN_SPLIT_ROWS = 200
"""Fewer rows are tested in folds: 30 % of them would say little."""

MIN_TEST_ROWS = 5
CHANCE_DEVIATIONS = 2.0
"""Standard errors of the test R² by which it may miss by chance alone."""

MAX_R2_GAP = 0.25
"""Largest loss of R² from training to test rows that still counts as close (acceptance as in HARP)."""

MAX_OPTIMUM_RATIO = 2.0
"""A predicted optimum beyond this multiple of the best observation is an artefact (acceptance as in HARP)."""

STREAM_AXES = ("concurrency", "parallelism")

WITNESSES = 2
"""Rows that must have been as fast before an optimum counts as observed: one alone may be a slip of the log."""


def compute_accuracy(actual: Floats, predicted: Floats) -> float:
    """1 − RMSE/mean; 1 is perfect, below 0 is worse than a guess."""
    return float(1.0 - np.sqrt(np.mean((actual - predicted) ** 2)) / np.mean(actual))


def compute_mape(actual: Floats, predicted: Floats) -> float:
    """Return the mean absolute percentage error as a fraction."""
    return float(np.mean(np.abs(predicted / actual - 1.0)))


def compute_r_squared(actual: Floats, predicted: Floats) -> float:
    """Return the share of the variance explained; 0 where the values do not vary."""
    total = float(np.sum((actual - actual.mean()) ** 2))
    return 1.0 - float(np.sum((actual - predicted) ** 2)) / total if total > 0 else 0.0


def compute_regret(observed_mean: Floats, predicted: Floats) -> float:
    """Return the loss by taking the setting of highest prediction: 1 − its observed mean over the best observed
    mean.
    """
    return float(1.0 - observed_mean[int(np.argmax(predicted))] / np.max(observed_mean))


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Figures of one surface on rows that it was not fitted to; ``r2_train`` is that of the rows it was fitted to.

    R² is of the logs of believed rows, so that one wild row does not decide it; ``r2_test_sd`` is its standard error.
    """

    rows: int
    accuracy: float
    mape: float
    r2_train: float
    r2_test: float
    r2_test_sd: float
    coverage90: float

    def to_dict(self) -> dict[str, float]:
        """Return the plain numbers by name."""
        return {name: float(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Validation:
    """Held-out values of a leaf, its throughput against the current model, and the reasons not to release it."""

    throughput: HeldOut
    power: HeldOut | None
    compared: ModelComparison | None
    objections: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        return not self.objections

    def to_dict(self) -> Mapping[str, float]:
        """Return the metrics by dotted name, ``throughput.accuracy`` and so on."""
        parts = {"throughput": self.throughput, "power": self.power, "compared": self.compared}
        return {f"{part}.{k}": v for part, held in parts.items() if held for k, v in held.to_dict().items()}


def split_randomly(n: int, rng: np.random.Generator, share: float = TRAIN_SHARE) -> tuple[Flags, Flags]:
    """Return the masks (n,) of training and test rows."""
    train = np.zeros(n, dtype=np.bool_)
    train[rng.permutation(n)[: int(share * n)]] = True
    return train, ~train


def build_setting_folds(observations: Observations, rng: np.random.Generator, folds: int = FOLDS) -> list[Flags]:
    """Test masks (n,) that leave entire settings out, each setting in exactly one."""
    _, setting = np.unique(np.nan_to_num(observations.settings, nan=-1.0), axis=0, return_inverse=True)
    fold = rng.permutation(int(setting.max()) + 1) % folds
    return [test for i in range(folds) if (test := fold[setting] == i).any()]


@dataclass(frozen=True, slots=True)
class ValidationFold:
    """Surfaces that were fitted to the rows ``train`` (n,) and are tried on ``test`` (n,)."""

    refit: LeafSurfaces
    train: Flags
    test: Flags


def validate_leaf(
    observations: Observations, model: LeafSurfaces, rng: np.random.Generator, *, current: Floats | None = None
) -> Validation:
    """Fit again to a part of the rows, predict the rest, and check the model as HARP does.

    One random 70/30 split, or every row once in one of five folds where a split would test too few.

    Parameters
    ----------
    model : fitted to all rows; lends the refits its smoothing.
    current : (n,) log throughput that the current model predicts for rows that are new to it, NaN elsewhere.

    Raises
    ------
    CannotFit : fewer than ``MIN_VALIDATED_ROWS`` rows, or the training rows alone determine no surface.

    References
    ----------
    Arslan, Guner & Kosar, "HARP: predictive transfer optimization based on historical analysis", SC'16, §IV.
    """
    n = len(observations)
    if n < MIN_VALIDATED_ROWS:
        raise CannotFit(f"{n} rows can be fitted but not validated: at least {MIN_VALIDATED_ROWS} are needed")
    if n >= MIN_SPLIT_ROWS:
        splits = [split_randomly(n, rng)]
    else:
        fold = rng.permutation(n) % FOLDS
        splits = [(fold != i, fold == i) for i in range(FOLDS)]
    return judge_folds(
        observations,
        model,
        [
            ValidationFold(
                fit_leaf(observations.take(train), idle_power_w=model.idle_power_w, start=model), train, test
            )
            for train, test in splits
        ],
        current=current,
    )


def judge_folds(
    observations: Observations, model: LeafSurfaces, trials: Sequence[ValidationFold], *, current: Floats | None = None
) -> Validation:
    """Return metrics over the test rows of all folds; rows that ``model`` disbelieves do not count in R²."""
    on_throughput, on_power = [], []
    for trial in trials:
        rows = observations.take(trial.test)
        predicted = trial.refit.predict(rows.settings, rows.load)
        on_throughput.append(
            _TestRows(
                rows.throughput_bps,
                predicted.throughput_bps,
                predicted.log_throughput_mean,
                predicted.log_throughput_sd,
                model.throughput.weight[trial.test] > 0,
                _compute_r2_train(trial.refit.throughput, observations.throughput_bps[trial.train]),
            )
        )
        if trial.refit.power is not None and model.power is not None:
            assert predicted.power_w is not None
            assert predicted.log_power_mean is not None
            assert predicted.log_power_sd is not None
            on_power.append(
                _TestRows(
                    rows.power_w,
                    predicted.power_w,
                    predicted.log_power_mean,
                    predicted.log_power_sd,
                    model.power.weight[trial.test] > 0,
                    _compute_r2_train(
                        trial.refit.power.above, trial.refit.power.measure_above(observations.power_w[trial.train])
                    ),
                )
            )
    throughput = _summarise_held_out(on_throughput)
    assert throughput is not None, "every row has a throughput and the trials test enough of them"
    compared = None if current is None else _compare_models(observations, trials, current)
    return Validation(
        throughput, _summarise_held_out(on_power), compared, list_objections(observations, model, throughput)
    )


def _compare_models(
    observations: Observations, trials: Sequence[ValidationFold], current: Floats
) -> ModelComparison | None:
    """Compare both models on the test rows of all trials that are new to the current one."""
    new = [trial.test & np.isfinite(current) for trial in trials]
    predicted = [
        trial.refit.throughput.predict(observations.settings[rows], observations.load[rows]).log_mean
        for trial, rows in zip(trials, new, strict=True)
        if rows.any()
    ]
    if not predicted:
        return None
    actual, before = (
        np.concatenate([values[rows] for rows in new]) for values in (observations.throughput_bps, current)
    )
    return ModelComparison.of(np.log(actual), np.concatenate(predicted), before)


def list_objections(observations: Observations, model: LeafSurfaces, held_out: HeldOut) -> tuple[str, ...]:
    """List reasons not to release a throughput surface; none if it is sound."""
    found = []
    chance = CHANCE_DEVIATIONS * held_out.r2_test_sd
    if held_out.r2_test + chance < 0:
        found.append(
            f"predicts test rows worse than their mean does: explains {held_out.r2_test:.0%} of their variance"
        )
    if held_out.r2_train - held_out.r2_test > MAX_R2_GAP + chance:
        found.append(
            f"explains {held_out.r2_train:.0%} of the variance of training rows but {held_out.r2_test:.0%} of test rows"
        )
    best_seen = float(np.max(observations.throughput_bps[model.throughput.weight > 0]))
    best_predicted = float(np.exp(np.max(model.throughput.fitted)))
    if best_predicted >= MAX_OPTIMUM_RATIO * best_seen:
        found.append(f"predicts an optimum {best_predicted / best_seen:.1f} times the best observed throughput")
    return tuple(found)


def restrict_certified(table: LatticeTable, observations: Observations, throughput: Surface) -> LatticeTable:
    """Return the lattice that is served, with no certified setting of more streams than a row had.

    A surface adds what it knows of files and of streams of each, as if a path had no end: that 64 files are well, and
    4 streams of each of 8, says nothing of 256 streams that crowd a queue together.

    Nor with any beyond twice the best observation. Between observed settings a surface may overshoot where no row can
    object. Refusing it would cost the link all that the surface says of settings that were tried; instead, where its
    certified optimum is an artefact by HARP's measure, nothing stays certified that it predicts to be faster than
    the best rows were.
    """
    believed = np.sort(observations.throughput_bps[throughput.weight > 0])
    best_seen = float(believed[-min(WITNESSES, len(believed))])
    table = _limit_certified_streams(_count_most_streams(observations), table)
    predicted = table.prediction
    fastest = np.max(predicted.log_throughput_mean, where=predicted.certified, initial=-np.inf)
    if fastest < np.log(MAX_OPTIMUM_RATIO * best_seen):
        return table
    seen = predicted.certified & (predicted.log_throughput_mean <= np.log(best_seen))
    return replace(table, prediction=replace(predicted, certified=seen))


def _count_most_streams(observations: Observations) -> float:
    """Return the most streams, cc · p, of any row; what a row does not say counts as one."""
    of_streams = [observations.axes.index(axis) for axis in STREAM_AXES if axis in observations.axes]
    return float(np.max(np.nanprod(observations.settings[:, of_streams], axis=1)))


def _limit_certified_streams(streams: float, table: LatticeTable) -> LatticeTable:
    wide = np.array([setting.streams for setting in table.lattice.list_settings()]) > streams
    predicted = table.prediction
    if not (predicted.certified & wide).any():
        return table
    return replace(table, prediction=replace(predicted, certified=predicted.certified & ~wide))


class _TestRows(NamedTuple):
    """Test rows (r,) of one trial: what was measured, what predicted, and whether the row counts in R²."""

    actual: Floats
    mean: Floats
    log_mean: Floats
    log_sd: Floats
    believed: Flags
    r2_train: float


def _compute_r2_train(surface: Surface, trained_on: Floats) -> float:
    fitted = surface.weight > 0
    log_train = np.log(trained_on[fitted])
    return compute_r_squared(log_train, log_train - surface.held_out.own_residual[fitted])


def _summarise_held_out(trials: Sequence[_TestRows]) -> HeldOut | None:
    """Compute the metrics of the rows that were measured; ``None`` if there are too few."""
    if not trials:
        return None
    actual, mean, log_mean, log_sd, believed = (
        np.concatenate([getattr(trial, name) for trial in trials])
        for name in ("actual", "mean", "log_mean", "log_sd", "believed")
    )
    known = np.isfinite(actual) & (actual > 0)
    if known.sum() < MIN_TEST_ROWS:
        return None
    log_actual = np.log(np.where(known, actual, 1.0))
    square = ((log_actual - log_mean) ** 2)[known & believed]
    total = float(np.var(log_actual[known & believed]))
    return HeldOut(
        rows=int(known.sum()),
        accuracy=compute_accuracy(actual[known], mean[known]),
        mape=compute_mape(actual[known], mean[known]),
        r2_train=float(np.mean([trial.r2_train for trial in trials])),
        r2_test=compute_r_squared(log_actual[known & believed], log_mean[known & believed]),
        r2_test_sd=float(np.std(square)) / (total * np.sqrt(len(square))) if total > 0 else 0.0,
        coverage90=float(np.mean(np.abs(log_actual - log_mean)[known] <= NORMAL_90 * log_sd[known])),
    )
