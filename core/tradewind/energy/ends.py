"""Power by end of a transfer: what a model counts, what a tick has measured, and how missing values are estimated.

A model learns power of one end or of both ends, and a target on energy or power is compared with the same ends. An end
that is not metered was not measured, which is never zero: its power is estimated from the other end's, and the
decision says so.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tradewind.energy.measured import Host

BOTH_ENDS = frozenset(Host)
"""What an SLA on energy or power counts unless its model says otherwise; `tradewind.sla.outcome` applies it."""

MIN_DYNAMIC_SHARE = 0.05
"""An end whose model has less of its power above the base says nothing about what the other end takes above its own."""


class EndPower(NamedTuple):
    """Mean power of one end in a model's history, W, and its base power where that is known."""

    power_w: float
    base_w: float | None = None


PowerByEnd: TypeAlias = Mapping[Host, EndPower]


class LivePower(NamedTuple):
    """Power of one metered end in one tick, W; ``host`` is ``None`` where the agent did not say which end."""

    host: Host | None
    power_w: float


class CountedPower(NamedTuple):
    """Power of the ends that are counted, W, and how it differs from what was measured; empty where it does not."""

    power_w: float | None
    note: str = ""


def count_power(readings: Sequence[LivePower], counted: frozenset[Host], model: PowerByEnd) -> CountedPower:
    """Return the power of the ends in ``counted``.

    An end without a reading is estimated: by the proportions in ``model`` if that knows both ends, else as much as the
    other end takes.

    Parameters
    ----------
    readings : at most one an end.
    counted : at least one end.
    """
    if not readings:
        return CountedPower(None)
    unnamed = next((reading for reading in readings if reading.host is None), None)
    if unnamed is not None:
        if len(counted) == 1:
            return CountedPower(unnamed.power_w)
        return CountedPower(
            unnamed.power_w * len(counted), "power is metered at one end alone, and the other end is taken to equal it"
        )
    known = {reading.host: reading.power_w for reading in readings if reading.host is not None}
    missing = counted - known.keys()
    measured_w = sum(watts for host, watts in known.items() if host in counted)
    if not missing:
        return CountedPower(measured_w)
    (absent,) = missing  # a transfer has two ends, and one of them is metered
    (metered,) = known
    by_model = absent in model and metered in model
    estimated_w = _estimate_w(known[metered], model[metered], model[absent]) if by_model else known[metered]
    how = "scaled as in the path's history" if by_model else "taken to equal it"
    return CountedPower(
        measured_w + estimated_w, f"power is metered at the {metered} alone, and the {absent}'s is {how}"
    )


def _estimate_w(metered_w: float, metered: EndPower, absent: EndPower) -> float:
    """Return the absent end's power: in proportion above the base powers where those are known, else of all power."""
    if metered.base_w is not None and absent.base_w is not None:
        above_w = metered.power_w - metered.base_w
        if above_w > MIN_DYNAMIC_SHARE * metered.power_w:
            ratio = max(absent.power_w - absent.base_w, 0.0) / above_w
            return max(absent.base_w + ratio * (metered_w - metered.base_w), 0.0)
    return metered_w * absent.power_w / metered.power_w if metered.power_w > 0 else metered_w
