"""``tradewind copy --batch FILE``: copies that wait for one another so that they share a radio's tail."""

import signal
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import options, surroundings
from tradewind_agent.cli.copy_by import Around

if TYPE_CHECKING:
    from tradewind_agent.copy_options import CopyOptions
    from tradewind_agent.copy_report import CopyReport
    from tradewind_agent.queued.advice import Advice, RadioChoice
    from tradewind_agent.queued.queue_file import CopyRequest


@dataclass(frozen=True, slots=True)
class Queue:
    """``file`` : of jobs, one a line. The rest is about the radio that they share."""

    file: Path
    choice: "RadioChoice"


def queue_of(
    *,
    batch: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Copy the jobs of a file, a JSON object a line, when that saves radio tails."
        ),
    ] = None,
    radio: Annotated[str | None, typer.Option(help="Of --batch: the radio, such as wifi, lte or 5g.")] = None,
    device: Annotated[str | None, typer.Option(help="Of --batch: whose radio it is, where that matters.")] = None,
    waiting_price: Annotated[
        str, typer.Option(metavar="POWER", help="Of --batch: joules that a second of delay is worth, such as 0.1W.")
    ] = "0W",
    radio_rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Of --batch: what the radio carries in all.")
    ] = None,
) -> Queue | None:
    """The queue that ``--batch`` names; ``None`` where one copy is asked for."""
    from tradewind.units import parse_bps, parse_watts

    price_w = options.read("--waiting-price", parse_watts, waiting_price)
    if batch is None:
        given = {"--radio": radio, "--device": device, "--radio-rate": radio_rate, "--waiting-price": price_w or None}
        if alone := next((name for name, value in given.items() if value is not None), None):
            raise typer.BadParameter("goes with --batch", param_hint=alone)
        return None
    if radio is None:
        raise typer.BadParameter("is needed: the tail depends on it; wifi, lte or 5g", param_hint="--radio")
    capacity_bps = options.read_if("--radio-rate", parse_bps, radio_rate)
    if capacity_bps is not None and not capacity_bps > 0:
        raise typer.BadParameter("must be above 0", param_hint="--radio-rate")
    from tradewind_agent.queued.advice import RadioChoice

    return Queue(batch, RadioChoice(radio=radio, device=device, waiting_price_w=price_w, capacity_bps=capacity_bps))


def copy_queue(queue: Queue, wanted: "CopyOptions", around: Around, *, dry_run: bool) -> int:
    """Plan the queue, wait and copy; the exit code."""
    from tradewind.transfer import Status
    from tradewind_agent.queued.advice import advised, sized
    from tradewind_agent.queued.queue_file import read_queue
    from tradewind_agent.queued.sending import send_queue

    requests = {each.name: each for each in read_queue(queue.file, datetime.now(UTC))}
    began_s = time.monotonic()
    advice = advised(sized(list(requests.values()), wanted, around.client), queue.choice, around.client)
    terminal = around.terminal
    if dry_run:
        _tell(around, advice)
        return 0
    terminal.note(advice.rationale)
    report = send_queue(
        advice,
        lambda name: _copied(requests[name], wanted, around),
        clock_s=lambda: time.monotonic() - began_s,
        pause=time.sleep,
        say=lambda line: None if terminal.quiet else terminal.note(line),
    )
    terminal.result("\n".join(report.lines()), report.document())
    cancelled = any(each.report is not None and each.report.status is Status.CANCELLED for each in report.sent)
    return 128 + signal.SIGINT if cancelled else 0 if report.succeeded else 1


def _copied(request: "CopyRequest", wanted: "CopyOptions", around: Around) -> "CopyReport":
    from tradewind_agent.copying import copy_files
    from tradewind_agent.logbook import Logbook

    return copy_files(
        request.sources,
        request.destination,
        options=wanted,
        client=around.client,
        logbook=Logbook(spool=surroundings.open_spool(around.terminal), client=around.client),
        meter=around.meter,
        manifest=request.manifest,
    )


def _tell(around: Around, advice: "Advice") -> None:
    from tradewind_agent.queued.sending import plan_figures

    lines = [advice.rationale]
    for burst in advice.plan.bursts:
        names = ", ".join(each.job.name for each in burst.placed)
        lines.append(f"after {burst.starts_s:.0f} s, until {burst.ends_s:.0f} s, {burst.mode}: {names}")
    lines += [f"{name} cannot be in time" for name in advice.plan.missed]
    document = {"dry_run": True, "rationale": advice.rationale, "planned": plan_figures(advice.plan)}
    around.terminal.result("\n".join(lines), document)
