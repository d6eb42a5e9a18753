"""Power of a host as its management controller reports it by Redfish (DMTF DSP0266): the entire host, at its supplies.

A chassis has it as ``EnvironmentMetrics.PowerWatts.Reading`` (DSP0268, EnvironmentMetrics), older ones as
``Power.PowerControl[].PowerConsumedWatts``. Entries of ``PowerControl`` may be parts of one another, as processors are
of a server, so the largest counts.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tradewind_agent.meters.external.gauge import GaugeMeter, check_power_w
from tradewind_agent.meters.external.http_read import HttpReader
from tradewind_agent.meters.meter import MeterUnavailable

ROOT = "/redfish/v1"
RENEW_S = 2.0
"""Controllers measure about once a second, and take as long to answer."""


def open_redfish_meter(reader: HttpReader, path: str = "") -> GaugeMeter:
    """Return the meter of the first chassis that reports its power, or of a resource below ``/redfish/v1``.

    Raises
    ------
    MeterUnavailable : none does, or the controller cannot be read.
    """
    resources = (path,) if path.strip("/").startswith("redfish/v1/") else _list_power_resources(reader)
    refusal = "it has no chassis"
    for resource in resources:
        try:
            check_power_w(_read_power_w(reader, resource))
        except MeterUnavailable as unavailable:
            refusal = str(unavailable)
            continue
        return GaugeMeter(
            read_power_w=lambda found=resource: _read_power_w(reader, found),  # type: ignore[misc]
            description=f"Redfish {reader.base_url}{resource}: the whole host",
            renew_s=RENEW_S,
        )
    raise MeterUnavailable(f"{reader.base_url} reports no power by Redfish: {refusal}")


def _list_power_resources(reader: HttpReader) -> Iterator[str]:
    """Yield the resources that may hold the power of each chassis, the newer schema first."""
    chassis = _read_document(reader, f"{ROOT}/Chassis").get("Members")
    for member in chassis if isinstance(chassis, list) else ():
        address = _find_link(member)
        if address is None:
            continue
        try:
            document = _read_document(reader, address)
        except MeterUnavailable:  # a part that may not be read hides no other; it is refused with its reason
            yield address
            continue
        for name in ("EnvironmentMetrics", "Power"):
            if (resource := _find_link(document.get(name))) is not None:
                yield resource


def _find_link(value: object) -> str | None:
    link = value.get("@odata.id") if isinstance(value, Mapping) else None
    return link if isinstance(link, str) and link.startswith("/") else None


def _read_power_w(reader: HttpReader, resource: str) -> float:
    document = _read_document(reader, resource)
    reading = document.get("PowerWatts")
    controls = document.get("PowerControl")
    found: list[object] = [reading.get("Reading")] if isinstance(reading, Mapping) else []
    if isinstance(controls, list):
        found += [entry.get("PowerConsumedWatts") for entry in controls if isinstance(entry, Mapping)]
    watts = [float(value) for value in found if isinstance(value, int | float) and not isinstance(value, bool)]
    if not watts:
        raise MeterUnavailable(f"{reader.base_url}{resource} reports no power")
    return max(watts)


def _read_document(reader: HttpReader, path: str) -> Mapping[str, Any]:
    try:
        document = json.loads(reader.get(path), parse_int=float)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise MeterUnavailable(f"{reader.base_url}{path} is no Redfish document")
    return document
