"""``tradewind devices``: the devices and radios that may be named, and what their figures rest on."""

from typing import TYPE_CHECKING

import typer

from tradewind_agent.cli import environment, options
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind.wire.devices import DeviceCatalogue

DEVICE_HEADS = ("Device", "Model", "Radios", "From")
RADIO_HEADS = ("Radio", "Title", "Tail", "Energy of a tail")


def register(app: typer.Typer) -> None:
    app.command()(devices)


def devices(*, as_json: options.Json = False) -> None:
    """List the devices and radios that `--device` and `--radio` may name.

    Those of the service, one's own first; where none answers, those that come with the agent.
    """
    from tradewind.units import format_joules, format_seconds

    terminal = Terminal(as_json)
    known = _find_catalogue(terminal)
    rows = [
        (
            each.name,
            f"{each.producer} {each.model}",
            ", ".join(radio.name for radio in each.radios),
            "your own" if each.own else "shipped",
        )
        for each in known.devices
    ]
    terminal.print_table(DEVICE_HEADS, rows, known.model_dump(mode="json"))
    if not as_json:
        print()
        radios = [each.to_profile() for each in known.radios]
        rows = [
            (
                each.name,
                each.title,
                format_seconds(each.tail_s.value),
                format_joules(each.compute_tail_energy_j(float("inf"))),
            )
            for each in radios
        ]
        terminal.print_table(RADIO_HEADS, rows, {})


def _find_catalogue(terminal: Terminal) -> "DeviceCatalogue":
    from tradewind.mobile.catalogue import load_shipped_catalogue
    from tradewind.wire.devices import DeviceCatalogue, WireDeviceProfile, WireRadioProfile
    from tradewind_agent.errors import ServiceUnreachable

    client = environment.open_client_if_configured()
    if client is not None:
        with client:
            try:
                return client.mobile.devices()
            except ServiceUnreachable as away:
                terminal.note(f"{away}; these come with the agent")
    shipped = load_shipped_catalogue()
    return DeviceCatalogue(
        devices=tuple(
            WireDeviceProfile.from_domain(each, own=False, uploaded_at=None) for each in shipped.devices.values()
        ),
        radios=tuple(map(WireRadioProfile.from_domain, shipped.radios.values())),
    )
