"""What processes cost and get, read from the kernel: processor time, who had it, the high-water mark of memory."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tradewind.units import KIB, MIB


def cpu_s(process: psutil.Process) -> float:
    """Processor time of a process and its children, s; of those that ended too, once they were waited for."""
    total = _cpu_s(process)
    for each in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended since it was listed
            total += _cpu_s(each)
    return total


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


@dataclass(frozen=True, slots=True)
class Share:
    """How the processors were shared between the processes of a run and everybody else.

    Attributes
    ----------
    waited : of the time in which threads of the run could have run, the share in which they waited for a processor, for
        one another too. Of threads that ended meanwhile nothing is known.
    others : share of all processors that other processes took.
    stolen : share of them that the host of a virtual machine kept for others.
    """

    waited: float
    others: float
    stolen: float


class Shared:
    """Watches how the processors are shared from now on: between the descendants of a process and all others."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._turns_ns, self._own_s = _turns_ns(process), cpu_s(process)
        self._busy_s, self._stolen_s = _busy_and_stolen_s()
        self._began_s = time.monotonic()

    def until_now(self) -> Share:
        """Since the beginning; processes that ended are counted as long as they are not collected, and afterwards."""
        lasted_s = time.monotonic() - self._began_s
        ran_ns = waited_ns = 0
        for thread, (ran, waited) in _turns_ns(self._process).items():
            ran_before, waited_before = self._turns_ns.get(thread, (0, 0))
            ran_ns += max(ran - ran_before, 0)
            waited_ns += max(waited - waited_before, 0)
        busy_s, stolen_s = _busy_and_stolen_s()
        others_s = max(busy_s - self._busy_s - (cpu_s(self._process) - self._own_s), 0.0)
        processors_s = lasted_s * (psutil.cpu_count() or 1)
        return Share(
            waited=waited_ns / (ran_ns + waited_ns) if ran_ns + waited_ns else 0.0,
            others=min(others_s / processors_s, 1.0) if processors_s else 0.0,
            stolen=(stolen_s - self._stolen_s) / processors_s if processors_s else 0.0,
        )


def _turns_ns(process: psutil.Process) -> dict[int, tuple[int, int]]:
    """Of the threads of all descendants: time that each ran, and time that it could have but waited."""
    found: dict[int, tuple[int, int]] = {}
    for each in process.children(recursive=True):
        with suppress(ProcessLookupError):
            if os.sched_getscheduler(each.pid) == os.SCHED_IDLE:
                continue  # it waits for everybody, and that is what it is there for
        for schedule in Path(f"/proc/{each.pid}/task").glob("*/schedstat"):
            with suppress(OSError):  # it ended since it was listed
                ran_ns, waited_ns, _ = schedule.read_text(encoding="ascii").split()
                found[int(schedule.parent.name)] = (int(ran_ns), int(waited_ns))
    return found


def _busy_and_stolen_s() -> tuple[float, float]:
    """What all processors have done for processes since the machine's start; what its host did not let them do."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system, getattr(times, "steal", 0.0)


def peak_rss_mb(process_id: int) -> float:
    """High-water mark of a process's resident memory, MiB."""
    status = Path(f"/proc/{process_id}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * KIB / MIB
