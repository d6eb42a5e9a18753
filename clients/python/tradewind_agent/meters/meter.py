"""What every power meter has in common."""

from typing import Protocol

from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind_agent.meters.utilisation import HostCounters


class MeterUnavailable(Exception):
    """A meter cannot be read here; the message says why and, where possible, what would help."""


class Meter(Protocol):
    """A source of energy figures for this host.

    Attributes
    ----------
    base_w : power without the transfer, where the meter knows it by itself (a model's idle power); else None.
    resolution_s : optional; over a shorter time the energy may be that of the time before (`find_resolution_s`).
    """

    @property
    def method(self) -> EnergyMethod: ...

    @property
    def quality(self) -> EnergyQuality: ...

    @property
    def base_w(self) -> float | None: ...

    @property
    def description(self) -> str:
        """What is read or assumed, for people."""

    def read_energy_j(self, counters: HostCounters) -> float:
        """Return the energy from an origin of the meter's own until now, J; ``counters`` were read at the same moment.

        Raises
        ------
        MeterUnavailable : it could be read before and can no longer.
        """


def find_resolution_s(meter: Meter) -> float:
    """Return how long a transfer must take for this meter to measure it, s; 0 for counters of hardware and models."""
    return float(getattr(meter, "resolution_s", 0.0))
