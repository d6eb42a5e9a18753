"""The radio of a transfer: from the service, which knows the user's own devices, or from the shipped catalogue."""

from typing import TYPE_CHECKING

from tradewind.errors import NotFound
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.profiles import RadioProfile
from tradewind_agent.errors import ServiceUnreachable

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client


def find_radio_profile(radio: str, device: str | None, client: "Client | None") -> RadioProfile:
    """Return the radio of ``device``, or that of the shipped catalogue if no device is named.

    Raises
    ------
    NotFound : there is no such radio or device; only the service knows the user's own devices.
    """
    if device is None:
        return load_shipped_catalogue().find_radio(radio)
    why_absent = "no service is configured"
    if client is not None:
        try:
            profile = client.mobile.device(device)
        except ServiceUnreachable as unreachable:
            why_absent = str(unreachable)
        else:
            profiles = [wire_radio.to_profile() for wire_radio in profile.radios if wire_radio.name == radio]
            if not profiles:
                raise NotFound(f"{device} has no radio {radio!r}; `tradewind devices` lists them")
            return profiles[0]
    try:
        return load_shipped_catalogue().find_device(device).find_radio(radio)
    except NotFound as unknown:
        raise NotFound(f"{unknown}; only the service knows your own devices, and {why_absent}") from None
