"""What processes cost, read from the kernel: processor time, and the high-water mark of memory."""

from pathlib import Path

import psutil

from tradewind.units import KIB, MIB

US_PER_S = 1e6


def cpu_s(process: psutil.Process) -> float:
    """Processor time of a process and its children, s; of those that ended too, once they were waited for."""
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        times = each.cpu_times()
        total += times.user + times.system + times.children_user + times.children_system
    return total


def cpu_waited_s() -> float | None:
    """Time since the start of this machine in which some process waited for a processor, s; ``None`` if not told."""
    pressure = Path("/proc/pressure/cpu")
    if not pressure.exists():
        return None
    some = pressure.read_text(encoding="ascii").splitlines()[0]
    return int(some.rpartition("total=")[2]) / US_PER_S


def peak_rss_mb(process_id: int) -> float:
    """High-water mark of a process's resident memory, MiB."""
    status = Path(f"/proc/{process_id}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * KIB / MIB
