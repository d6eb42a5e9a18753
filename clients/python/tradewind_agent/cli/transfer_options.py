"""The options of any transfer, by the engine or by another tool: SLA, ends, path, limits."""

from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import options
from tradewind_agent.cli.option_groups import GroupOf
from tradewind_agent.cli.resource_options import ApplyResources, Resources

if TYPE_CHECKING:
    from tradewind_agent.copy.options import CopyOptions


def build_transfer_options(
    *,
    sla: options.SlaOption,
    max_concurrency: Annotated[int | None, typer.Option(min=1, max=32767, help="Recommend no more than this.")] = None,
    source: Annotated[str | None, typer.Option(help="Endpoint name of the sender; by default its host.")] = None,
    destination: Annotated[str | None, typer.Option(help="Endpoint name of the receiver; by default its host.")] = None,
    network: options.Network = None,
    path: options.KnownPath,
    load: options.Load = None,
    resources: Resources,
    apply_resources: ApplyResources = None,
    tick: Annotated[str | None, typer.Option(hidden=True, metavar="TIME", help="Time between two samples.")] = None,
) -> "CopyOptions":
    """Return the options of a transfer; a command adds its own."""
    from tradewind.parameters import Caps
    from tradewind_agent.copy.options import CopyOptions

    return CopyOptions(
        sla=sla,
        source=source,
        destination=destination,
        network=network,
        bandwidth_bps=path.bandwidth_bps,
        rtt_s=path.rtt_s,
        load=load,
        limits=Caps(concurrency=max_concurrency),
        resources=resources,
        apply_resources=apply_resources,
        tick_s=None if tick is None else options.parse_duration_s("--tick", tick),
    )


TransferOptions = Annotated["CopyOptions", GroupOf(build_transfer_options)]
