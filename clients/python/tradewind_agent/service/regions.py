"""SDK: electricity regions and their hours, as ``client.regions``; changing them needs the scope provider."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import TypeAdapter

from tradewind.grid.hours import Hour
from tradewind.wire.regions import (
    HOURS_A_REQUEST,
    Grid,
    Region,
    RegionHours,
    RegionUpload,
    UploadedHours,
    WireHour,
)
from tradewind_agent.service.calls import Calls

PATH = "/v1/regions"


class Regions:
    """Regions of the key's tenant."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def list_all(self) -> tuple[Region, ...]:
        """Return all regions, by name."""
        return self._calls.call("GET", PATH, TypeAdapter(tuple[Region, ...]))

    def read(self, name: str, *, begin: datetime | None = None, hours: int = 48) -> RegionHours:
        """Return a region with its hours from ``begin`` on, by default from now."""
        parameters: dict[str, int | str] = {"hours": hours}
        if begin is not None:
            parameters["begin"] = begin.isoformat()
        return self._calls.call("GET", f"{PATH}/{name}", TypeAdapter(RegionHours), params=parameters)

    def upload(self, name: str, hours: Sequence[Hour], *, currency: str | None = None) -> UploadedHours:
        """Store hours of a region, which is created with the first upload; those of the same begin are replaced.

        Many hours are sent in parts; the same ones again, after a part has failed, change nothing.
        """
        wire_hours = tuple(
            WireHour.model_validate({key: value for key, value in hour._asdict().items() if value is not None})
            for hour in hours
        )
        done: list[UploadedHours] = []
        for first in range(0, max(len(wire_hours), 1), HOURS_A_REQUEST):
            body = RegionUpload(currency=currency, hours=wire_hours[first : first + HOURS_A_REQUEST])
            done.append(self._calls.call("PUT", f"{PATH}/{name}", TypeAdapter(UploadedHours), body=body))
        added, replaced = sum(each.added for each in done), sum(each.replaced for each in done)
        return UploadedHours(added=added, replaced=replaced, region=done[-1].region)

    def remove(self, name: str) -> None:
        """Remove a region with its hours; no endpoint may be in it."""
        self._calls.send("DELETE", f"{PATH}/{name}")

    def grid(self, source: str, destination: str, *, begin: datetime, hours: int) -> Grid:
        """Return the electricity of both ends of a transfer from ``begin`` on."""
        parameters: dict[str, int | str] = {
            "source": source,
            "destination": destination,
            "begin": begin.isoformat(),
            "hours": hours,
        }
        return self._calls.call("GET", "/v1/grid", TypeAdapter(Grid), params=parameters)
