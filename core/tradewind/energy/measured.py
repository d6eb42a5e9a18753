"""Energy of a transfer from power samples (mobile paper, eqs 1 and 2), and the quality of such a value.

E_t = E_b + E_d,   E_b = P_b · (t_end − t_start),   E_d = ∫ (P(t) − P_b) dt
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from tradewind.errors import InvalidTrace
from tradewind.units import format_count


class Host(StrEnum):
    SOURCE = "source"
    DESTINATION = "destination"


class EnergyMethod(StrEnum):
    RAPL = "rapl"
    BATTERY = "battery"
    METER = "meter"
    FINE_MODEL = "fine_model"
    CPU_MODEL = "cpu_model"


class EnergyQuality(StrEnum):
    MEASURED = "measured"
    CALIBRATED = "calibrated"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyReading:
    """Energy of one end of a transfer; an end without a reading was not measured, never zero.

    ``tail_j`` : of the radio after the last byte, by its profile unless a meter went on until then; in no total.
    """

    host: Host
    total_j: float
    method: EnergyMethod
    quality: EnergyQuality
    dynamic_j: float | None = None
    base_w: float | None = None
    tail_j: float | None = None


def compute_total_energy_j(time_s: Sequence[float], power_w: Sequence[float]) -> float:
    """Return the energy of a power trace, E_t = ∫ P(t) dt, by trapezoids.

    Parameters
    ----------
    time_s, power_w : (n,) samples, n ≥ 2, times strictly increasing, need not be regular.

    Raises
    ------
    InvalidTrace : fewer than two samples, lengths that differ, or time that does not increase.
    """
    if len(time_s) != len(power_w):
        raise InvalidTrace(
            "power_w", f"has {format_count(len(power_w), 'sample')} for {format_count(len(time_s), 'time')}"
        )
    if len(time_s) < 2:
        raise InvalidTrace("time_s", "needs at least two samples")
    if any(later <= earlier for earlier, later in pairwise(time_s)):
        raise InvalidTrace("time_s", "must increase strictly")
    steps = zip(pairwise(time_s), pairwise(power_w), strict=True)
    return sum((t1 - t0) * (p0 + p1) / 2 for (t0, t1), (p0, p1) in steps)


_ROUNDING = 1e-9
"""Share of the total below which a difference of energies is rounding of their sums."""


def compute_energy_above_base_j(total_j: float, base_j: float) -> float:
    """Return the energy above the base, J: negative by noise, but 0 where only the rounding of the two is left."""
    dynamic_j = total_j - base_j
    return 0.0 if abs(dynamic_j) <= _ROUNDING * abs(total_j) else dynamic_j


def compute_base_energy_j(duration_s: float, base_power_w: float) -> float:
    """Return the energy that the host would have used anyway, E_b = P_b · duration."""
    return base_power_w * duration_s


def compute_dynamic_energy_j(time_s: Sequence[float], power_w: Sequence[float], base_power_w: float) -> float:
    """Return the energy above the base power, E_d = ∫ (P(t) − P_b) dt.

    Parameters
    ----------
    time_s, power_w : (n,) samples, n ≥ 2, times strictly increasing, need not be regular.
    base_power_w : power before the transfer started, W.

    Returns
    -------
    Joules. May be negative: it is not clipped, so that noise around the base averages out.

    Raises
    ------
    InvalidTrace : fewer than two samples, or time that does not increase.

    References
    ----------
    Guner & Kosar, "Energy-Performance Trade-offs in Mobile Data Transfers", eq. 2.
    """
    return compute_total_energy_j(time_s, power_w) - compute_base_energy_j(time_s[-1] - time_s[0], base_power_w)
