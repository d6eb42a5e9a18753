"""What a setting is expected to do, and the one definition of "meets its target with probability c".

Notation
--------
T     throughput, bit/s; ln T is Gaussian with mean and sd (variance of the fit plus variance of the noise)
P     mean power of the metered hosts together, W; ln P is Gaussian too
E     energy of a byte, J: 8 · P / T on the total basis, 8 · (P − P_b) / T on the dynamic one
P_b   base power of the same hosts, W
merit a quantity turned so that more is better: ln T, −ln E, −ln P; −E and −P on the dynamic basis, which stays on the
      linear scale because dynamic energy may be negative

In merits every SLA reads the same: a setting meets a target with probability c if mean − z(c) · sd ≥ the target's
merit.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import NormalDist
from typing import NamedTuple

from tradewind.errors import InvalidValue
from tradewind.load_effect import LoadShift
from tradewind.parameters import Parameters
from tradewind.sla.kinds import EnergyBasis
from tradewind.units import BITS_PER_BYTE

BAND = 0.9
"""Probability within the interval that a prediction states."""

ROUNDING = 1e-9
"""Slack of a comparison (relative; absolute on logarithms), so that a bound meets the target computed from it."""

_STANDARD = NormalDist()
BAND_Z = _STANDARD.inv_cdf((1 + BAND) / 2)
_LOG_BITS_PER_BYTE = math.log(BITS_PER_BYTE)


class Quantity(StrEnum):
    """What an SLA bounds: throughput from below, energy of a byte and power from above."""

    THROUGHPUT = "throughput"
    ENERGY = "energy"
    POWER = "power"


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedSetting:
    """One setting with the moments of ln throughput and, where power was metered, of ln power.

    ``certified`` is false outside the sampled hull: such a setting is never promised.
    """

    parameters: Parameters
    log_throughput_mean: float
    log_throughput_sd: float
    log_power_mean: float | None = None
    log_power_sd: float = 0.0
    log_covariance: float = 0.0
    certified: bool = True

    def apply_shift(self, shift: LoadShift) -> "PredictedSetting":
        """Return the setting under another load, which moves its means and leaves their spread."""
        return replace(
            self,
            log_throughput_mean=self.log_throughput_mean + shift.log_throughput,
            log_power_mean=None if self.log_power_mean is None else self.log_power_mean + shift.log_power,
        )


class Gaussian(NamedTuple):
    mean: float
    sd: float

    def lower(self, z: float) -> float:
        """Return the value exceeded with probability Φ(z)."""
        return self.mean - z * self.sd


class Interval(NamedTuple):
    """Mean and central 90 % band."""

    mean: float
    low: float
    high: float

    def compute_probability_above(self, value: float) -> float:
        """Return the probability that a log-normal quantity with this mean and band exceeds ``value`` > 0."""
        if not 0 < self.low < self.high:
            return 1.0 if self.mean >= value else 0.0
        log_sd = math.log(self.high / self.low) / (2 * BAND_Z)
        return _STANDARD.cdf(math.log(self.mean / value) / log_sd - log_sd / 2)

    def multiply(self, factor: float) -> "Interval":
        """Return all three multiplied by ``factor`` ≥ 0."""
        return Interval(self.mean * factor, self.low * factor, self.high * factor)


class Prediction(NamedTuple):
    """What a data set's transfer with a setting is expected to reach; ``None`` where power was not metered."""

    throughput_bps: Interval
    energy_j: Interval | None
    power_w: Interval | None

    def scale_to_bytes(self, dataset_bytes: float) -> "Prediction":
        """Return the prediction for a data set from this one for one byte; only energy depends on the size."""
        if self.energy_j is None:
            return self
        return Prediction(
            throughput_bps=self.throughput_bps, energy_j=self.energy_j.multiply(dataset_bytes), power_w=self.power_w
        )


def compute_z(confidence: float) -> float:
    """Return the standard normal quantile z(c)."""
    return _STANDARD.inv_cdf(confidence)


def is_linear(quantity: Quantity, basis: EnergyBasis) -> bool:
    """Return whether the merit is the negative quantity itself instead of a logarithm."""
    return basis is EnergyBasis.DYNAMIC and quantity is not Quantity.THROUGHPUT


def predict_merit(
    setting: PredictedSetting, quantity: Quantity, basis: EnergyBasis, base_power_w: float | None = None
) -> Gaussian:
    """Return the mean and sd of a setting's merit.

    On the dynamic basis the sd is that of the delta method at the median, with the covariance of ln T and ln P:
    with E = 8 · (P − P_b) / T, ∂E/∂ln P = 8 · P / T and ∂E/∂ln T = −E.

    Parameters
    ----------
    base_power_w : base power of the hosts whose power was metered, together; needed for the dynamic basis.

    Raises
    ------
    InvalidValue : energy or power of a setting without power, or the dynamic basis without a base power.
    """
    if quantity is Quantity.THROUGHPUT:
        return Gaussian(setting.log_throughput_mean, setting.log_throughput_sd)
    log_power, power_sd = setting.log_power_mean, setting.log_power_sd
    if log_power is None:
        raise InvalidValue(
            "sla.kind", "power of this link was not metered, so neither energy nor power can be promised"
        )
    if basis is EnergyBasis.TOTAL:
        if quantity is Quantity.POWER:
            return Gaussian(-log_power, power_sd)
        variance = power_sd**2 + setting.log_throughput_sd**2 - 2 * setting.log_covariance
        return Gaussian(setting.log_throughput_mean - log_power - _LOG_BITS_PER_BYTE, math.sqrt(max(variance, 0.0)))
    if base_power_w is None:
        raise InvalidValue("sla.energy_basis", "base power of this link is not known, so dynamic energy is not either")
    power_w = math.exp(log_power)
    if quantity is Quantity.POWER:
        return Gaussian(base_power_w - power_w, power_w * power_sd)
    seconds_per_byte = BITS_PER_BYTE * math.exp(-setting.log_throughput_mean)
    by_power = seconds_per_byte * power_w
    energy_j = seconds_per_byte * (power_w - base_power_w)
    variance = (
        (by_power * power_sd) ** 2
        + (energy_j * setting.log_throughput_sd) ** 2
        - 2 * by_power * energy_j * setting.log_covariance
    )
    return Gaussian(-energy_j, math.sqrt(max(variance, 0.0)))


def compute_merit(target: float, quantity: Quantity, basis: EnergyBasis) -> float:
    """Return the merit of a target in bit/s, J per byte or W (above 0 unless the merit is linear)."""
    if is_linear(quantity, basis):
        return -target
    return math.log(target) if quantity is Quantity.THROUGHPUT else -math.log(target)


def compute_target(value: float, quantity: Quantity, basis: EnergyBasis) -> float:
    """Return the target in bit/s, J per byte or W that has this merit; inverse of `compute_merit`."""
    if is_linear(quantity, basis):
        return -value
    return math.exp(value if quantity is Quantity.THROUGHPUT else -value)


def subtract_rounding(target_merit: float, *, linear: bool) -> float:
    """Return the target's merit less the slack of rounding: what a bound must reach to meet the target."""
    return target_merit - ROUNDING * (abs(target_merit) if linear else 1.0)


def compute_log_change(quantity: Quantity, shift: LoadShift) -> float:
    """Return what another load adds to the logarithm of a quantity of every setting; of energy and power the total."""
    if quantity is Quantity.THROUGHPUT:
        return shift.log_throughput
    return shift.log_power if quantity is Quantity.POWER else shift.log_power - shift.log_throughput


def compute_probability(merit_of_setting: Gaussian, needed: float) -> float:
    """Return the probability that the setting reaches the merit ``needed``."""
    margin = merit_of_setting.mean - needed
    if merit_of_setting.sd > 0:
        return _STANDARD.cdf(margin / merit_of_setting.sd)
    return 1.0 if margin >= 0 else 0.0


def predict(
    setting: PredictedSetting,
    *,
    dataset_bytes: float,
    basis: EnergyBasis = EnergyBasis.TOTAL,
    base_power_w: float | None = None,
) -> Prediction:
    """Return the throughput, energy and power of a transfer of ``dataset_bytes`` with this setting.

    Energy and power are ``None`` where they are not known on this basis.
    """
    throughput = predict_merit(setting, Quantity.THROUGHPUT, basis)
    if setting.log_power_mean is None or (basis is EnergyBasis.DYNAMIC and base_power_w is None):
        return Prediction(throughput_bps=_build_lognormal(throughput), energy_j=None, power_w=None)
    energy = predict_merit(setting, Quantity.ENERGY, basis, base_power_w)
    power = predict_merit(setting, Quantity.POWER, basis, base_power_w)
    interval = _mirror if basis is EnergyBasis.DYNAMIC else _mirror_lognormal
    return Prediction(
        throughput_bps=_build_lognormal(throughput),
        energy_j=interval(energy, dataset_bytes),
        power_w=interval(power, 1.0),
    )


def _build_lognormal(log: Gaussian, scale: float = 1.0) -> Interval:
    return Interval(
        mean=scale * math.exp(log.mean + log.sd**2 / 2),
        low=scale * math.exp(log.lower(BAND_Z)),
        high=scale * math.exp(log.lower(-BAND_Z)),
    )


def _mirror_lognormal(value: Gaussian, scale: float) -> Interval:
    return _build_lognormal(Gaussian(-value.mean, value.sd), scale)


def _mirror(value: Gaussian, scale: float) -> Interval:
    return Interval(mean=-scale * value.mean, low=-scale * value.lower(-BAND_Z), high=-scale * value.lower(BAND_Z))
