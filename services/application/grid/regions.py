"""Store hours of regions, and say what is known of the electricity at both ends of a transfer."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from services.application.billing.currencies import check_currency
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, InvalidValue, NotFound
from tradewind.grid.hours import HOUR, Gap, Hour, check_hours
from tradewind.wire.regions import (
    Grid,
    NetworkEnergyOfPath,
    Region,
    RegionUpload,
    UploadedHours,
    WireGap,
    WireGridEnd,
    to_wire_hours,
)

MAX_REGIONS = 200
"""Of a tenant."""
NAMED_GAPS = 10
"""Gaps that an answer lists: the newest."""


class StoredRegion(NamedTuple):
    """A region, and what its hours are."""

    name: str
    currency: str | None
    hours: int
    first_hour: datetime | None
    last_hour: datetime | None
    negative_prices: int
    gap_count: int


class PlaceOfEndpoint(NamedTuple):
    """An endpoint by its own name, and its region, if that is known."""

    endpoint: str
    region: str | None
    currency: str | None


class RegionFootprint(NamedTuple):
    """What the metered ends of transfers in one region took; ``region`` : ``None`` for ends whose region is unknown.

    ``carbon_g``, ``cost`` : sums over the ends that have them. ``unknown_ends`` : ends that have neither.
    """

    region: str | None
    currency: str | None
    ends: int
    energy_j: float
    carbon_g: float | None
    cost: float | None
    unknown_ends: int


class RegionRepository(Protocol):
    """Regions of one tenant; a port because the application may not import persistence."""

    def list_all(self) -> Sequence[StoredRegion]: ...
    def find(self, name: str) -> StoredRegion | None: ...
    def put(self, name: str, currency: str | None) -> None: ...
    def remove(self, name: str) -> bool: ...
    def put_hours(self, name: str, hours: Sequence[Hour]) -> int: ...
    def list_hours(self, name: str, begin: datetime, end: datetime) -> Sequence[Hour]: ...
    def list_gaps(self, name: str, limit: int) -> Sequence[Gap]: ...
    def list_endpoints(self) -> Mapping[str, Sequence[str]]: ...
    def find_places(self, names: Collection[str]) -> Mapping[str, PlaceOfEndpoint]: ...
    def sum_footprints(self, since: datetime) -> Sequence[RegionFootprint]: ...
    def find_network_energy(self, source: str, destination: str) -> NetworkEnergyOfPath | None: ...


def list_regions(*, uow: UnitOfWork) -> Sequence[Region]:
    """Return all regions by name, with their newest gaps and the endpoints in them."""
    endpoints = uow.regions.list_endpoints()
    return [_describe(stored, endpoints, uow) for stored in uow.regions.list_all()]


def get_region(name: str, *, uow: UnitOfWork) -> Region:
    """Return one region.

    Raises
    ------
    NotFound : the tenant has none of this name.
    """
    stored = uow.regions.find(name)
    if stored is None:
        raise NotFound(f"no region {name!r}; `tradewind regions list` shows them")
    return _describe(stored, uow.regions.list_endpoints(), uow)


def upload_hours(name: str, upload: RegionUpload, *, uow: UnitOfWork) -> UploadedHours:
    """Store hours of a region, which is created with the first upload; the same upload again changes nothing.

    Raises
    ------
    InvalidValue : the hours are no series, prices have no currency, or hours overlap with stored ones.
    Conflict : the region's prices are in another currency, or the tenant has too many regions.
    """
    hours = check_hours([hour.to_hour() for hour in upload.hours]) if upload.hours else ()
    currency = None if upload.currency is None else check_currency(upload.currency)
    before = uow.regions.find(name)
    stored_currency = None if before is None else before.currency
    if currency is not None and stored_currency is not None and currency != stored_currency:
        raise Conflict(f"prices of {name} are in {stored_currency}; delete the region to start again in {currency}")
    if currency is None and stored_currency is None and any(hour.price_per_kwh is not None for hour in hours):
        raise InvalidValue("currency", "is needed with prices, such as EUR")
    if before is None and len(uow.regions.list_all()) >= MAX_REGIONS:
        raise Conflict(f"{MAX_REGIONS} regions are stored already; delete some")
    uow.regions.put(name, currency or stored_currency)
    if hours:
        _check_phase(name, hours, uow)
    replaced = uow.regions.put_hours(name, hours)
    region = get_region(name, uow=uow)
    uow.audit.note("region.uploaded", name, hours=len(hours), replaced=replaced, currency=region.currency)
    uow.commit()
    return UploadedHours(added=len(hours) - replaced, replaced=replaced, region=region)


def remove_region(name: str, *, uow: UnitOfWork) -> None:
    """Remove a region with its hours.

    Raises
    ------
    NotFound : the tenant has none of this name.
    Conflict : endpoints are in it.
    """
    region = get_region(name, uow=uow)
    if region.endpoints:
        raise Conflict(f"{region.endpoints[0]!r} is in {name}; give its endpoints another region first")
    uow.regions.remove(name)
    uow.audit.note("region.removed", name, hours=region.hours)
    uow.commit()


def read_grid(source: str, destination: str, begin: datetime, end: datetime, *, uow: UnitOfWork) -> Grid:
    """Return the electricity of both ends from ``begin`` to ``end``; an endpoint may go by any of its names."""
    places = uow.regions.find_places((source, destination))

    def describe_end(name: str) -> WireGridEnd:
        place = places.get(name)
        if place is None or place.region is None:
            return WireGridEnd(endpoint=name)
        hours = uow.regions.list_hours(place.region, begin - HOUR, end)
        return WireGridEnd(endpoint=name, region=place.region, currency=place.currency, hours=to_wire_hours(hours))

    own_names = [places[name].endpoint if name in places else name for name in (source, destination)]
    return Grid(
        source=describe_end(source),
        destination=describe_end(destination),
        network_energy=uow.regions.find_network_energy(*own_names),
    )


def _describe(stored: StoredRegion, endpoints: Mapping[str, Sequence[str]], uow: UnitOfWork) -> Region:
    gaps = uow.regions.list_gaps(stored.name, NAMED_GAPS) if stored.gap_count else ()
    return Region(
        **stored._asdict(),
        gaps=tuple(WireGap(starts_at=gap.starts_at, ends_at=gap.ends_at) for gap in gaps),
        endpoints=tuple(endpoints.get(stored.name, ())),
    )


def _check_phase(name: str, hours: Sequence[Hour], uow: UnitOfWork) -> None:
    """Refuse hours that begin at other minutes than the stored ones: both would be true of the same time."""
    stored = uow.regions.list_hours(name, hours[0].starts_at - HOUR, hours[-1].starts_at + HOUR)
    minutes = {hour.starts_at.minute for hour in hours}
    other = next((hour for hour in stored if hour.starts_at.minute not in minutes), None)
    if other is not None or len(minutes) > 1:
        at = f"{other.starts_at:%H:%M} UTC" if other is not None else f"minutes {', '.join(map(str, sorted(minutes)))}"
        raise InvalidValue("hours", f"must all begin at one minute of the hour; {name} has one at {at}")
