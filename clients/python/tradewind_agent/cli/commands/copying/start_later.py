"""``tradewind copy --when``: plan the start, show it, and wait for it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from tradewind_agent.cli.terminal import Terminal
    from tradewind_agent.copy.listing import Listing
    from tradewind_agent.copy.options import CopyOptions
    from tradewind_agent.copy.reporting.report import CopyReport
    from tradewind_agent.copy.run import PreparedCopy
    from tradewind_agent.grid.start_planner import PlannedStart, StartRequest
    from tradewind_agent.service.client import Client


@dataclass(frozen=True, slots=True)
class CopyStart:
    """The start of a copy: ``request`` as the user wants it, ``planned`` once it has come."""

    request: "StartRequest | None" = None
    planned: "PlannedStart | None" = None

    def add_report(self, report: "CopyReport", client: "Client | None") -> "CopyReport":
        """Return the report with the electricity of the copy, where an end's region is known or ``--when`` is given."""
        knows_region = report.plan.answer is not None and report.plan.answer.regions is not None
        if self.request is None and not (knows_region and report.energy):
            return report
        from tradewind_agent.grid.report import build_grid_report

        ended_at, basis = datetime.now(UTC), report.sla.energy_basis
        grid = build_grid_report(report, client, basis=basis, ended_at=ended_at, start=self.planned)
        return replace(report, grid=grid)


def check_start_of(request: "StartRequest | None", mover: str, own_mover: str, *, is_alone: bool) -> None:
    """Refuse ``--when`` where nobody plans a start."""
    if request is not None and (mover != own_mover or not is_alone):
        reason = f"is about single copies by {own_mover} from or to a server"
        raise typer.BadParameter(reason, param_hint="--when")


def plan_start(
    request: "StartRequest",
    list_files: "Callable[[], Listing]",
    settings: "CopyOptions",
    client: "Client | None",
    terminal: "Terminal",
    *,
    dry_run: bool,
) -> "tuple[CopyStart, CopyOptions]":
    """Plan the start and wait for it; return it with the options of the copy then.

    The files are listed for the plan and, by the copy itself, again when it starts: they may have changed.

    Raises
    ------
    InvalidValue, AgentError : the start cannot be planned.
    """
    if not request.waits:
        return CopyStart(request), settings
    from tradewind_agent.copy.run import prepare_listed
    from tradewind_agent.errors import NotConfigured
    from tradewind_agent.grid.start_planner import StartPlanner
    from tradewind_agent.grid.waiting import wait_for_start

    if client is None:
        needs = f"--when {request.when} needs a service that knows regions"
        raise NotConfigured(f"{needs}; run `tradewind login URL --key KEY`")

    def prepare(listing: "Listing", options: "CopyOptions", client: "Client") -> "PreparedCopy":
        return prepare_listed(listing, options=options, client=client)

    planner = StartPlanner(listing=list_files(), options=settings, client=client, request=request, prepare=prepare)
    planned = planner.plan(datetime.now(UTC))
    if not dry_run:
        say: Callable[[str], None] = terminal.note if not terminal.quiet else lambda _: None
        say(planned.format_line())
        planned = wait_for_start(planner.plan, planned, now=lambda: datetime.now(UTC), pause=time.sleep, say=say)
    return CopyStart(request, planned), replace(settings, sla=planned.choose_sla(datetime.now(UTC)))
