"""Loops that keep processors from halting, and give way to all other processes.

A virtual machine whose processors halt while nothing is to do gets them back late from a busy host. On an otherwise
idle machine, 0.05 % of the wake-ups at real-time priority were more than 5 ms late, up to 25 ms. With these loops none
was, and the host kept 1 % of the processors instead of 12 %.
"""

import os
import subprocess
import sys
from contextlib import suppress

import psutil

_LOOP = """
import os, select
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
if not os.read(0, 1):
    raise SystemExit
first, *others = sorted(os.sched_getaffinity(0))
for cpu in others:
    if os.fork() == 0:
        break
else:
    cpu = first
os.sched_setaffinity(0, {cpu})
while not select.select([0], [], [], 0)[0]:
    for _ in range(10_000):
        pass
"""
"""Wait for a byte, then loop on each processor until the end of the input, so that the loops outlive no owner."""


class Loops:
    """A process that waits until a command makes it loop on all processors."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-I", "-S", "-c", _LOOP], stdin=subprocess.PIPE)

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # without the loops nothing is worse than before
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()

    def stop(self) -> None:
        """Let the loops end, at ordinary priority: on a busy machine they would not even get the time for that as they
        are.
        """
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        with suppress(psutil.NoSuchProcess):
            leader = psutil.Process(self.pid)
            for process in (leader, *leader.children(recursive=True)):
                with suppress(OSError):
                    os.sched_setscheduler(process.pid, os.SCHED_OTHER, os.sched_param(0))
        self._process.wait()
