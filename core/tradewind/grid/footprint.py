"""What the metered energy of a finished transfer cost, and how much CO2 its electricity emitted, end by end."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from tradewind.energy.measured import EnergyReading, Host
from tradewind.grid.hours import Signal
from tradewind.grid.schedule import GridEnd
from tradewind.sla.kinds import EnergyBasis
from tradewind.units import JOULES_PER_KWH


class EndFootprint(NamedTuple):
    """Of one end; what is ``None`` is unknown, for the reason that ``unknown`` gives."""

    host: Host
    endpoint: str
    region: str | None
    energy_j: float | None
    carbon_g: float | None
    cost: float | None
    currency: str | None
    unknown: str | None


def compute_footprint(
    host: Host,
    end: GridEnd,
    energy: Iterable[EnergyReading],
    *,
    basis: EnergyBasis,
    started_at: datetime,
    ended_at: datetime,
) -> EndFootprint:
    """Return the cost and carbon of one end's energy on a basis, at the mean of its hours."""
    reading = next((each for each in energy if each.host is host), None)
    energy_j = None
    if reading is not None:
        energy_j = reading.dynamic_j if basis is EnergyBasis.DYNAMIC else reading.total_j
    carbon = end.series.compute_mean(Signal.CARBON, started_at, ended_at)
    price = end.series.compute_mean(Signal.PRICE, started_at, ended_at)
    kwh = None if energy_j is None else energy_j / JOULES_PER_KWH
    unknown = None
    if end.region is None:
        unknown = "its region is unknown"
    elif energy_j is None:
        unknown = "not metered" if reading is None else "the power without a transfer is not known"
    elif carbon is None and price is None:
        unknown = f"{end.region} has no hours of this time"
    return EndFootprint(
        host=host,
        endpoint=end.endpoint,
        region=end.region,
        energy_j=energy_j,
        carbon_g=None if kwh is None or carbon is None else kwh * carbon,
        cost=None if kwh is None or price is None else kwh * price,
        currency=end.currency,
        unknown=unknown,
    )
