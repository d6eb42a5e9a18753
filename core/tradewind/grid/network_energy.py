"""Energy of the network path between two hosts: a range with its source, never added to the joules of hosts.

Nobody meters routers and switches for one transfer. What is known are ranges, so that is what this module gives.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tradewind.energy.measured import EnergyReading
from tradewind.errors import InvalidValue
from tradewind.units import GB

END_SYSTEM_SHARES = (0.25, 0.90)
"""Least and largest share of a transfer's electricity that the end systems take: intercontinental and local paths."""

SHARES_SOURCE = "end systems take 25 to 90 % (Energy-Efficient Data Transfer Algorithms for HTTP-Based Services)"

BOTH_ENDS = 2


class NetworkEnergy(NamedTuple):
    """Energy of the network path, J, between ``low_j`` and ``high_j``."""

    low_j: float
    high_j: float
    source: str


class NetworkEnergyRate(NamedTuple):
    """What the owner of a path knows of its network's energy, J a GB (1e9 bytes) moved, and where that is from."""

    low_j_per_gb: float
    high_j_per_gb: float
    source: str

    def check(self) -> None:
        """Refuse a range that is none.

        Raises
        ------
        InvalidValue
        """
        if not 0 <= self.low_j_per_gb <= self.high_j_per_gb < float("inf"):
            raise InvalidValue("network_energy", "must have 0 <= low_j_per_gb <= high_j_per_gb")


def estimate_network_energy(
    rate: NetworkEnergyRate | None, energy: Sequence[EnergyReading], moved_bytes: int
) -> NetworkEnergy | None:
    """Return the range for a transfer: by the path's own rate, or else from the total energy of both end systems.

    ``None`` where the rate is unknown and an end was not metered: a share of one end is no share of both.
    """
    if rate is not None:
        moved_gb = moved_bytes / GB
        return NetworkEnergy(rate.low_j_per_gb * moved_gb, rate.high_j_per_gb * moved_gb, rate.source)
    if len({reading.host for reading in energy}) < BOTH_ENDS:
        return None
    hosts_j = sum(reading.total_j for reading in energy)
    least, largest = END_SYSTEM_SHARES
    return NetworkEnergy(hosts_j * (1 / largest - 1), hosts_j * (1 / least - 1), SHARES_SOURCE)
