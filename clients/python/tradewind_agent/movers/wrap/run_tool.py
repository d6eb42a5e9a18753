"""A tool run as if the user had started it: same terminal, same signals; metered with all its children."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import IO, Protocol

from tradewind.energy.measured import Host
from tradewind_agent.errors import ToolUnusable
from tradewind_agent.meters import MeterResult, MeterSession
from tradewind_agent.movers.port import Command, ToolRun
from tradewind_agent.movers.wrap.read_output import OutputPipes
from tradewind_agent.movers.wrap.tool_connections import ToolConnections
from tradewind_agent.movers.wrap.tool_resources import ToolResources
from tradewind_agent.session.metering import HostMeter

TICK_S = 0.25
"""Interval between two polls of a tool's output: the largest delay of its messages."""

_SIGNALLED = 128
"""Exit codes above this are of programs that a signal has ended."""

_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """The outcome of a run.

    ``code`` : the first exit code that is not 0; 128 + n for a tool that signal n killed.
    ``stopped_by`` : signal that the user sent, if any.
    """

    run: ToolRun
    code: int
    commands: tuple[Command, ...]
    started_at: datetime
    duration_s: float
    metered: MeterResult | None
    stopped_by: signal.Signals | None

    @property
    def ended_at(self) -> datetime:
        return self.started_at + timedelta(seconds=self.duration_s)


class RunTuner(Protocol):
    """The tuner of a run: `tradewind_agent.tuning.loop` on a tool. A protocol, so that tests run without a loop."""

    async def begin(self) -> None:
        """Prepare before the first byte; the initial settings are known afterwards."""

    def note_started(self, run: ToolRun) -> None:
        """Note that the run starts now."""

    async def run(self, meter: MeterSession | None) -> None:
        """Tune until cancelled."""

    def end(self, meter: MeterSession | None) -> None:
        """Note that the run is finished."""


def run_tool(
    make: Callable[[], ToolRun],
    *,
    meter: HostMeter | None = None,
    host: Host = Host.DESTINATION,
    loop: RunTuner | None = None,
    on_tick: Callable[[ToolRun], object] | None = None,
    output_to: int | None = None,
    resources: ToolResources | None = None,
    connections: ToolConnections | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> ToolOutcome:
    """Run all commands of a run to their end.

    Parameters
    ----------
    make : the run, when its settings are certain.
    meter : of this host, which is the ``host`` end; children are counted with it.
    loop : tunes it.
    on_tick : called after each poll of the tool, in a thread; may retune it.
    output_to : file descriptor in place of standard output, for the tool's.
    resources : limits of the tool's processes.
    connections : those of its processes, looked at meanwhile.

    Raises
    ------
    ToolUnusable : it cannot be started.
    CopyFailed : no share of the path came free in time.
    """

    async def run_metered() -> ToolOutcome:
        session = await meter.build_session(host) if meter is not None else None
        if loop is not None:
            await loop.begin()
        run = make()
        poll = partial(_poll, run, connections, on_tick)
        one = partial(
            _run_command, run=run, poll=poll, output_to=output_to, resources=resources, connections=connections
        )
        return await _run(run, session, loop, one, now)

    return asyncio.run(run_metered())


async def _run(
    run: ToolRun, session: MeterSession | None, loop: RunTuner | None, one: "_Runner", now: Callable[[], datetime]
) -> ToolOutcome:
    if session is not None:
        await session.start()
    clock = asyncio.get_running_loop()
    started_at, started_s = now(), clock.time()
    tuning: asyncio.Task[None] | None = None
    if loop is not None:
        loop.note_started(run)
        tuning = asyncio.create_task(loop.run(session))
    commands: list[Command] = []
    code, moved_s = 0, None
    with _forward_signals(clock) as signals:
        while signals.sent is None and (command := run.prepare_next_command()) is not None:
            commands.append(command)
            ended, moved_s = await one(command, signals)
            counted = run.note_finished(ended)
            code = code or (counted if signals.sent is None else ended)
            if counted > _SIGNALLED:
                break
    duration_s = (clock.time() if moved_s is None else moved_s) - started_s
    metered = await session.stop() if session is not None else None
    if loop is not None and tuning is not None:
        tuning.cancel()
        with suppress(asyncio.CancelledError):
            await tuning
        loop.end(session)
    return ToolOutcome(
        run=run,
        code=code,
        commands=tuple(commands),
        started_at=started_at,
        duration_s=duration_s,
        metered=metered,
        stopped_by=signals.sent,
    )


class _Signals:
    """A forwarder of the user's signals to the running tool."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None
        self.sent: signal.Signals | None = None

    def receive(self, number: signal.Signals) -> None:
        self.sent = number
        # The terminal sends Ctrl-C to all of the foreground; a second one means "at once" to many tools.
        if self.process is not None and not (number is signal.SIGINT and _is_in_foreground()):
            with suppress(ProcessLookupError):  # it ended just now
                self.process.send_signal(number)


_Runner = Callable[[Command, _Signals], Awaitable[tuple[int, float | None]]]
"""Runs one command; its exit code, and when all was moved if that was before its end."""


@contextmanager
def _forward_signals(loop: asyncio.AbstractEventLoop) -> Iterator[_Signals]:
    signals = _Signals()
    numbers = [number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]  # as nohup has it
    for number in numbers:
        loop.add_signal_handler(number, signals.receive, number)
    try:
        yield signals
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def _run_command(
    command: Command,
    signals: _Signals,
    *,
    run: ToolRun,
    poll: Callable[[], object],
    output_to: int | None,
    resources: ToolResources | None,
    connections: ToolConnections | None,
) -> tuple[int, float | None]:
    """Return the exit code of one command, 128 + n for signal n; and when all was moved, if that was before its end."""
    with ExitStack() as stack:
        process = await _start(command, output_to, resources, stack)
        pipes = OutputPipes()
        pipes.add(process.stdout, command.output, _STANDARD_OUTPUT if output_to is None else output_to)
        pipes.add(process.stderr, command.errors, _STANDARD_ERROR)
        signals.process = process
        run.note_started(process.pid)
        if connections is not None:
            connections.note_started(process.pid, command.own_port)
        try:
            return await _watch(process, signals, run, poll)
        finally:
            await pipes.finish()


async def _watch(
    process: asyncio.subprocess.Process, signals: _Signals, run: ToolRun, poll: Callable[[], object]
) -> tuple[int, float | None]:
    ending = asyncio.create_task(process.wait())
    moved_s: float | None = None
    try:
        while not ending.done():
            await asyncio.wait([ending], timeout=TICK_S)
            await asyncio.to_thread(poll)
            if run.is_over and moved_s is None:
                moved_s = asyncio.get_running_loop().time()
        code = await ending
    finally:
        signals.process = None
        if process.returncode is None:
            process.kill()
            await ending
    return (_SIGNALLED - code if code < 0 else code), moved_s


async def _start(
    command: Command, output_to: int | None, resources: ToolResources | None, stack: ExitStack
) -> asyncio.subprocess.Process:
    """Return the tool, under way; its limits last as long as ``stack``."""
    with ExitStack() as opened:
        try:
            starting = partial(
                asyncio.create_subprocess_exec,
                stdout=output_to if command.output is None else asyncio.subprocess.PIPE,
                stderr=_open_errors(command, opened),
                env=None if not command.variables else {**os.environ, **command.variables},
            )
            if resources is None or not resources.must_wait():
                return await starting(*command.words)
            gate, opener = os.pipe()
            opened.callback(os.close, opener)
            try:
                process = await starting(*_make_gated_words(gate), *command.words, pass_fds=(gate,))
            finally:
                os.close(gate)
        except OSError as failure:
            raise ToolUnusable(f"cannot start {command.words[0]}: {failure.strerror or failure}") from None
        stack.enter_context(resources.limit_process(process.pid))
        with suppress(BrokenPipeError):  # a signal has ended it before it began
            os.write(opener, b"\n")
        return process


def _open_errors(command: Command, opened: ExitStack) -> IO[bytes] | int | None:
    """Return where standard error goes: to a reader, a file that the run reads, or the user."""
    if command.errors is not None:
        return asyncio.subprocess.PIPE
    return None if command.errors_to is None else opened.enter_context(command.errors_to.open("wb"))


def _make_gated_words(gate: int) -> tuple[str, ...]:
    """Return the words that make a command wait for a line on ``gate``; it never starts if the agent exits first.

    Limits set before the tool starts hold for all of its threads and processes.
    """
    return ("/bin/sh", "-c", f'read -r _ </dev/fd/{gate} && exec "$@"', "sh")


def _poll(run: ToolRun, connections: ToolConnections | None, on_tick: Callable[[ToolRun], object] | None) -> None:
    run.poll()
    if connections is not None:
        connections.poll()
    if on_tick is not None:
        on_tick(run)


def _is_in_foreground() -> bool:
    """Return whether the terminal's Ctrl-C reaches the tool as well, wherever the streams lead."""
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY)
    except OSError:  # there is none
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
