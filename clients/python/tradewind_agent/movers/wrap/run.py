"""Run a prepared tool, tune it meanwhile where it can change, and log the result."""

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path as Folder

from tradewind.energy.measured import Host
from tradewind.parameters import Parameters
from tradewind.transfer import Direction, Mover, Status, TransferRecord
from tradewind_agent.movers.flag_words import override
from tradewind_agent.movers.port import ToolResult, ToolRun
from tradewind_agent.movers.step_down import StepDown
from tradewind_agent.movers.wrap.prepare import PreparedWrap
from tradewind_agent.movers.wrap.records import find_failure, find_status, make_records, restrict_to_known
from tradewind_agent.movers.wrap.report import WrapReport
from tradewind_agent.movers.wrap.run_tool import ToolOutcome, run_tool
from tradewind_agent.movers.wrap.tool_loop import make_loop
from tradewind_agent.movers.wrap.tool_resources import ToolResources
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.service.client import Client
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.metering import HostMeter, describe_meter_failure
from tradewind_agent.session.other_end import collect_energy
from tradewind_agent.session.planning import Plan, replace_settings
from tradewind_agent.session.records import TransferIdentity
from tradewind_agent.session.transfer_session import TransferSession
from tradewind_agent.sla_text import format_sla
from tradewind_agent.tuning.ticks import Tick, build_main_settings


def run_wrap(
    prepared: PreparedWrap,
    *,
    client: Client | None = None,
    logbook: Logbook | None = None,
    meter: HostMeter | None = None,
    say: Callable[[str], None] = lambda _: None,
    on_tick: Callable[[ToolRun], object] | None = None,
    output_to: int | None = None,
    limiter: ResourceLimiter | None = None,
) -> WrapReport:
    """Run the tool, tune it meanwhile where it can change, and log the result.

    Parameters
    ----------
    client : of the service that tunes it; without one this host does.
    say : called with one line when the settings change.
    on_tick, output_to : see ``run_tool``.

    Raises
    ------
    ToolUnusable : it cannot be started.
    CopyFailed : no share of the path came free in time.
    """
    identity, restarting = _make_identity(prepared), prepared.build_restarting(say)
    session = TransferSession(identity=identity, client=client, logbook=logbook, status=Status.FAILED)
    with ExitStack() as stack:
        stack.enter_context(session)
        scratch = Folder(stack.enter_context(tempfile.TemporaryDirectory(prefix="tradewind-")))
        loop = make_loop(prepared.build_tuned_work(say), session, say=say)
        session.hold_share(loop)

        def make() -> ToolRun:
            granted = None if loop is None else loop.driven.setting
            for line in () if granted is None else prepared.describe_excess(granted):
                say(line)
            return prepared.task.run(prepared.build_run_settings(granted, restarting), scratch)

        resources = prepared.build_tool_resources(limiter or ResourceLimiter.of_this_host(os.environ), say)
        ran = run_tool(
            make,
            meter=meter,
            host=Host.SOURCE if identity.direction is Direction.UPLOAD else Host.DESTINATION,
            loop=loop,
            on_tick=on_tick,
            output_to=output_to,
            resources=resources,
            connections=loop.connections if loop is not None else None,
        )
        result = ran.run.build_result()
        session.status, session.failure = find_status(ran, result), find_failure(ran, result)
        for line in _list_outcome_notes(ran):
            say(f"{_make_mover(prepared).name}: {line}")
        timeline = loop.ticks if loop is not None else ()
        records = _make_records(prepared, session, ran, result, timeline=timeline, resources=resources)
        log = session.finish(records) if records else session.abandon()
    report = _make_report(prepared, ran, result, records=records, timeline=timeline, resources=resources, log=log)
    return report if restarting is None else replace(report, restarts=tuple(restarting.restarts))


def _make_records(
    prepared: PreparedWrap,
    session: TransferSession,
    ran: ToolOutcome,
    result: ToolResult | None,
    *,
    timeline: Sequence[Tick],
    resources: ToolResources,
) -> tuple[TransferRecord, ...]:
    """Return the records of a run, with the settings and limits that it ran under."""
    settings = _get_parameters_used(prepared.plan, timeline, ran.run.current_parameters)
    used = override(settings, resources.build_current_parameters(settings.concurrency or 1))
    return make_records(session, ran, result, workload=prepared.workload, parameters=used, path=prepared.path)


def _make_report(
    prepared: PreparedWrap,
    ran: ToolOutcome,
    result: ToolResult | None,
    *,
    records: tuple[TransferRecord, ...],
    timeline: tuple[Tick, ...],
    resources: ToolResources,
    log: str,
) -> WrapReport:
    return WrapReport(
        mover=_make_mover(prepared),
        plan=prepared.plan,
        current_parameters=ran.run.current_parameters,
        not_expressible=prepared.not_expressible,
        by_hand=prepared.task.by_hand,
        live=prepared.task.live,
        commands=ran.commands,
        exit_code=ran.code,
        status=find_status(ran, result),
        source=prepared.source,
        destination=prepared.destination,
        result=result,
        duration_s=ran.duration_s,
        energy=collect_energy(ran.metered),
        usage=ran.metered.usage if ran.metered else None,
        work=ran.metered.work if ran.metered else None,
        records=records,
        timeline=timeline,
        limits=resources.verdicts,
        log=log,
        notes=(*prepared.notes, *resources.leftovers, *_collect_notes(ran)),
    )


def _get_parameters_used(plan: Plan, timeline: Sequence[Tick], current_parameters: Parameters) -> Parameters:
    """Return the settings that moved most bytes, where the tool was tuned; else those that it was started with."""
    main = build_main_settings(timeline)
    return (
        restrict_to_known(replace_settings(plan, main).parameters, current_parameters) if main else current_parameters
    )


def _list_outcome_notes(ran: ToolOutcome) -> tuple[str, ...]:
    """Return what the user should know of a run: how it failed with many files at once, and what the tool hides."""
    step_down: StepDown | None = getattr(ran.run, "step_down", None)
    hidden: tuple[str, ...] = getattr(ran.run, "outcome_notes", ())
    return (*(() if step_down is None else step_down.notes), *hidden)


def _collect_notes(ran: ToolOutcome) -> tuple[str, ...]:
    return (*_list_outcome_notes(ran), *describe_meter_failure(ran.metered))


def _make_mover(prepared: PreparedWrap) -> Mover:
    return Mover(prepared.installed.mover.name, prepared.installed.version)


def _make_identity(prepared: PreparedWrap) -> TransferIdentity:
    return TransferIdentity(
        transfer_id=prepared.plan.transfer_id,
        source=prepared.source,
        destination=prepared.destination,
        mover=_make_mover(prepared),
        protocol=prepared.task.ends.protocol,
        direction=prepared.task.ends.direction,
        store=prepared.task.ends.store,
        network=prepared.options.copy.network,
        sla=format_sla(prepared.options.copy.sla) if prepared.installed.mover.is_tuned else None,
        quote=prepared.plan.quote,
    )
