"""The meter that the user names: ``redfish:https://bmc``, ``ipmi``, ``scaphandre:URL`` or ``kepler:URL``."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tradewind.errors import InvalidValue
from tradewind_agent.errors import UnusableSource
from tradewind_agent.meters.meter import Meter, MeterUnavailable

if TYPE_CHECKING:
    from tradewind_agent.engine.http.address import Url

EXAMPLES = "ipmi, redfish:https://bmc.example.org, scaphandre:http://localhost:8080 or kepler:http://localhost:28282"
VARIABLE = "TRADEWIND_POWER_METER"
METRICS = "/metrics"
REDFISH, IPMI, SCAPHANDRE, KEPLER = "redfish", "ipmi", "scaphandre", "kepler"


@dataclass(frozen=True, slots=True)
class MeterSource:
    """A meter by its ``kind``, and where it is; ``ipmi`` is this host's own, without a ``url``."""

    kind: str
    url: "Url | None" = None

    def __str__(self) -> str:
        return self.kind if self.url is None else f"{self.kind}:{self.url}"

    def open(self) -> Meter:
        """Return the meter.

        Raises
        ------
        MeterUnavailable : it cannot be read now.
        """
        from tradewind_agent.meters.external import dcmi, exporters, redfish  # noqa: PLC0415 -- most hosts have none
        from tradewind_agent.meters.external.http_read import HttpReader  # noqa: PLC0415

        if self.url is None:
            return dcmi.open_dcmi_meter()
        reader = HttpReader(str(self.url.origin), _build_headers(self.url))
        path = self.url.target if self.url.target != "/" else ""
        if self.kind == REDFISH:
            return redfish.open_redfish_meter(reader, path)
        series = exporters.SCAPHANDRE if self.kind == SCAPHANDRE else exporters.KEPLER
        return exporters.open_exporter_meter(self.kind.capitalize(), series, reader, path or METRICS)


def parse_meter_source(text: str) -> MeterSource:
    """Parse what the user has written.

    Raises
    ------
    InvalidValue : an unknown kind, or an address that is none.
    """
    kind, _, address = text.strip().partition(":")
    kind = kind.lower()
    if kind == IPMI and not address:
        return MeterSource(IPMI)
    if kind not in (REDFISH, SCAPHANDRE, KEPLER):
        raise InvalidValue("power meter", f"{text!r} is no meter; write it like {EXAMPLES}")
    from tradewind_agent.engine.http.address import Url  # noqa: PLC0415 -- most hosts have no such meter

    try:
        return MeterSource(kind, Url.parse(address))
    except UnusableSource as wrong:
        raise InvalidValue("power meter", f"{kind} needs an address: {wrong}") from None


def _build_headers(url: "Url") -> dict[str, str]:
    """Return the headers of the login that the address, or else the user's netrc, has for the server."""
    from tradewind_agent.engine.http.credentials import Credentials  # noqa: PLC0415

    try:
        return Credentials.from_environment(os.environ).build_headers(url)
    except UnusableSource as wrong:
        raise MeterUnavailable(str(wrong)) from None
