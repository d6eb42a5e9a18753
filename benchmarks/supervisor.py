"""Run a benchmark and outlive it, so that nothing that it started is left however it finished.

`./run bench NAME` becomes this process. It starts the benchmark in a session of its own and passes signals on to it, so
that an interrupted benchmark cleans up as usual. The kernel then hands whatever the benchmark leaves behind to this
process, as the nearest subreaper above it (prctl(2), Linux), and this process stops it. If this process itself is
killed, the kernel sends the benchmark SIGTERM, and the benchmark cleans up.

The module uses the standard library only, so that it starts at once and takes nothing of the machine while it waits.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

ORDERLY_STOP_S = 10.0
"""Embedded servers notice that their last client has gone and stop in order; this is the time that they get for it."""

POLL_S = 0.05
SIGNAL_EXIT = 128
"""Shells report a program that a signal ended by this number plus the signal's."""


def main(argv: Sequence[str]) -> int:
    """Run the benchmark that the first word names, with the rest as its arguments; return its exit code."""
    name, *rest = argv
    is_subreaper = _become_subreaper()
    with _SignalsHeld(PASSED_ON):  # a signal that arrives before the benchmark can be named waits until it can
        benchmark = subprocess.Popen(
            [sys.executable, "-P", "-m", f"benchmarks.{name}", *rest],
            start_new_session=True,  # a terminal's Ctrl-C reaches this process, which passes it on once
            preexec_fn=partial(_prepare_benchmark, os.getpid()),  # noqa: PLW1509 - this process has one thread
        )
        for number in PASSED_ON:
            signal.signal(number, lambda number, _: _pass_on(benchmark, number))
    code = benchmark.wait()
    if is_subreaper:
        _stop_orphans()
    return code if code >= 0 else SIGNAL_EXIT - code


class _SignalsHeld:
    """Hold signals back inside the block."""

    def __init__(self, numbers: Sequence[signal.Signals]) -> None:
        self._numbers = numbers

    def __enter__(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, self._numbers)

    def __exit__(self, *_: object) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._numbers)


def _prepare_benchmark(supervisor: int) -> None:
    """Let the kernel end the benchmark with its supervisor; called between fork and exec."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
        if os.getppid() != supervisor:
            os._exit(1)


def _become_subreaper() -> bool:
    """Adopt processes whose parents below this one end; return whether the system can do that."""
    return sys.platform == "linux" and not ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _pass_on(benchmark: "subprocess.Popen[bytes]", number: int) -> None:
    with suppress(ProcessLookupError):
        benchmark.send_signal(number)


def _stop_orphans() -> None:
    """Wait until the orphans of the benchmark have ended; kill those that do not end by themselves.

    Killing one hands its own children over, so that the loop ends only when no descendant is left.
    """
    deadline = time.monotonic() + ORDERLY_STOP_S
    while _collect_children():
        if time.monotonic() > deadline:
            for process_id in _list_children():
                with suppress(ProcessLookupError):
                    os.kill(process_id, signal.SIGKILL)
        time.sleep(POLL_S)


def _collect_children() -> bool:
    """Collect children that have ended; return whether others are left."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def _list_children() -> list[int]:
    """Return the children of this process, whose only thread has started or adopted them all."""
    me = os.getpid()
    return [int(word) for word in Path(f"/proc/{me}/task/{me}/children").read_text(encoding="ascii").split()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
