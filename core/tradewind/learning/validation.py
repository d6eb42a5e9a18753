"""How far a leaf's surfaces can be trusted: held-out rows and the checks before they are released.

accuracy = 1 − RMSE/mean, MAPE and R² compare raw values with predicted means; coverage counts rows within the central
90 % band.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tradewind.errors import CannotFit
from tradewind.learning.leaf import LeafSurfaces, fit_leaf
from tradewind.learning.observations import Flags, Floats, Observations
from tradewind.learning.surface import NORMAL_90, Surface

TRAIN_SHARE = 0.7
"""Rows that train in a random split (paper 001, section IV)."""

FOLDS = 5
MIN_VALIDATED_ROWS = 20
"""Fewer rows leave too few on either side of a split to say anything."""

MIN_TEST_ROWS = 5
MAX_R2_GAP = 0.25
"""Largest loss of R² from training to test rows that still counts as close (acceptance as in HARP)."""

MAX_OPTIMUM_RATIO = 2.0
"""A predicted optimum beyond this multiple of the best observation is an artefact (acceptance as in HARP)."""


def accuracy(actual: Floats, predicted: Floats) -> float:
    """1 − RMSE/mean; 1 is perfect, below 0 is worse than a guess."""
    return float(1.0 - np.sqrt(np.mean((actual - predicted) ** 2)) / np.mean(actual))


def mape(actual: Floats, predicted: Floats) -> float:
    """Mean absolute percentage error as a fraction."""
    return float(np.mean(np.abs(predicted / actual - 1.0)))


def r_squared(actual: Floats, predicted: Floats) -> float:
    """Share of the variance explained; 0 where the values do not vary."""
    total = float(np.sum((actual - actual.mean()) ** 2))
    return 1.0 - float(np.sum((actual - predicted) ** 2)) / total if total > 0 else 0.0


def regret(observed_mean: Floats, predicted: Floats) -> float:
    """Loss by taking the setting of highest prediction: 1 − its observed mean over the best observed mean."""
    return float(1.0 - observed_mean[int(np.argmax(predicted))] / np.max(observed_mean))


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Figures of one surface on rows that it was not fitted to; ``r2_train`` is that of the rows it was fitted to.

    R² is of the logs of believed rows, so that one wild row does not decide it.
    """

    rows: int
    accuracy: float
    mape: float
    r2_train: float
    r2_test: float
    coverage90: float

    def to_dict(self) -> dict[str, float]:
        """Plain numbers by name."""
        return {name: float(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Validation:
    """Held-out figures of a leaf and the reasons, if any, not to release it."""

    throughput: HeldOut
    power: HeldOut | None
    objections: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        return not self.objections

    def to_dict(self) -> Mapping[str, float]:
        """Figures by dotted name, ``throughput.accuracy`` and so on."""
        parts = {"throughput": self.throughput, "power": self.power}
        return {f"{part}.{k}": v for part, held in parts.items() if held for k, v in held.to_dict().items()}


def random_split(n: int, rng: np.random.Generator, share: float = TRAIN_SHARE) -> tuple[Flags, Flags]:
    """Masks (n,) of training and test rows."""
    train = np.zeros(n, dtype=np.bool_)
    train[rng.permutation(n)[: int(share * n)]] = True
    return train, ~train


def setting_folds(observations: Observations, rng: np.random.Generator, folds: int = FOLDS) -> list[Flags]:
    """Test masks (n,) that leave whole settings out, each setting in exactly one."""
    _, setting = np.unique(np.nan_to_num(observations.settings, nan=-1.0), axis=0, return_inverse=True)
    fold = rng.permutation(int(setting.max()) + 1) % folds
    return [test for i in range(folds) if (test := fold[setting] == i).any()]


def validate_leaf(observations: Observations, model: LeafSurfaces, rng: np.random.Generator) -> Validation:
    """Fit again to 70 % of the rows, predict the rest, and check the model as HARP does.

    Parameters
    ----------
    model : fitted to all rows; lends the refit its smoothing.

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
    train, test = random_split(n, rng)
    refit = fit_leaf(observations.take(train), idle_power_w=model.idle_power_w, start=model)
    return judged(observations, model, refit, train, test)


def judged(
    observations: Observations, model: LeafSurfaces, refit: LeafSurfaces, train: Flags, test: Flags
) -> Validation:
    """Figures of ``refit``, fitted to ``train``, on ``test``; rows that ``model`` disbelieves do not count in R²."""
    rows = observations.take(test)
    told = refit.predict(rows.settings, rows.load)
    t = _Told(told.throughput_bps, told.log_throughput_mean, told.log_throughput_sd)
    throughput = _held_out(
        rows.throughput_bps, t, refit.throughput, observations.throughput_bps[train], model.throughput.weight[test] > 0
    )
    assert throughput is not None, "every row has a throughput and a split leaves enough of them"
    power = None
    if refit.power is not None and model.power is not None:
        assert told.power_w is not None
        assert told.log_power_mean is not None
        assert told.log_power_sd is not None
        p = _Told(told.power_w, told.log_power_mean, told.log_power_sd)
        power = _held_out(rows.power_w, p, refit.power, observations.power_w[train], model.power.weight[test] > 0)
    return Validation(throughput, power, objections(observations, model, throughput))


class _Told(NamedTuple):
    """What was predicted of the test rows (r,)."""

    mean: Floats
    log_mean: Floats
    log_sd: Floats


def objections(observations: Observations, model: LeafSurfaces, held_out: HeldOut) -> tuple[str, ...]:
    """Reasons not to release a throughput surface; none if it is sound."""
    found = []
    if held_out.r2_train - held_out.r2_test > MAX_R2_GAP:
        found.append(
            f"explains {held_out.r2_train:.0%} of the variance of training rows but {held_out.r2_test:.0%} of test rows"
        )
    believed = model.throughput.weight > 0
    best_seen = float(np.max(observations.throughput_bps[believed]))
    best_told = float(np.max(model.predict(observations.settings, observations.load).throughput_bps))
    if best_told >= MAX_OPTIMUM_RATIO * best_seen:
        found.append(f"predicts an optimum {best_told / best_seen:.1f} times the best observed throughput")
    return tuple(found)


def _held_out(actual: Floats, told: _Told, surface: Surface, trained_on: Floats, believed: Flags) -> HeldOut | None:
    """Figures over the rows (r,) that were measured; None if there are too few."""
    known = np.isfinite(actual) & (actual > 0)
    if known.sum() < MIN_TEST_ROWS:
        return None
    log_actual = np.log(np.where(known, actual, 1.0))
    counted = known & believed
    fitted = surface.weight > 0
    log_train = np.log(trained_on[fitted])
    within = np.abs(log_actual - told.log_mean) <= NORMAL_90 * told.log_sd
    return HeldOut(
        rows=int(known.sum()),
        accuracy=accuracy(actual[known], told.mean[known]),
        mape=mape(actual[known], told.mean[known]),
        r2_train=r_squared(log_train, log_train - surface.held_out.own_residual[fitted]),
        r2_test=r_squared(log_actual[counted], told.log_mean[counted]),
        coverage90=float(np.mean(within[known])),
    )
