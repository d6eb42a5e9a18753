"""``tradewind meter``: power and utilisation of this host, live."""

from typing import TYPE_CHECKING, Annotated

import typer

from tradewind.energy.measured import Host
from tradewind.transfer import ResourceUsage
from tradewind.units import format_joules
from tradewind_agent.cli import options
from tradewind_agent.cli.commands.meter_calibrate import CalibrationOptions, build_calibration_options, calibrate_host
from tradewind_agent.cli.meter_trace import TraceOptions, build_trace_options, split_trace
from tradewind_agent.cli.option_groups import GroupOf, expand_groups
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind_agent.meters import LiveSample, MeterResult, MeterSession
    from tradewind_agent.session.metering import HostMeter


DURATION, INTERVAL = "10s", "1s"


def register(app: typer.Typer) -> None:
    app.command()(meter)


@expand_groups
def meter(
    *,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long to meter.", show_default=DURATION)
    ] = None,
    interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="Time between two lines.", show_default=INTERVAL)
    ] = None,
    calibration: Annotated["CalibrationOptions | None", GroupOf(build_calibration_options)],
    trace: Annotated["TraceOptions | None", GroupOf(build_trace_options)],
    host: options.Meter,
    as_json: options.Json = False,
) -> None:
    """Show power and utilisation of this host, every value with its method and quality."""
    import asyncio

    terminal = Terminal(as_json)
    if calibration is not None or trace is not None:
        given = {"--duration": duration, "--interval": interval}
        if alone := next((name for name, text in given.items() if text is not None), None):
            raise typer.BadParameter("cannot be combined with --calibrate, --upload or --trace", param_hint=alone)
    if calibration is not None:
        calibrate_host(terminal, host, calibration, trace)
        return
    if trace is not None:
        split_trace(terminal, trace)
        return
    host = host.count_all_processes()
    duration_s = options.parse_duration_s("--duration", duration or DURATION)
    interval_s = options.parse_duration_s("--interval", interval or INTERVAL)
    result = asyncio.run(_measure_host(terminal, host, duration_s, interval_s))
    document = {
        "method": str(host.choice.meter.method),
        "quality": str(host.choice.meter.quality if result.energy is None else result.energy.quality),
        "description": host.choice.meter.description,
        "refusals": [{"method": str(method), "reason": reason} for method, reason in host.choice.refusals],
        "duration_s": result.work.duration_s,
        "total_j": result.energy.total_j if result.energy else None,
        "mean_w": result.energy.total_j / result.work.duration_s if result.energy else None,
        "base_w": result.energy.base_w if result.energy else None,
        "usage": _select_known(result.usage),
        "failure": result.failure,
        "notes": list(result.notes),
    }
    for note in result.notes:
        terminal.note(note)
    terminal.print_result(_format_summary(result), document)
    if result.energy is None:
        raise typer.Exit(1)


async def _measure_host(terminal: Terminal, host: "HostMeter", duration_s: float, interval_s: float) -> "MeterResult":
    import asyncio

    terminal.note(host.choice.explanation)  # only now, since a reader may press Ctrl-C, which works from here on
    session = await host.build_session(Host.SOURCE)
    await session.start()
    shown = asyncio.create_task(_show(terminal, session, interval_s))
    try:
        ended, _ = await asyncio.wait({shown}, timeout=duration_s)
        for early in ended:
            early.result()
    finally:
        shown.cancel()
        result = await session.stop()
    return result


async def _show(terminal: Terminal, session: "MeterSession", interval_s: float) -> None:
    import asyncio

    while True:
        await asyncio.sleep(interval_s)
        if not terminal.json and (sample := session.find_latest()) is not None:
            print(_format_line(sample), flush=True)


def _format_line(sample: "LiveSample") -> str:
    power = "power unknown" if sample.power_w is None else f"{sample.power_w:.2f} W"
    return f"{power} ({sample.method}, {sample.quality})  {_format_usage(sample.usage)}"


def _format_usage(usage: ResourceUsage) -> str:
    return "  ".join(f"{name} {100 * share:.0f} %" for name, share in _select_known(usage).items())


def _select_known(usage: ResourceUsage) -> dict[str, float]:
    shares = {"cpu": usage.cpu, "memory": usage.memory, "disk": usage.disk, "nic": usage.nic}
    return {name: share for name, share in shares.items() if share is not None}


def _format_summary(result: "MeterResult") -> str:
    if result.energy is None:
        return f"not measured: {result.failure}"
    mean_w = result.energy.total_j / result.work.duration_s
    idle = "idle power not known" if result.energy.base_w is None else f"{result.energy.base_w:.2f} W when idle"
    spent = f"{format_joules(result.energy.total_j)} in {result.work.duration_s:.1f} s"
    return f"{spent}, {mean_w:.2f} W on average, {idle}"
