"""Measure what processes cost and get, from the kernel: processor time, who had it, high-water mark of memory."""

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tradewind.units import KIB, MIB


def measure_cpu_s(process: psutil.Process) -> float:
    """Return the processor time of a process and its children, s; ended children count once they were waited for."""
    total = _read_cpu_s(process)
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended since it was listed
            total += _read_cpu_s(child)
    return total


def _read_cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


@dataclass(frozen=True, slots=True)
class ProcessorShare:
    """How the processors were shared between the processes of a run and all others.

    Attributes
    ----------
    waited : of the time in which threads of the run could have run, the share in which they waited for a processor, for
        one another too. Threads that ended meanwhile are not counted.
    others : share of all processors that other processes took.
    stolen : share of all processors that the host of a virtual machine kept for others.
    """

    waited: float
    others: float
    stolen: float


class ProcessorWatch:
    """Watches from now on how the processors are shared between the descendants of a process and all others."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._schedule_ns, self._own_s = _read_schedule_ns(process), measure_cpu_s(process)
        self._busy_s, self._stolen_s = _read_busy_and_stolen_s()
        self._started_s = time.monotonic()

    def measure_share(self) -> ProcessorShare:
        """Return the share since the start; processes that ended are counted, whether they were collected or not."""
        lasted_s = time.monotonic() - self._started_s
        ran_ns = waited_ns = 0
        for thread, (ran, waited) in _read_schedule_ns(self._process).items():
            ran_before, waited_before = self._schedule_ns.get(thread, (0, 0))
            ran_ns += max(ran - ran_before, 0)
            waited_ns += max(waited - waited_before, 0)
        busy_s, stolen_s = _read_busy_and_stolen_s()
        others_s = max(busy_s - self._busy_s - (measure_cpu_s(self._process) - self._own_s), 0.0)
        processors_s = lasted_s * (psutil.cpu_count() or 1)
        return ProcessorShare(
            waited=waited_ns / (ran_ns + waited_ns) if ran_ns + waited_ns else 0.0,
            others=min(others_s / processors_s, 1.0) if processors_s else 0.0,
            stolen=(stolen_s - self._stolen_s) / processors_s if processors_s else 0.0,
        )


def _read_schedule_ns(process: psutil.Process) -> dict[int, tuple[int, int]]:
    """Return, for each thread of all descendants, how long it ran and how long it waited although it could run, ns."""
    found: dict[int, tuple[int, int]] = {}
    for each in process.children(recursive=True):
        with suppress(ProcessLookupError):
            if os.sched_getscheduler(each.pid) == os.SCHED_IDLE:
                continue  # it lets all others run first by design
        for schedule in Path(f"/proc/{each.pid}/task").glob("*/schedstat"):
            with suppress(OSError):  # it ended since it was listed
                ran_ns, waited_ns, _ = schedule.read_text(encoding="ascii").split()
                found[int(schedule.parent.name)] = (int(ran_ns), int(waited_ns))
    return found


def _read_busy_and_stolen_s() -> tuple[float, float]:
    """Return what all processors did for processes since boot, and what the host of this virtual machine kept, s."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system, getattr(times, "steal", 0.0)


def read_peak_rss_mb(process_id: int) -> float:
    """Return the high-water mark of a process's resident memory, MiB."""
    status = Path(f"/proc/{process_id}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * KIB / MIB


def end_program(program: "subprocess.Popen[bytes]", grace_s: float) -> None:
    """Ask a program to end, and kill it if it has not after ``grace_s``."""
    program.terminate()
    try:
        program.wait(grace_s)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
