"""The radio of a transfer, by what the service knows of one's own devices, else by what comes with the package."""

from typing import TYPE_CHECKING

from tradewind.errors import NotFound
from tradewind.mobile.catalogue import shipped_catalogue
from tradewind.mobile.profiles import RadioProfile
from tradewind_agent.errors import ServiceUnreachable

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client


def radio_profile(radio: str, device: str | None, client: "Client | None") -> RadioProfile:
    """The radio as the device has it, or of the package where no device is named.

    Raises
    ------
    NotFound : no such radio or device; devices of one's own are known to the service alone.
    """
    if device is None:
        return shipped_catalogue().radio(radio)
    unasked = "no service is configured"
    if client is not None:
        try:
            told = client.mobile.device(device)
        except ServiceUnreachable as away:
            unasked = str(away)
        else:
            profiles = [each.to_profile() for each in told.radios if each.name == radio]
            if not profiles:
                raise NotFound(f"{device} has no radio {radio!r}; `tradewind devices` lists them")
            return profiles[0]
    try:
        return shipped_catalogue().device(device).radio(radio)
    except NotFound as unknown:
        raise NotFound(f"{unknown}; devices of your own are known to the service alone, and {unasked}") from None
