"""``/v1/regions`` and ``/v1/grid``: hourly prices and carbon intensities of electricity, by region and by transfer."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from tradewind.grid.hours import Hour, HourlySeries
from tradewind.grid.network_energy import NetworkEnergyRate
from tradewind.grid.schedule import GridEnd
from tradewind.wire.base import REGION_NAME, Instant, Name, NonNegative, Open, Strict
from tradewind.wire.pricing import CurrencyCode

HOURS_A_REQUEST = 5_000
"""Hours of one upload: half a MiB of JSON; the SDK sends more in parts."""

RegionName = Annotated[str, StringConstraints(pattern=REGION_NAME)]


class WireHour(Strict):
    """One hour: its begin, the price in the region's currency (which may be negative), g of CO2 a kWh."""

    starts_at: Instant
    price_per_kwh: float | None = None
    carbon_g_per_kwh: float | None = None

    def to_hour(self) -> Hour:
        return Hour(self.starts_at, self.price_per_kwh, self.carbon_g_per_kwh)

    @classmethod
    def from_hour(cls, hour: Hour) -> "WireHour":
        """Return an hour that is known to be right."""
        return cls.model_construct(None, **hour._asdict())


class RegionUpload(Strict):
    """Hours of a region, which replace stored ones of the same begin; ``currency`` is needed once there are prices."""

    currency: CurrencyCode | None = None
    hours: tuple[WireHour, ...] = Field(default=(), max_length=HOURS_A_REQUEST)


class WireGap(Open):
    """Hours that are missing between two that are there."""

    starts_at: datetime
    ends_at: datetime


class Region(Open):
    """A region; ``gaps`` : the newest of them, of ``gap_count``. A gap is never filled in."""

    name: str
    currency: str | None
    hours: int
    first_hour: datetime | None = None
    last_hour: datetime | None = None
    negative_prices: int = 0
    gap_count: int = 0
    gaps: tuple[WireGap, ...] = ()
    endpoints: tuple[str, ...] = ()


class UploadedHours(Open):
    """What an upload changed, and the region after it."""

    added: int
    replaced: int
    region: Region


class RegionHours(Open):
    """A region with its hours of a time."""

    region: Region
    hours: tuple[WireHour, ...]


class NetworkEnergyOfPath(Strict):
    """Energy of the network of a path, J a GB (1e9 bytes), from least to most, and where that is from."""

    low_j_per_gb: NonNegative
    high_j_per_gb: NonNegative
    source: Name

    def to_rate(self) -> NetworkEnergyRate:
        return NetworkEnergyRate(self.low_j_per_gb, self.high_j_per_gb, self.source)


class WireGridEnd(Open):
    """One end of a transfer; ``region`` : ``null`` where it is unknown, and no hours then."""

    endpoint: str
    region: str | None = None
    currency: str | None = None
    hours: tuple[WireHour, ...] = ()

    def to_end(self) -> GridEnd:
        hours = HourlySeries.of(hour.to_hour() for hour in self.hours)
        return GridEnd(endpoint=self.endpoint, region=self.region, currency=self.currency, series=hours)


class Grid(Open):
    """The electricity of both ends of a transfer, and the energy of the network between them where it is known."""

    source: WireGridEnd
    destination: WireGridEnd
    network_energy: NetworkEnergyOfPath | None = None

    def list_ends(self) -> tuple[GridEnd, GridEnd]:
        return self.source.to_end(), self.destination.to_end()


def to_wire_hours(hours: Sequence[Hour]) -> tuple[WireHour, ...]:
    return tuple(map(WireHour.from_hour, hours))
