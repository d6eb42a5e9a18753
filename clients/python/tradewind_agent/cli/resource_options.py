"""The ``--limit-*`` options: what a transfer may use of this host, whoever moves the bytes."""

from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import options
from tradewind_agent.cli.option_groups import GroupOf

if TYPE_CHECKING:
    from tradewind_agent.resources.limits import Limits


def build_resource_limits(
    *,
    limit_cores: Annotated[float | None, typer.Option(help="Processor cores used at most, such as 2 or 0.5.")] = None,
    limit_frequency: Annotated[
        str | None, typer.Option(metavar="HZ", help="Processor frequency at most, such as 2.4GHz.")
    ] = None,
    limit_memory: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory taken at most.")] = None,
    limit_disk: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of the disk at most.")] = None,
    limit_rate: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of the network at most.")] = None,
) -> "Limits":
    """Return the limits on what the transfer may use of this host."""
    from tradewind.units import parse_bps, parse_hertz
    from tradewind_agent.resources.limits import Limits

    return Limits(
        cores=limit_cores,
        frequency_hz=options.read_if("--limit-frequency", parse_hertz, limit_frequency),
        memory_bytes=options.parse_positive_size_if("--limit-memory", limit_memory),
        disk_bps=options.read_if("--limit-disk", parse_bps, limit_disk),
        nic_bps=options.read_if("--limit-rate", parse_bps, limit_rate),
    )


Resources = Annotated["Limits", GroupOf(build_resource_limits)]
ApplyResources = Annotated[
    bool | None,
    typer.Option(
        "--apply-resources/--no-apply-resources",
        help="Limit this host's resources as recommended, or only as set by hand; by default the cores alone.",
        show_default=False,
    ),
]
ExploreResources = Annotated[
    bool,
    typer.Option(
        "--explore-resources",
        help="Move up to a tenth of the bytes on fewer cores, so that models learn their effect; with "
        "--apply-resources at lower frequencies too.",
    ),
]
LimitBothEnds = Annotated[
    bool,
    typer.Option(
        "--limit-both-ends",
        help="Request the same cores and frequency of a serve-files at the other end, where its --accept-limits does.",
    ),
]
