"""Run someone else's tool with the best parameters known: recognise it, ask, set what the user has not, run, log."""

import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path as Folder
from uuid import uuid4

from tradewind.dataset import ChunkKind, DataSet
from tradewind.energy import Host
from tradewind.parameters import UNKNOWN_PARAMETERS
from tradewind.path import Path
from tradewind.transfer import Direction, Mover, Outcome, Status, TransferRecord
from tradewind.units import throughput_bps
from tradewind_agent.agreement_text import write_agreement
from tradewind_agent.client import Client
from tradewind_agent.copy_options import CopyOptions
from tradewind_agent.copy_plan import PlannedCopy, plan_sizes
from tradewind_agent.copy_records import LEAST_DURATION, Identity, Moved, records_of
from tradewind_agent.copying import keep_records
from tradewind_agent.logbook import Logbook
from tradewind_agent.metering import HostMeter
from tradewind_agent.movers.command_line import CommandLine
from tradewind_agent.movers.flag_words import over
from tradewind_agent.movers.known import Installed, find_installed, mover_named
from tradewind_agent.movers.port import Command, Result, Task, ToolRun, Tuning, Workload
from tradewind_agent.movers.report import WrapReport
from tradewind_agent.movers.running import Ran, run_tool
from tradewind_agent.path_probe import connect_time_s
from tradewind_agent.planning import Plan, plan_given

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
    round_s: float | None = None


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
    def tuning(self) -> Tuning:
        predicted = self.plan.predicted
        return Tuning(
            parameters=self.plan.parameters,
            expected_bps=predicted.throughput_bps.mean if predicted else None,
            fixed=over(self.options.copy.by_hand, self.task.by_hand),
            round_s=self.options.round_s,
        )

    @property
    def not_expressible(self) -> tuple[str, ...]:
        return self.task.left_out(self.plan.parameters)

    def first_command(self) -> Command:
        """What would be run first."""
        with tempfile.TemporaryDirectory(prefix="tradewind-") as scratch:
            command = self.task.run(self.tuning, Folder(scratch)).next_command()
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
            notes = (f"sizes are unknown; planned for one file of {ASSUMED_FILE_BYTES // 10**6} MB",)
        sizes = workload.sizes_bytes if workload else (ASSUMED_FILE_BYTES,)
        wanted = replace(copy, by_hand=over(copy.by_hand, task.by_hand))
        planned = plan_sizes(sizes, path, names, wanted, client, mover=installed.mover.name)
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


def run_wrap(
    prepared: PreparedWrap,
    *,
    logbook: Logbook | None = None,
    meter: HostMeter | None = None,
    on_tick: Callable[[ToolRun], object] | None = None,
    output_to: int | None = None,
) -> WrapReport:
    """Run the tool, and log what came of it.

    Parameters
    ----------
    on_tick, output_to : see ``run_tool``; the former is the place of whatever retunes the run.
    """
    host = Host.SOURCE if prepared.task.ends.direction is Direction.UPLOAD else Host.DESTINATION
    with ExitStack() as stack:
        scratch = Folder(stack.enter_context(tempfile.TemporaryDirectory(prefix="tradewind-")))
        run = prepared.task.run(prepared.tuning, scratch)
        ran = run_tool(run, meter=meter, host=host, on_tick=on_tick, output_to=output_to)
        result = run.result()
        in_force = run.in_force
    notes = prepared.notes
    if ran.metered is not None and ran.metered.failure is not None:
        notes += (f"energy was not measured to the end: {ran.metered.failure}",)
    records = _records(prepared, ran, result, run) if result is not None else ()
    return WrapReport(
        mover=Mover(prepared.installed.mover.name, prepared.installed.version),
        plan=prepared.plan,
        in_force=in_force,
        not_expressible=prepared.not_expressible,
        by_hand=prepared.task.by_hand,
        live=prepared.task.live,
        commands=ran.commands,
        exit_code=ran.code,
        status=_status(ran),
        source=prepared.source,
        destination=prepared.destination,
        result=result,
        duration_s=ran.duration_s,
        energy=records[0].energy if records else (),
        usage=ran.metered.usage if ran.metered else None,
        work=ran.metered.work if ran.metered else None,
        records=records,
        log=keep_records(logbook, records) if records else "has nothing to tell",
        notes=notes,
    )


def _status(ran: Ran) -> Status:
    if ran.stopped_by is not None:
        return Status.CANCELLED
    return Status.SUCCEEDED if ran.code == 0 else Status.FAILED


def _records(prepared: PreparedWrap, ran: Ran, result: Result, run: ToolRun) -> tuple[TransferRecord, ...]:
    """One row for the whole; a tool that was given nothing to do leaves none."""
    if ran.code == 0 and not result.bytes_moved:
        return ()
    copy = prepared.options.copy
    identity = Identity(
        transfer_id=prepared.plan.transfer_id,
        source=prepared.source,
        destination=prepared.destination,
        mover=Mover(prepared.installed.mover.name, prepared.installed.version),
        protocol=prepared.task.ends.protocol,
        direction=prepared.task.ends.direction,
        network=copy.network,
        sla=write_agreement(copy.sla) if prepared.installed.mover.tuned else None,
    )
    outcome = Outcome(
        status=_status(ran),
        bytes_moved=result.bytes_moved,
        files_done=result.files_done,
        files_failed=result.files_failed,
        throughput_bps=throughput_bps(result.bytes_moved, max(ran.duration_s, LEAST_DURATION.total_seconds())),
    )
    whole = Moved(
        chunk=ChunkKind.WHOLE,
        dataset=_dataset(prepared.workload, result),
        parameters=run.in_force,
        started_at=ran.started_at,
        ended_at=ran.ended_at,
        outcome=outcome,
    )
    metered = ran.metered
    energy = (metered.energy,) if metered is not None and metered.energy is not None else ()
    return records_of(identity, whole, (), path=prepared.path, energy=energy, usage=metered.usage if metered else None)


def _dataset(workload: Workload | None, result: Result) -> DataSet:
    """What was listed, if that is what was moved; else what was moved."""
    if workload is not None and workload.exact and sum(workload.sizes_bytes) == result.bytes_moved:
        return DataSet.of_sizes(workload.sizes_bytes)
    return DataSet(file_count=max(result.files_done + result.files_failed, 1), total_bytes=result.bytes_moved)
