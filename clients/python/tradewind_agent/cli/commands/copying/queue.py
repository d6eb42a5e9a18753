"""The radio of ``tradewind copy``: its tail is reported, and the copies of ``--batch FILE`` share it."""

import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import environment, options
from tradewind_agent.cli.commands.copying.by_tool import CopyContext
from tradewind_agent.cli.commands.copying.packed import PreparedPacking

if TYPE_CHECKING:
    from tradewind_agent.compression.planning import PackingMode
    from tradewind_agent.copy.options import CopyOptions
    from tradewind_agent.copy.reporting.report import CopyReport
    from tradewind_agent.queued.advice import Advice, RadioChoice
    from tradewind_agent.queued.queue_file import CopyRequest


@dataclass(frozen=True, slots=True)
class Queue:
    """``file`` : of jobs, one a line. ``choice`` : of the radio that they share."""

    file: Path
    choice: "RadioChoice"


@dataclass(frozen=True, slots=True)
class RadioOptions:
    """``queue`` : that ``--batch`` names, ``None`` where one copy is asked for. ``radio``, ``device`` : as named."""

    queue: Queue | None
    radio: str | None
    device: str | None

    def add_radio(self, context: CopyContext) -> CopyContext:
        """Return the context with a meter that knows the radio; for a queue, the plan accounts for shared tails."""
        if self.radio is None or self.queue is not None:
            return context
        from tradewind_agent.session.radio_profile import find_radio_profile

        radio = find_radio_profile(self.radio, self.device, context.client)
        return replace(context, meter=replace(context.meter, radio=radio))


def build_radio_options(
    *,
    batch: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Copy the jobs of a file, a JSON object a line, when that saves radio tails."
        ),
    ] = None,
    radio: Annotated[
        str | None, typer.Option(help="Radio of the copy, such as wifi, lte or 5g; its tail energy is reported.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Device of the radio, where profiles differ by device.")] = None,
    waiting_price: Annotated[
        str, typer.Option(metavar="POWER", help="With --batch: joules that a second of delay is worth, such as 0.1W.")
    ] = "0W",
    radio_rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="With --batch: rate that the radio carries in all.")
    ] = None,
) -> RadioOptions:
    """Return the queue that ``--batch`` names, or the radio of one copy."""
    from tradewind.units import parse_watts

    price_w = options.read("--waiting-price", parse_watts, waiting_price)
    if batch is None:
        given = {"--radio-rate": radio_rate, "--waiting-price": price_w or None}
        if alone := next((name for name, value in given.items() if value is not None), None):
            raise typer.BadParameter("goes with --batch", param_hint=alone)
        if radio is None and device is not None:
            raise typer.BadParameter("goes with --radio: a device may have several", param_hint="--device")
        return RadioOptions(None, radio, device)
    if radio is None:
        raise typer.BadParameter("is needed: the tail depends on it; wifi, lte or 5g", param_hint="--radio")
    capacity_bps = options.parse_bandwidth_bps(radio_rate, "--radio-rate")
    from tradewind_agent.queued.advice import RadioChoice

    choice = RadioChoice(radio=radio, device=device, waiting_price_w=price_w, capacity_bps=capacity_bps)
    return RadioOptions(Queue(batch, choice), radio, device)


def copy_queue(
    queue: Queue,
    settings: "CopyOptions",
    context: CopyContext,
    packing: "PackingMode | None" = None,
    *,
    dry_run: bool,
) -> int:
    """Plan the queue, wait, copy, and return the exit code."""
    from tradewind_agent.errors import CopyFailed
    from tradewind_agent.queued.advice import advise_queue, size_queue
    from tradewind_agent.queued.queue_file import read_queue
    from tradewind_agent.queued.sending import describe_unlisted, send_queue

    requests = {each.name: each for each in read_queue(queue.file, datetime.now(UTC))}
    read_s = read_boot_clock_s()
    queued = size_queue(list(requests.values()), settings, context.client)
    if not queued.jobs:
        raise CopyFailed("; ".join(describe_unlisted(queued.unlisted)))
    started_s = read_boot_clock_s()
    advice = advise_queue(
        [each.count_times_from(started_s - read_s) for each in queued.jobs], queue.choice, context.client
    )
    terminal = context.terminal
    if dry_run:
        _report(context, advice, queued.unlisted)
        return 1 if queued.unlisted else 0
    if not terminal.quiet:
        terminal.note(advice.rationale)
    concurrent_jobs = advice.concurrent_jobs
    report = send_queue(
        advice,
        lambda name: _copy_one(requests[name], settings, context, packing, metered=name not in concurrent_jobs),
        clock_s=lambda: read_boot_clock_s() - started_s,
        pause=time.sleep,
        say=lambda line: None if terminal.quiet else terminal.note(line),
    )
    report = replace(report, unlisted=queued.unlisted)
    terminal.print_result("\n".join(report.format_lines()), report.build_document())
    return 128 + signal.SIGINT if report.stopped else 0 if report.succeeded else 1


def read_boot_clock_s() -> float:
    """Return a clock that also counts suspended time, as deadlines do; Linux's monotonic clock does not, s."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def _copy_one(
    request: "CopyRequest",
    settings: "CopyOptions",
    context: CopyContext,
    packing: "PackingMode | None",
    *,
    metered: bool,
) -> "CopyReport":
    """Copy one job; not ``metered`` if others run at once: they share the host, and a meter serves one thread."""
    from tradewind_agent.copy.listing import list_files
    from tradewind_agent.copy.run import copy_files
    from tradewind_agent.session.logbook import Logbook

    settings = request.apply_to(settings)
    logbook = Logbook(spool=environment.open_spool(context.terminal), client=context.client)
    if packing is not None:
        listing = list_files(
            request.sources,
            request.destination,
            manifest=request.manifest,
            options=settings.engine,
            rules=settings.listing,
            ask_for_meter=metered,
        )
        packed = PreparedPacking(listing, packing, settings, context)
        return packed.run(logbook, on_snapshot=None, say=None, metered=metered)
    return copy_files(
        request.sources,
        request.destination,
        options=settings,
        client=context.client,
        logbook=logbook,
        meter=context.meter if metered else None,
        manifest=request.manifest,
    )


def _report(context: CopyContext, advice: "Advice", unlisted: Mapping[str, str]) -> None:
    from tradewind_agent.queued.sending import build_batch_plan_document, describe_unlisted

    lines = [advice.rationale, *describe_unlisted(unlisted)]
    for burst in advice.plan.bursts:
        names = ", ".join(each.job.name for each in burst.placed)
        lines.append(f"after {burst.starts_s:.0f} s, until {burst.ends_s:.0f} s, {burst.mode}: {names}")
    lines += [f"{name} will not be in time" for name in advice.plan.missed]
    planned = {"planned": build_batch_plan_document(advice.plan), "not_planned": dict(unlisted)}
    document = {"dry_run": True, "rationale": advice.rationale, **planned}
    context.terminal.print_result("\n".join(lines), document)
