"""Child processes of the service: started, restarted when they end, and stopped together."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from services.embedded.keeper import end_with_parent
from tradewind.errors import TradewindError

ROOT = Path(__file__).resolve().parents[1]
STOP_STEPS = ((signal.SIGTERM, 10.0), (signal.SIGQUIT, 5.0))  # Celery: finish the task, then drop it to be redelivered

NICENESS: Mapping[str, int] = {"workers": 10, "journal": 5}
"""Fits take all the time that they get, and nobody waits for the journal; processes that answer agents, or start, have
priority."""

HEALTHY_AFTER_S = 20.0
"""A process that ran for so long was started well: it ends for another reason than its settings."""

PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
"""Pause before a process that ended too soon is restarted; twice as long each time."""


class ExitedAtOnce(TradewindError):
    """A process ended by itself as soon as it was first started; the message says which, and with what code."""


@dataclass(slots=True)
class _Child:
    """A process with its restarts; ``due_s`` : when the next is started, None while one runs."""

    process: subprocess.Popen[bytes]
    started_s: float
    has_exited: bool = False
    pause_s: float = 0.0
    due_s: float | None = None

    def note_end(self, at_s: float) -> None:
        """Set when to restart it: at once, unless it ends again and again."""
        lasted = at_s - self.started_s >= HEALTHY_AFTER_S
        self.pause_s = min(max(PAUSE_S, 2 * self.pause_s), LONGEST_PAUSE_S) if self.has_exited and not lasted else 0.0
        self.has_exited, self.due_s = True, at_s + self.pause_s


class ProcessGroup(Mapping[str, subprocess.Popen[bytes]]):
    """Processes by name, each with a session of its own; parameters are those of ``run_processes``."""

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        environment: Mapping[str, str],
        *,
        own: Mapping[str, Mapping[str, str]],
        output: IO[bytes] | None,
        niceness: Mapping[str, int],
        monotonic: Callable[[], float],
    ) -> None:
        self._commands, self._environment, self._own, self._output = commands, environment, own, output
        self._niceness = niceness
        self._monotonic = monotonic
        self._children: dict[str, _Child] = {}

    def __getitem__(self, name: str) -> subprocess.Popen[bytes]:
        return self._children[name].process

    def __iter__(self) -> Iterator[str]:
        return iter(self._children)

    def __len__(self) -> int:
        return len(self._children)

    def start(self, name: str) -> None:
        """Start a process by its command."""
        process = subprocess.Popen(
            self._commands[name],
            env={**self._environment, **self._own.get(name, {})},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,  # Ctrl-C reaches this process only, which then stops them in order
            umask=0o077,  # what they write (schedule, exports, metrics) is of all tenants
            preexec_fn=partial(_begin, os.getpid(), self._niceness.get(name, 0)),  # noqa: PLW1509 - one thread so far
        )
        started_s = self._monotonic()
        if name in self._children:
            child = self._children[name]
            child.process, child.started_s, child.due_s = process, started_s, None
        else:
            self._children[name] = _Child(process, started_s)

    def revive(self) -> Mapping[str, int]:
        """Restart processes that have ended, once their sessions are gone; return names and exit codes.

        A process that ends again and again is restarted after longer and longer pauses.

        Raises
        ------
        ExitedAtOnce : one ended by itself, not by a signal, soon after it was first started: it would end again.
        """
        revived = {}
        for name, child in self._children.items():
            code, now_s = child.process.poll(), self._monotonic()
            if code is None:
                continue
            if child.due_s is None:
                if code >= 0 and not child.has_exited and now_s - child.started_s < HEALTHY_AFTER_S:
                    raise ExitedAtOnce(f"{name} ended {describe_exit(code)}; stopping the rest")
                child.note_end(now_s)
                _kill_session(child.process)
            if child.due_s is not None and now_s >= child.due_s:
                self.start(name)
                revived[name] = code
        return revived

    def stop(self, steps: Sequence[tuple[signal.Signals, float]]) -> None:
        """Ask all processes at once, with stronger signals step by step; then kill what is left of their sessions."""
        processes = list(self.values())
        for number, patience_s in steps:
            deadline = time.monotonic() + patience_s
            for process in processes:
                if process.poll() is None:
                    process.send_signal(number)
            for process in processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, deadline - time.monotonic()))
        for child in self._children.values():
            # otherwise that was done when it ended, and another process may have its number by now
            if child.due_s is None:
                _kill_session(child.process)
            child.process.wait()


@contextmanager
def run_processes(
    commands: Mapping[str, Sequence[str]],
    environment: Mapping[str, str],
    stop_steps: Sequence[tuple[signal.Signals, float]] = STOP_STEPS,
    *,
    own: Mapping[str, Mapping[str, str]] | None = None,
    output: IO[bytes] | None = None,
    niceness: Mapping[str, int] = NICENESS,
    monotonic: Callable[[], float] = time.monotonic,
) -> Iterator[ProcessGroup]:
    """Start processes, each with a session of its own; at the end, stop them and all that they started.

    Parameters
    ----------
    own : variables of single processes, by their name, added to the ``environment`` of all.
    output : where they write; by default where this process does.
    niceness : of single processes, by their name; others have that of this process.
    monotonic : seconds of a clock that never goes back, by which processes are restarted.
    """
    processes = ProcessGroup(
        commands, environment, own=own or {}, output=output, niceness=niceness, monotonic=monotonic
    )
    try:
        for name in commands:
            processes.start(name)
        yield processes
    finally:
        processes.stop(stop_steps)


def describe_exit(code: int) -> str:
    """Return an exit code in words."""
    return f"with exit code {code}" if code >= 0 else f"by signal {-code}"


def _begin(parent: int, niceness: int) -> None:
    """Prepare a process before its program runs: with sessions in groups of their own, niceness counts for the group
    (Linux).
    """
    end_with_parent(parent, signal.SIGTERM)
    os.nice(niceness)
    if niceness:
        with suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
