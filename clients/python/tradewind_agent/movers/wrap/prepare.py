"""Preparation of a wrapped tool: recognise it, list what it moves, request parameters, add flags."""

import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as Folder
from uuid import uuid4

from tradewind.parameters import UNKNOWN_PARAMETERS, Parameters
from tradewind.path import Path
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.plan import PlannedCopy, plan_sizes
from tradewind_agent.copy.resources import select_limits
from tradewind_agent.engine.remote.omissions import Omission
from tradewind_agent.movers.command_line import CommandLine
from tradewind_agent.movers.flag_words import override
from tradewind_agent.movers.port import Command, RunSettings, ToolTask, Workload
from tradewind_agent.movers.registry import InstalledTool, find_installed, find_mover
from tradewind_agent.movers.wrap.expected_rates import build_expected_rates
from tradewind_agent.movers.wrap.restarts import ASSUMED_RTT_S, Restarting
from tradewind_agent.movers.wrap.tool_connections import watch_connections
from tradewind_agent.movers.wrap.tool_loop import TunedWork
from tradewind_agent.movers.wrap.tool_resources import ToolResources
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.service.client import Client
from tradewind_agent.session.path_probe import measure_connect_s
from tradewind_agent.session.planning import Plan, plan_set_by_hand
from tradewind_agent.tuning.pace import TICK_S

ROUND_S = 30.0
"""One run of a tool that can only change between runs: some ticks long, so that a restart costs little."""

_TWO_STREAMS = Parameters(parallelism=2)

ASSUMED_FILE_BYTES = 10_000_000
"""A file of unknown size, for the recommendation alone: between the pages and the videos of the papers' sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapOptions:
    """The options of a wrapped tool: those of a copy, and its own.

    ``workload`` : sizes, where the caller knows them better than the command line.
    ``round_s`` : see ``RunSettings``.
    """

    copy: CopyOptions
    workload: Workload | None = None
    round_s: float | None = ROUND_S


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWrap:
    """A tool about to be run.

    ``left_out`` : of what it was to copy, what was not handed over to it.
    """

    installed: InstalledTool
    task: ToolTask
    planned: PlannedCopy
    path: Path
    source: str
    destination: str
    workload: Workload | None
    options: WrapOptions
    notes: tuple[str, ...]
    left_out: tuple[Omission, ...] = ()

    @property
    def plan(self) -> Plan:
        return self.planned.plan

    @property
    def requested(self) -> CopyOptions:
        """Return the options of the transfer, see `_apply_user_flags`."""
        return _apply_user_flags(self.options.copy, self.task)

    def build_tuned_work(self, say: Callable[[str], None]) -> TunedWork | None:
        """Return what can be tuned; ``None`` where the tool is only measured, or its files are unknown.

        A tool that has no way to change while it runs still needs its share of what the path's transfers may use.
        """
        if self.workload is None or not self.installed.mover.is_tuned:
            return None
        requested = replace(self.requested, tune=self.requested.tune and self.task.can_change_live)
        return TunedWork(self.planned, self.workload, requested, self.path, watch_connections(self.task, say))

    def build_run_settings(
        self, granted: Parameters | None = None, restarting: Restarting | None = None
    ) -> RunSettings:
        """Return how the run begins: as planned, or with what was granted of it, which may be cut while it runs."""
        predicted, own = self.plan.predicted, self.task.by_hand
        return RunSettings(
            parameters=override(self.plan.parameters if granted is None else granted, own),
            expected_bps=predicted.throughput_bps.mean if predicted else None,
            fixed=own,
            rate_bps=select_limits(self.plan, self.options.copy)[0].nic_bps,
            round_s=self.options.round_s if self.options.copy.tune or granted is not None else None,
            restarting=restarting,
        )

    def build_restarting(self, say: Callable[[str], None]) -> Restarting | None:
        """Return what interruptions are weighed by; ``None`` where nothing is expected of any setting."""
        if self.workload is None or not (self.installed.mover.is_tuned and self.options.copy.tune):
            return None
        return Restarting(
            expected_bps=build_expected_rates(self.plan, self.workload, self.path),
            tick_s=self.options.copy.tick_s or TICK_S,
            rtt_s=ASSUMED_RTT_S if self.path.rtt_s is None else self.path.rtt_s,
            say=say,
        )

    def build_tool_resources(self, limiter: ResourceLimiter, say: Callable[[str], None]) -> ToolResources:
        """Return the limits of this host's resources, to be put on the tool."""
        requested, not_applied = select_limits(self.plan, self.options.copy)
        return ToolResources(
            requested,
            limiter,
            tool=self.installed.mover.name,
            own_options=self.task.own_options,
            folders=self.task.folders,
            not_applied=not_applied,
            say=say,
        )

    def describe_excess(self, granted: Parameters) -> tuple[str, ...]:
        """Return what the tool's own flags set beyond what was granted, a line each: they win."""
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
        return self.task.find_inexpressible(self.plan.parameters)

    def build_first_command(self) -> Command:
        """Return what would be run first."""
        with tempfile.TemporaryDirectory(prefix="tradewind-") as scratch:
            command = self.task.run(self.build_run_settings(), Folder(scratch)).prepare_next_command()
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
    mover = find_mover(words[0])
    installed = find_installed(mover, words[0], environment)
    task = mover.parse_task(CommandLine(installed.program, tuple(words[1:]), environment))
    return prepare_task(installed, task, options, client)


def prepare_task(installed: InstalledTool, task: ToolTask, options: WrapOptions, client: Client | None) -> PreparedWrap:
    """Prepare a transfer as ``prepare_wrap`` does, for a command line that has been read."""
    ends, copy = task.ends, options.copy
    here = socket.gethostname()
    names = (copy.source or ends.source or here, copy.destination or ends.destination or here)
    rtt_s = copy.rtt_s
    if rtt_s is None and ends.remote is not None and ends.port is not None:
        rtt_s = measure_connect_s(ends.remote, ends.port)
    path = Path(bandwidth_bps=copy.bandwidth_bps, rtt_s=rtt_s)
    workload = options.workload or task.measure_workload()
    notes: tuple[str, ...] = ()
    if installed.mover.is_tuned:
        if workload is None:
            # Heartbeats that hold a share state the remaining bytes, which are unknown here.
            claims_none = "" if client is None else ", and no share of the path's caps is claimed"
            notes = (f"sizes are unknown; planned for one file of {ASSUMED_FILE_BYTES // 10**6} MB{claims_none}",)
        sizes = workload.sizes_bytes if workload else (ASSUMED_FILE_BYTES,)
        planned = plan_sizes(sizes, path, names, _apply_user_flags(copy, task), client, mover=installed.mover.name)
        notes = (*notes, *planned.notes)
    else:
        rationale = f"{installed.mover.name} is measured, not tuned"
        planned = PlannedCopy(plan=replace(plan_set_by_hand(uuid4(), UNKNOWN_PARAMETERS), rationale=rationale))
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


def _apply_user_flags(copy: CopyOptions, task: ToolTask) -> CopyOptions:
    """Return the options with the settings of the tool's own flags marked as set by hand.

    Limit them to one stream a file where the tool cannot open more.

    Streams that it never opens would be claimed of the path's caps, and waited for before others are given up.
    """
    requested = replace(copy, by_hand=override(copy.by_hand, task.by_hand))
    return (
        replace(requested, limits=replace(copy.limits, parallelism=1))
        if task.find_inexpressible(_TWO_STREAMS)
        else requested
    )
