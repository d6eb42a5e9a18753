"""Run someone else's tool with the best parameters known: recognise it, ask, set what the user has not, run, log."""

import os
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path as Folder
from uuid import uuid4

from tradewind.energy import Host
from tradewind.parameters import UNKNOWN_PARAMETERS, Parameters
from tradewind.path import Path
from tradewind.transfer import Direction, Mover, Status, TransferRecord
from tradewind_agent.agreement_text import write_agreement
from tradewind_agent.client import Client
from tradewind_agent.copy_options import CopyOptions
from tradewind_agent.copy_plan import PlannedCopy, plan_sizes
from tradewind_agent.copy_records import Identity
from tradewind_agent.copy_resources import asked_for
from tradewind_agent.copying import keep_records
from tradewind_agent.giving_back import give_back
from tradewind_agent.logbook import Logbook
from tradewind_agent.metering import HostMeter
from tradewind_agent.movers.command_line import CommandLine
from tradewind_agent.movers.expected_rates import expected_rates
from tradewind_agent.movers.flag_words import over
from tradewind_agent.movers.known import Installed, find_installed, mover_named
from tradewind_agent.movers.port import Command, Result, Task, ToolRun, Tuning, Workload
from tradewind_agent.movers.report import WrapReport
from tradewind_agent.movers.restarting import ASSUMED_RTT_S, Restarting
from tradewind_agent.movers.running import Ran, run_tool
from tradewind_agent.movers.tool_connections import connections_of
from tradewind_agent.movers.tool_loop import TunedWork, loop_of
from tradewind_agent.movers.tool_resources import ToolResources
from tradewind_agent.movers.wrap_records import energy_of, records_of_run, status_of, within_what_is_known
from tradewind_agent.path_probe import connect_time_s
from tradewind_agent.planning import Plan, plan_given, with_settings
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.tuning.pace import TICK_S
from tradewind_agent.tuning.ticks import Tick, main_settings

ROUND_S = 30.0
"""One run of a tool that can only change between runs: some ticks long, so that starting anew costs little."""

_TWO_STREAMS = Parameters(parallelism=2)

ASSUMED_FILE_BYTES = 10_000_000
"""A file of unknown size, for the recommendation alone: between the pages and the videos of the papers' sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapOptions:
    """What beside a copy's options a wrapped tool is asked for.

    ``workload`` : sizes, where the caller knows them better than the tool's command line tells.
    ``round_s`` : see ``Tuning``.
    """

    copy: CopyOptions
    workload: Workload | None = None
    round_s: float | None = ROUND_S


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWrap:
    """A tool about to be run."""

    installed: Installed
    task: Task
    planned: PlannedCopy
    path: Path
    source: str
    destination: str
    workload: Workload | None
    options: WrapOptions
    notes: tuple[str, ...]

    @property
    def plan(self) -> Plan:
        return self.planned.plan

    @property
    def wanted(self) -> CopyOptions:
        """What is asked of the transfer, see `_wanted`."""
        return _wanted(self.options.copy, self.task)

    def tuned_work(self, say: Callable[[str], None]) -> TunedWork | None:
        """What can be tuned; ``None`` where the tool is only measured, or its files are unknown.

        A tool that has no way to change while it runs still needs its share of what the path's transfers may use.
        """
        if self.workload is None or not self.installed.mover.tuned:
            return None
        wanted = replace(self.wanted, tune=self.wanted.tune and self.task.changes_live)
        return TunedWork(self.planned, self.workload, wanted, self.path, connections_of(self.task, say))

    def tuning(self, granted: Parameters | None = None, restarting: Restarting | None = None) -> Tuning:
        """How the run begins: as planned, or with what was granted of it, which may be cut while it runs."""
        predicted, own = self.plan.predicted, self.task.by_hand
        return Tuning(
            parameters=over(self.plan.parameters if granted is None else granted, own),
            expected_bps=predicted.throughput_bps.mean if predicted else None,
            fixed=own,
            rate_bps=asked_for(self.plan, self.options.copy)[0].nic_bps,
            round_s=self.options.round_s if self.options.copy.tune or granted is not None else None,
            restarting=restarting,
        )

    def restarting(self, say: Callable[[str], None]) -> Restarting | None:
        """What interruptions are weighed by; ``None`` where nothing is expected of any setting."""
        if self.workload is None or not (self.installed.mover.tuned and self.options.copy.tune):
            return None
        return Restarting(
            expected_bps=expected_rates(self.plan, self.workload, self.path),
            tick_s=self.options.copy.tick_s or TICK_S,
            rtt_s=ASSUMED_RTT_S if self.path.rtt_s is None else self.path.rtt_s,
            say=say,
        )

    def resources(self, limiter: ResourceLimiter, say: Callable[[str], None]) -> ToolResources:
        """Limits of this host's resources, to be put on the tool."""
        wanted, not_applied = asked_for(self.plan, self.options.copy)
        return ToolResources(
            wanted,
            limiter,
            tool=self.installed.mover.name,
            own_options=self.task.own_options,
            folders=self.task.folders,
            not_applied=not_applied,
            say=say,
        )

    def beyond(self, granted: Parameters) -> tuple[str, ...]:
        """What the tool's own flags set beyond what was granted, a line each: they win."""
        own = self.task.by_hand
        shared = (
            ("files at once", own.concurrency, granted.concurrency),
            ("streams a file", own.parallelism, granted.parallelism),
        )
        return tuple(
            f"the service grants {most} {what}; the tool's own flags set {value}, and win"
            for what, value, most in shared
            if value is not None and most is not None and value > most
        )

    @property
    def not_expressible(self) -> tuple[str, ...]:
        return self.task.left_out(self.plan.parameters)

    def first_command(self) -> Command:
        """What would be run first."""
        with tempfile.TemporaryDirectory(prefix="tradewind-") as scratch:
            command = self.task.run(self.tuning(), Folder(scratch)).next_command()
        assert command is not None
        return command


def prepare_wrap(
    words: Sequence[str], *, options: WrapOptions, environment: Mapping[str, str], client: Client | None = None
) -> PreparedWrap:
    """Recognise the tool of a command line, see what it moves, and decide on the parameters; nothing is moved.

    Raises
    ------
    InvalidValue : a tool or a command line that cannot be wrapped.
    ToolUnusable : the tool is missing or too old.
    """
    mover = mover_named(words[0])
    installed = find_installed(mover, words[0], environment)
    task = mover.task(CommandLine(installed.program, tuple(words[1:]), environment))
    return prepare_task(installed, task, options, client)


def prepare_task(installed: Installed, task: Task, options: WrapOptions, client: Client | None) -> PreparedWrap:
    """As ``prepare_wrap``, for a command line that has been read."""
    ends, copy = task.ends, options.copy
    here = socket.gethostname()
    names = (copy.source or ends.source or here, copy.destination or ends.destination or here)
    rtt_s = copy.rtt_s
    if rtt_s is None and ends.remote is not None and ends.port is not None:
        rtt_s = connect_time_s(ends.remote, ends.port)
    path = Path(bandwidth_bps=copy.bandwidth_bps, rtt_s=rtt_s)
    workload = options.workload or task.workload()
    notes: tuple[str, ...] = ()
    if installed.mover.tuned:
        if workload is None:
            # A share is held by heartbeats that say how much is left, which nobody knows.
            claims_none = "" if client is None else ", and no share of the path's caps is claimed"
            notes = (f"sizes are unknown; planned for one file of {ASSUMED_FILE_BYTES // 10**6} MB{claims_none}",)
        sizes = workload.sizes_bytes if workload else (ASSUMED_FILE_BYTES,)
        planned = plan_sizes(sizes, path, names, _wanted(copy, task), client, mover=installed.mover.name)
        notes = (*notes, *planned.notes)
    else:
        rationale = f"{installed.mover.name} is measured, not tuned"
        planned = PlannedCopy(plan=replace(plan_given(uuid4(), UNKNOWN_PARAMETERS), rationale=rationale))
    return PreparedWrap(
        installed=installed,
        task=task,
        planned=planned,
        path=path,
        source=names[0],
        destination=names[1],
        workload=workload,
        options=options,
        notes=(*task.notes, *notes),
    )


def _wanted(copy: CopyOptions, task: Task) -> CopyOptions:
    """With what the tool's own flags set as set by hand, and no more than one stream a file where it cannot open more.

    Streams that it never opens would be claimed of the path's caps, and waited for before others are given up.
    """
    wanted = replace(copy, by_hand=over(copy.by_hand, task.by_hand))
    return replace(wanted, limits=replace(copy.limits, parallelism=1)) if task.left_out(_TWO_STREAMS) else wanted


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
    """Run the tool, tune it meanwhile where it has a way, and log what came of it.

    Parameters
    ----------
    client : of the service that tunes it; without one this host does.
    say : told one line when the settings change.
    on_tick, output_to : see ``run_tool``.

    Raises
    ------
    ToolUnusable : it cannot be started.
    CopyFailed : no share of the path came free in time.
    """
    identity, restarting = _identity(prepared), prepared.restarting(say)
    with ExitStack() as stack:
        scratch = Folder(stack.enter_context(tempfile.TemporaryDirectory(prefix="tradewind-")))
        loop = loop_of(prepared.tuned_work(say), identity, client=client, logbook=logbook, say=say)
        live = None if loop is None else stack.enter_context(closing(loop.live))

        def make() -> ToolRun:
            granted = None if loop is None else loop.driven.setting
            for line in () if granted is None else prepared.beyond(granted):
                say(line)
            return prepared.task.run(prepared.tuning(granted, restarting), scratch)

        resources = prepared.resources(limiter or ResourceLimiter.of_this_host(os.environ), say)
        status, records = Status.FAILED, tuple[TransferRecord, ...]()
        try:
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
            result, status = ran.run.result(), status_of(ran)
            timeline = loop.ticks if loop is not None else ()
            used = over(_parameters_used(prepared.plan, timeline, ran.run.in_force), resources.in_force)
            records = records_of_run(
                identity, ran, result, workload=prepared.workload, parameters=used, path=prepared.path
            )
        finally:
            if client is not None and loop is not None and loop.is_heard and not (records and logbook):
                give_back(client, prepared.plan.transfer_id, loop.live, status)
        log = keep_records(logbook, records, live) if records else "has nothing to tell"
    report = _report(prepared, ran, result, records=records, timeline=timeline, resources=resources, log=log)
    return report if restarting is None else replace(report, restarts=tuple(restarting.made))


def _report(
    prepared: PreparedWrap,
    ran: Ran,
    result: Result | None,
    *,
    records: tuple[TransferRecord, ...],
    timeline: tuple[Tick, ...],
    resources: ToolResources,
    log: str,
) -> WrapReport:
    return WrapReport(
        mover=_mover(prepared),
        plan=prepared.plan,
        in_force=ran.run.in_force,
        not_expressible=prepared.not_expressible,
        by_hand=prepared.task.by_hand,
        live=prepared.task.live,
        commands=ran.commands,
        exit_code=ran.code,
        status=status_of(ran),
        source=prepared.source,
        destination=prepared.destination,
        result=result,
        duration_s=ran.duration_s,
        energy=energy_of(ran),
        usage=ran.metered.usage if ran.metered else None,
        work=ran.metered.work if ran.metered else None,
        records=records,
        timeline=timeline,
        limits=resources.verdicts,
        log=log,
        notes=(*prepared.notes, *resources.left, *_notes(ran)),
    )


def _parameters_used(plan: Plan, timeline: Sequence[Tick], in_force: Parameters) -> Parameters:
    """The settings that moved most bytes, where the tool was tuned; else those that it was started with."""
    main = main_settings(timeline)
    return within_what_is_known(with_settings(plan, main).parameters, in_force) if main else in_force


def _notes(ran: Ran) -> tuple[str, ...]:
    if ran.metered is None or ran.metered.failure is None:
        return ()
    return (f"energy was not measured to the end: {ran.metered.failure}",)


def _mover(prepared: PreparedWrap) -> Mover:
    return Mover(prepared.installed.mover.name, prepared.installed.version)


def _identity(prepared: PreparedWrap) -> Identity:
    return Identity(
        transfer_id=prepared.plan.transfer_id,
        source=prepared.source,
        destination=prepared.destination,
        mover=_mover(prepared),
        protocol=prepared.task.ends.protocol,
        direction=prepared.task.ends.direction,
        network=prepared.options.copy.network,
        sla=write_agreement(prepared.options.copy.sla) if prepared.installed.mover.tuned else None,
        quote=prepared.plan.quote,
    )
