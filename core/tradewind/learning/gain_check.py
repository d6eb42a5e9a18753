"""The back-test of a predicted gain: what the recommended setting was expected to reach, against rows it never saw.

Notation
--------
μ     predicted ln T at the recommended setting, from training rows alone; T in bit/s
φ, σ  the surface's stated deviations there, calibrated: of the fit, and of the noise of a single row
x     ln T of the n test rows that ran at the recommended setting
u, v  ln T of training and of test rows at all other settings: how the link was used

predicted gain   G = μ − mean(u)
observed gain    O = mean(x) − mean(v)

Test rows choose nothing: neither the setting, nor μ, nor an interval's width. G − O is a sum of four independent
errors, so that its variance is the model's stated variance and the sampling noise of three means,

    Var(G − O) = φ² + σ²/n + s²(u)/|u| + s²(v)/|v|

σ is the model's own and not the spread of x: a few rows hardly know their spread, and a check that widened with them
would excuse a model that states too little noise. Gains are of logarithms, so they compare typical (geometric mean)
rates; one stalled transfer decides none. Drift between training and test rows moves x and v together and cancels in O,
as far as it moves all settings equally; the rest of it counts as the model's error.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tradewind.errors import CannotFit
from tradewind.learning.leaf import MEDIAN_LOAD, LeafSurfaces, fit_leaf
from tradewind.learning.leaf_prediction import span_lattice
from tradewind.learning.observations import Flags, Floats, Observations
from tradewind.learning.surface.response import NORMAL_90
from tradewind.learning.validation import TRAIN_SHARE, restrict_certified
from tradewind.parameters import Parameters
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.selection import choose_setting
from tradewind.tiers.setting_table import SettingTable

FASTEST = Sla(kind=SlaKind.MAX_THROUGHPUT)

NEAR = float(np.sqrt(2.0))
"""Factor by which each axis of a row may differ from a setting to count as near it: half a doubling."""

MIN_NEAR_ROWS = 2
MIN_OTHER_ROWS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GainCheck:
    """Predicted and observed gain of one leaf, as logarithms of ratios of typical rates.

    ``log_sd`` : deviation of their difference. ``rows`` : test rows near the recommended setting.
    """

    predicted_log: float
    observed_log: float
    log_sd: float
    rows: int

    @property
    def is_within(self) -> bool:
        """Return whether the observed gain lies in the central 90 % interval around the predicted one."""
        return abs(self.predicted_log - self.observed_log) <= NORMAL_90 * self.log_sd

    @property
    def relative_error(self) -> float:
        """Return by which share of the observed gain the predicted one differs."""
        return abs(float(np.expm1(self.predicted_log - self.observed_log)))

    def to_dict(self) -> dict[str, float]:
        """Return the plain numbers by name."""
        return {name: float(getattr(self, name)) for name in self.__slots__}


class RecommendedRate(NamedTuple):
    """The fastest certified setting, raw values (1, k) in the order of the axes, with ln T there.

    ``fit_sd``, ``noise_sd`` : calibrated deviations of the mean of many transfers, and of a single one around it.
    """

    parameters: Parameters
    settings: Floats
    log_mean: float
    fit_sd: float
    noise_sd: float


def split_by_time(observations: Observations, share: float = TRAIN_SHARE) -> tuple[Flags, Flags]:
    """Return the masks (n,) of the first ``share`` of the rows by their start, and of the later ones."""
    order = np.argsort(observations.started_s, kind="stable")
    train = np.zeros(len(order), dtype=np.bool_)
    train[order[: int(share * len(order))]] = True
    return train, ~train


def find_recommended_rate(model: LeafSurfaces, table: SettingTable) -> RecommendedRate | None:
    """Return what the product recommends of a table for ``max_throughput``; ``None`` where nothing is certified."""
    choice = choose_setting(table, FASTEST, dataset_bytes=1.0)
    if choice is None or not choice.feasible:
        return None
    values = [getattr(choice.setting.parameters, axis, None) for axis in model.axes]
    settings = np.array([[np.nan if value is None else float(value) for value in values]])
    predicted = model.throughput.predict(settings, np.full(1, MEDIAN_LOAD))
    calibration = model.throughput.calibration
    return RecommendedRate(
        parameters=choice.setting.parameters,
        settings=settings,
        log_mean=float(predicted.log_mean[0]),
        fit_sd=float(calibration * predicted.fit_sd[0]),
        noise_sd=float(calibration * predicted.noise_sd[0]),
    )


def check_gain(
    observations: Observations, train: Flags, test: Flags, *, start: LeafSurfaces | None = None
) -> GainCheck | None:
    """Compare the gain predicted from the rows ``train`` (n,) with that of the rows ``test`` (n,).

    Parameters
    ----------
    start : surfaces of nearly the same rows; lend the refit their smoothing.

    Returns
    -------
    ``None`` where the training rows determine no certified setting, or too few test rows ran near it.
    """
    trained, tested = observations.take(train), observations.take(test)
    try:
        model = fit_leaf(trained, start=start)
    except CannotFit:
        return None
    lattice = span_lattice(trained.axes, trained.settings)
    served = restrict_certified(model.evaluate(lattice), trained, model.throughput)
    rate = find_recommended_rate(model, SettingTable(served.build_settings()))
    if rate is None:
        return None
    near = find_near_rows(tested.settings, rate.settings)
    used, used_later = (
        np.log(rows.throughput_bps[~find_near_rows(rows.settings, rate.settings)]) for rows in (trained, tested)
    )
    if near.sum() < MIN_NEAR_ROWS or min(len(used), len(used_later)) < MIN_OTHER_ROWS:
        return None
    reached = np.log(tested.throughput_bps[near])
    variance = rate.fit_sd**2 + rate.noise_sd**2 / len(reached) + sum(map(compute_mean_variance, (used, used_later)))
    return GainCheck(
        predicted_log=rate.log_mean - float(used.mean()),
        observed_log=float(reached.mean() - used_later.mean()),
        log_sd=float(np.sqrt(variance)),
        rows=len(reached),
    )


def describe_gain(observations: Observations, model: LeafSurfaces, table: SettingTable) -> dict[str, float]:
    """Return what a stored leaf keeps for the report of gains: the stated deviations at the recommended setting, and
    the back-test on later rows where there is one.

    Parameters
    ----------
    table : of the leaf, as it is served.
    """
    rate = find_recommended_rate(model, table)
    if rate is None:
        return {}
    found = {"gain.fit_sd": rate.fit_sd, "gain.noise_sd": rate.noise_sd}
    check = check_gain(observations, *split_by_time(observations), start=model)
    return found if check is None else found | {f"gain.{name}": value for name, value in check.to_dict().items()}


def find_near_rows(settings: Floats, setting: Floats) -> Flags:
    """Find the rows (n, k) near a setting (1, k); an axis that the setting leaves open does not count."""
    ratio = np.log(np.maximum(settings, 0.5)) - np.log(np.maximum(setting, 0.5))  # no requests in flight counts as half
    near: Flags = np.all(np.isnan(setting) | (np.abs(ratio) <= np.log(NEAR) + 1e-9), axis=1)
    return near


def compute_mean_variance(values: Floats) -> float:
    """Return the variance of the mean of independent values (n,), n ≥ 2."""
    return float(np.var(values, ddof=1)) / len(values)
