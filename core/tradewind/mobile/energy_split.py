"""Split of a transfer's energy into base, dynamic and tail (mobile paper, eqs 1 and 2, and its figure 8).

E_t = E_b + E_d while the transfer runs; E_tail = (P_tail − P_b) · min(gap, t_tail) after its last byte. All energies
are joules. The paper reports E_d per 100 MB.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType

from tradewind.energy.measured import compute_base_energy_j, compute_dynamic_energy_j, compute_total_energy_j
from tradewind.errors import InvalidTrace, InvalidValue
from tradewind.mobile.profiles import DeviceProfile, RadioProfile
from tradewind.units import BITS_PER_BYTE, GB

PAPER_UNIT_BYTES = 100 * 10**6
"""The unit of data in the mobile paper's energies: 100 MB."""
UNITS_BYTES: Mapping[str, int] = MappingProxyType({"per_100_mb": PAPER_UNIT_BYTES, "per_gb": GB})
UNIT_LABELS: Mapping[str, str] = MappingProxyType({"per_100_mb": "per 100 MB", "per_gb": "per GB"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergySplit:
    """Energy of one transfer by part; ``dynamic_j`` and ``tail_j`` of a trace may be below 0 by noise.

    ``tail_j`` : ``None`` where it is unknown.
    """

    base_j: float
    dynamic_j: float
    tail_j: float | None

    @property
    def total_j(self) -> float:
        """Return E_t = E_b + E_d: the energy while the transfer runs, J."""
        return self.base_j + self.dynamic_j

    def to_dict(self) -> dict[str, float | None]:
        """Return the parts by their names on the wire."""
        return {"base_j": self.base_j, "dynamic_j": self.dynamic_j, "tail_j": self.tail_j}

    def compute_per_unit(self, unit_bytes: int, moved_bytes: int) -> "EnergySplit":
        """Return the split for each ``unit_bytes`` of the moved bytes.

        Raises
        ------
        InvalidValue : nothing was moved.
        """
        if moved_bytes <= 0:
            raise InvalidValue("moved_bytes", "must be above 0: energy per byte of nothing is not defined")
        share = unit_bytes / moved_bytes
        tail_j = None if self.tail_j is None else share * self.tail_j
        return EnergySplit(base_j=share * self.base_j, dynamic_j=share * self.dynamic_j, tail_j=tail_j)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferWork:
    """What a transfer did: how long, how much, and the mean utilisation (0..1) of the device's components by it."""

    duration_s: float
    received_bytes: float = 0.0
    sent_bytes: float = 0.0
    utilisation: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for name in ("duration_s", "received_bytes", "sent_bytes"):
            if not 0 <= getattr(self, name) < inf:
                raise InvalidValue(name, "must be finite and not negative")


def model_energy_split(
    device: DeviceProfile, radio: RadioProfile, work: TransferWork, *, screen_on: bool = False, gap_s: float = inf
) -> EnergySplit:
    """Return the split by the profiles' constants.

    E_d = (P_active − P_idle) · t + Σ P_component · u · t + E_bits, see `RadioProfile.compute_bits_energy_j`.

    Parameters
    ----------
    screen_on : whether the base power is that with the screen on.
    gap_s : until the next transfer on the same radio; its tail is cut there.
    """
    components_w = sum(
        device.component_w[name].value * share for name, share in work.utilisation.items() if name in device.component_w
    )
    bits_j = radio.compute_bits_energy_j(
        BITS_PER_BYTE * work.received_bytes, BITS_PER_BYTE * work.sent_bytes, work.duration_s
    )
    return EnergySplit(
        base_j=compute_base_energy_j(work.duration_s, device.compute_base_w(radio, screen_on=screen_on)),
        dynamic_j=(radio.active_above_idle_w + components_w) * work.duration_s + bits_j,
        tail_j=radio.compute_tail_energy_j(gap_s),
    )


def split_power_trace(
    time_s: Sequence[float],
    power_w: Sequence[float],
    *,
    started_s: float,
    ended_s: float,
    base_power_w: float | None = None,
    tail_s: float | None = None,
) -> EnergySplit:
    """Return the split of a measured power trace.

    Parameters
    ----------
    time_s, power_w : (n,) samples, times strictly increasing, need not be regular.
    started_s, ended_s : of the transfer, on the trace's clock; between two samples power is interpolated.
    base_power_w : P_b; by default the mean power of the trace before the transfer.
    tail_s : how long the tail lasts; by default to the end of the trace. Of a trace that ends with the transfer
        the tail is unknown; one that ends within the tail shows a part of it.

    Raises
    ------
    InvalidTrace : it does not cover the transfer, or not what is to be derived from it.
    """
    if not ended_s > started_s:
        raise InvalidTrace("ended_s", "must be after the beginning")
    compute_total_energy_j(time_s, power_w)  # checks the entire trace once
    if not time_s[0] <= started_s <= ended_s <= time_s[-1]:
        raise InvalidTrace(
            "time_s",
            f"covers {time_s[0]:.3f} to {time_s[-1]:.3f} s, not the transfer from {started_s:.3f} to {ended_s:.3f} s",
        )
    if base_power_w is None:
        before = bisect_right(time_s, started_s)  # real samples only: one after the start would include the transfer
        if before < 2:
            raise InvalidTrace("base_power_w", "the trace has fewer than two samples before the transfer")
        base_power_w = compute_total_energy_j(time_s[:before], power_w[:before]) / (time_s[before - 1] - time_s[0])
    during = slice_trace(time_s, power_w, started_s, ended_s)
    tail_end_s = time_s[-1] if tail_s is None else min(ended_s + tail_s, time_s[-1])
    after = slice_trace(time_s, power_w, ended_s, tail_end_s)
    return EnergySplit(
        base_j=compute_base_energy_j(ended_s - started_s, base_power_w),
        dynamic_j=compute_dynamic_energy_j(*during, base_power_w),
        tail_j=compute_dynamic_energy_j(*after, base_power_w) if tail_end_s > ended_s else None,
    )


def slice_trace(
    time_s: Sequence[float], power_w: Sequence[float], begin_s: float, end_s: float
) -> tuple[list[float], list[float]]:
    """Return the samples from ``begin_s`` to ``end_s``, with interpolated ones at both ends; one where the two are
    equal.
    """
    inside = range(bisect_left(time_s, begin_s), bisect_left(time_s, end_s))
    ends = {begin_s: _compute_power_at(time_s, power_w, begin_s), end_s: _compute_power_at(time_s, power_w, end_s)}
    samples = ends | {time_s[index]: power_w[index] for index in inside}
    times = sorted(samples)
    return times, [samples[each] for each in times]


def _compute_power_at(time_s: Sequence[float], power_w: Sequence[float], at_s: float) -> float:
    after = min(max(bisect_left(time_s, at_s), 1), len(time_s) - 1)
    t0, t1 = time_s[after - 1], time_s[after]
    return power_w[after - 1] + (power_w[after] - power_w[after - 1]) * (at_s - t0) / (t1 - t0)


def saves_energy(power_ratio: float, throughput_ratio: float) -> bool:
    """Return whether going faster saves energy: E falls where P₂/P₁ < T₂/T₁ (mobile paper, section 4)."""
    return power_ratio < throughput_ratio
