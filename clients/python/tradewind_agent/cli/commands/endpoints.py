"""``tradewind endpoints``: list end systems with their power policy and region, or set them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind.sla.power_policy import PowerPolicy
from tradewind_agent.cli import environment, options
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind.wire.inventory import Endpoint


class ChosenPolicy(StrEnum):
    """A power policy, or none."""

    ALWAYS_ON = PowerPolicy.ALWAYS_ON
    ON_FOR_TRANSFERS = PowerPolicy.ON_FOR_TRANSFERS
    BATTERY = PowerPolicy.BATTERY
    UNKNOWN = "unknown"


HEADS = ("Endpoint", "Other names", "Power policy", "Energy that counts", "Region")
NONE = "–"


def register(app: typer.Typer) -> None:
    endpoints = typer.Typer(help="Endpoints: list them, or set their power policy and region.", no_args_is_help=True)
    endpoints.command("list")(list_endpoints)
    endpoints.command("set")(set_endpoint)
    app.add_typer(endpoints, name="endpoints")


def list_endpoints(*, as_json: options.Json = False) -> None:
    """List all endpoints with their power policy, the energy that counts at each by default, and their region."""
    terminal = Terminal(as_json)
    with environment.open_client() as client:
        found = client.inventory.endpoints()
    _print(terminal, found)


def set_endpoint(
    name: Annotated[str, typer.Argument(help="Name of the endpoint, or one of its other names.")],
    *,
    power_policy: Annotated[
        ChosenPolicy | None,
        typer.Option(help="Whether its host stays on anyway, is on for transfers, or runs on its battery; or unknown."),
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(help="Electricity region of its host, see `tradewind regions`; an empty one takes it out."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Set the power policy or the electricity region of an endpoint; the key needs the scope provider.

    The policy decides which energy SLAs, tiers and new price books count by default: the dynamic energy of hosts that
    stay on anyway, and the total of all others.
    """
    from tradewind.wire.inventory import EndpointChange

    if power_policy is None and region is None:
        raise typer.BadParameter("name --power-policy, --region or both", param_hint="set")
    terminal = Terminal(as_json)
    with environment.open_client() as client:
        found = next((each for each in client.inventory.endpoints() if name in (each.name, *each.aliases)), None)
        if found is None:
            wrong = f"{name!r} is no endpoint of yours; `tradewind endpoints list` shows them"
            raise typer.BadParameter(wrong, param_hint="NAME")
        given: dict[str, object] = {} if region is None else {"region": region}
        if power_policy is not None:
            given["power_policy"] = None if power_policy is ChosenPolicy.UNKNOWN else PowerPolicy(power_policy)
        changed = client.inventory.change_endpoint(found.id, EndpointChange.model_validate(given))
    _print(terminal, (changed,))


def _print(terminal: Terminal, endpoints: "Sequence[Endpoint]") -> None:
    rows = [
        (
            each.name,
            ", ".join(each.aliases) or NONE,
            NONE if each.power_policy is None else each.power_policy.replace("_", " "),
            "that of the other end, or total" if each.power_policy is None else each.power_policy.energy_basis,
            each.region or NONE,
        )
        for each in endpoints
    ]
    terminal.print_table(HEADS, rows, {"endpoints": [each.model_dump(mode="json") for each in endpoints]})
