"""Options that several commands share, and how their text becomes values."""

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tradewind.errors import InvalidValue
from tradewind.path import BOUNDS, Path
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, Sla
from tradewind.units import KIB, parse_bps, parse_bytes, parse_seconds
from tradewind_agent.cli.option_groups import GroupOf
from tradewind_agent.sla_text import parse_sla

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
Network = Annotated[str | None, typer.Option(help="Label of the network, such as the name of a VPN or provider.")]
Bandwidth = Annotated[str | None, typer.Option(metavar="RATE", help="Rate of the path, such as 10Gbps.")]
Load = Annotated[float | None, typer.Option(min=0, max=1, help="Share of the path that others use.")]
Rtt = Annotated[str | None, typer.Option(metavar="TIME", help="Round-trip time of the path, such as 60ms.")]
Proxy = Annotated[
    str | None, typer.Option(metavar="NAME", help="HAR only: your own cache, as X-Cache headers name it.")
]
PowerProfileText = Annotated[
    str | None,
    typer.Option(
        "--power-profile",
        metavar="IDLE,FULL",
        help="Power of this host idle and at full load, such as 35W,90W, for the model where nothing can be metered.",
    ),
]
PowerMeter = Annotated[
    str | None,
    typer.Option(
        "--power-meter",
        metavar="METER",
        help="Meter of this host: ipmi, redfish:https://bmc, scaphandre:URL or kepler:URL; TRADEWIND_POWER_METER too.",
    ),
]
BasePower = Annotated[
    str, typer.Option(metavar="TIME", help="Measure the idle power first for so long; 0s for not at all.")
]

if TYPE_CHECKING:
    from tradewind_agent.meters import CalibratedMeter
    from tradewind_agent.meters.external.source import MeterSource
    from tradewind_agent.session.metering import HostMeter

_Value = TypeVar("_Value")


def read(option: str, parse: Callable[[str], _Value], text: str) -> _Value:
    """Parse ``text``; an error names the option and ends the command with exit code 2."""
    try:
        return parse(text)
    except InvalidValue as wrong:
        raise typer.BadParameter(wrong.reason, param_hint=option) from None


def read_if(option: str, parse: Callable[[str], _Value], text: str | None) -> _Value | None:
    return None if text is None else read(option, parse, text)


def parse_sla_options(
    *,
    sla: Annotated[
        str,
        typer.Option(
            metavar="KIND[=VALUE]",
            help="What to reach: max_throughput, min_energy, energy_efficiency, throughput_at_least=500Mbps or =90%, "
            "energy_at_most=4kJ, power_at_most=15W, deadline=2h.",
        ),
    ] = "max_throughput",
    confidence: Annotated[
        float, typer.Option(help="Required probability; rounded up to 0.5, 0.8, 0.9, 0.95 or 0.99.")
    ] = DEFAULT_CONFIDENCE,
    energy_basis: Annotated[
        EnergyBasis | None,
        typer.Option(help="Energy that the SLA is about; by default that of the endpoints' power policy."),
    ] = None,
) -> Sla:
    """Return the SLA of ``--sla``, ``--confidence`` and ``--energy-basis``."""
    try:
        return parse_sla(sla, confidence=confidence, energy_basis=energy_basis)
    except InvalidValue as wrong:
        hint = "--confidence" if wrong.field == "sla.confidence" else "--sla"
        raise typer.BadParameter(wrong.reason, param_hint=hint) from None


SlaOption = Annotated[Sla, GroupOf(parse_sla_options)]


def parse_path_options(*, bandwidth: Bandwidth = None, rtt: Rtt = None) -> Path:
    """Return what the user knows of the path."""
    return Path(bandwidth_bps=parse_bandwidth_bps(bandwidth), rtt_s=parse_rtt_s(rtt))


KnownPath = Annotated[Path, GroupOf(parse_path_options)]


def parse_bandwidth_bps(text: str | None, option: str = "--bandwidth") -> float | None:
    return _check_path_value(option, "bandwidth_bps", read_if(option, parse_bps, text))


def parse_rtt_s(text: str | None) -> float | None:
    return _check_path_value("--rtt", "rtt_s", read_if("--rtt", parse_seconds, text))


def _check_path_value(option: str, quantity: str, value: float | None) -> float | None:
    """Return ``value`` if a path can have it, else refuse it."""
    lowest, highest = BOUNDS[quantity]
    if _require_positive(option, value) is not None and not lowest <= (value or 0.0) <= highest:
        raise typer.BadParameter(f"must be within {lowest:g} and {highest:g}, got {value:g}", param_hint=option)
    return value


def parse_size(option: str, text: str) -> int:
    return read(option, parse_bytes, text)


def parse_size_if(option: str, text: str | None) -> int | None:
    return read_if(option, parse_bytes, text)


def parse_positive_size_if(option: str, text: str | None) -> int | None:
    """Parse a size above 0, bytes, where one is given."""
    value = read_if(option, parse_bytes, text)
    _require_positive(option, value)
    return value


def parse_io_block_bytes_if(text: str | None) -> int | None:
    """Parse the I/O block that is set by hand, bytes, where one is."""
    value = parse_positive_size_if("--io-block", text)
    if value is not None and value < KIB:
        raise typer.BadParameter("must be 1 KiB or more", param_hint="--io-block")
    return value


def parse_part_bytes_if(text: str | None) -> int | None:
    """Parse the size of parts that is set by hand, bytes, where one is; stores refuse smaller ones."""
    from tradewind.flags import LARGEST_PART_BYTES, LEAST_PART_BYTES

    value = parse_positive_size_if("--part-size", text)
    if value is not None and not LEAST_PART_BYTES <= value <= LARGEST_PART_BYTES:
        raise typer.BadParameter("must be 5 MiB or more, and 5 GiB at most", param_hint="--part-size")
    return value


def parse_duration_s(option: str, text: str) -> float:
    """Parse a duration above 0, s."""
    value = _require_positive(option, read(option, parse_seconds, text))
    assert value is not None
    return value


def _require_positive(option: str, value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise typer.BadParameter("must be above 0", param_hint=option)
    return value


def build_host_meter(
    *,
    power_meter: PowerMeter = None,
    power_profile: PowerProfileText = None,
    base_power: BasePower = "1s",
) -> "HostMeter":
    """Build the meter of this host."""
    from tradewind_agent.session.metering import HostMeter, parse_power_profile

    profile = read_if("--power-profile", parse_power_profile, power_profile)
    return HostMeter.of_this_host(
        profile,
        calibrated=find_calibrated_meter(),
        base_power_s=read("--base-power", parse_seconds, base_power),
        source=find_meter_source(power_meter),
    )


def find_meter_source(text: str | None = None) -> "MeterSource | None":
    """Return the meter that the user names, by an option or in the environment; ``None`` for none."""
    named = text or os.environ.get("TRADEWIND_POWER_METER")
    if not named:
        return None
    from tradewind_agent.meters.external.source import parse_meter_source

    return read("--power-meter" if text else "TRADEWIND_POWER_METER", parse_meter_source, named)


def find_calibrated_meter() -> "CalibratedMeter | None":
    """Return the model that `meter --calibrate` has stored, if any."""
    from tradewind_agent.folders import build_state_folder
    from tradewind_agent.meters.stored_models import load_calibrated_meter

    return load_calibrated_meter(build_state_folder(os.environ))


Meter = Annotated["HostMeter", GroupOf(build_host_meter)]


def choose_host_meter(
    *,
    power_meter: PowerMeter = None,
    power_profile: PowerProfileText = None,
    base_power: BasePower = "1s",
) -> "Callable[[], HostMeter]":
    """Return a function that builds the meter of this host: loading it takes longer than a server takes to answer."""
    find_meter_source(power_meter)  # what is wrong is reported before anything else is done
    if power_profile is not None:
        meter = build_host_meter(power_meter=power_meter, power_profile=power_profile, base_power=base_power)
        return lambda: meter
    read("--base-power", parse_seconds, base_power)
    return partial(build_host_meter, power_meter=power_meter, base_power=base_power)


LaterMeter = Annotated["Callable[[], HostMeter]", GroupOf(choose_host_meter)]
