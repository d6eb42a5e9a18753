"""How busy a host and a process tree are: counters read by psutil, and the utilisation between two readings."""

import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tradewind.transfer import ResourceUsage
from tradewind.units import BITS_PER_BYTE

_BITS_PER_MEGABIT = 1e6  # psutil gives interface speeds in Mbit/s
_MODEL_NAME = re.compile(r"^(?:model name|Model|cpu model|cpu)\s*:\s*(.+?)\s*$", re.MULTILINE)
_ARM_MODEL = re.compile(r"^CPU (?:implementer|part)\s*:\s*(\S+)", re.MULTILINE)
"""Linux numbers the models of 64-bit Arm processors, and names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCounters:
    """Counters of one moment; all but ``memory`` only ever grow.

    Attributes
    ----------
    at_s : monotonic clock.
    busy_cpu_s : CPU time in which any of the host's processors was neither idle nor waiting for a disk.
    tree_cpu_s : CPU time of the watched process and all its descendants, ended ones included.
    memory : share of the host's memory in use now, 0..1.
    disk_busy_s : per disk, time in which it worked on requests.
    sent_bytes, received_bytes : per network interface.
    nic_speed_bps : per interface whose speed is known; the loopback has none.
    """

    at_s: float
    logical_cpus: int
    busy_cpu_s: float
    tree_cpu_s: float
    memory: float
    disk_busy_s: Mapping[str, float] = field(default_factory=dict)
    sent_bytes: Mapping[str, float] = field(default_factory=dict)
    received_bytes: Mapping[str, float] = field(default_factory=dict)
    nic_speed_bps: Mapping[str, float] = field(default_factory=dict)


def compute_usage(earlier: HostCounters, later: HostCounters) -> ResourceUsage:
    """Mean utilisation of the host from one reading to a later one, 0..1 each.

    A disk's is the share of time it was busy, the network's the busier direction's share of the interface's speed; of
    several disks or interfaces the busiest counts. An unknown value is None, never 0.
    """
    duration_s = later.at_s - earlier.at_s
    if duration_s <= 0:
        return ResourceUsage(memory=later.memory)
    disks = _compute_growth(earlier.disk_busy_s, later.disk_busy_s)
    directions = (
        _compute_growth(earlier.sent_bytes, later.sent_bytes),
        _compute_growth(earlier.received_bytes, later.received_bytes),
    )
    nics = [
        BITS_PER_BYTE * grown[name] / (speed_bps * duration_s)
        for grown in directions
        for name, speed_bps in later.nic_speed_bps.items()
        if name in grown
    ]
    return ResourceUsage(
        cpu=_clamp_share((later.busy_cpu_s - earlier.busy_cpu_s) / (later.logical_cpus * duration_s)),
        memory=(earlier.memory + later.memory) / 2,
        disk=_clamp_share(max(disks.values()) / duration_s) if disks else None,
        nic=_clamp_share(max(nics)) if nics else None,
    )


class HostReader:
    """Reads the counters of this host and of a process tree.

    Parameters
    ----------
    clock : monotonic seconds.
    pid : root of the tree; this process by default.
    """

    def __init__(self, clock: Callable[[], float], *, pid: int | None = None) -> None:
        self._clock = clock
        self._root = psutil.Process(os.getpid() if pid is None else pid)
        self._tree_cpu_s = 0.0

    def read(self) -> HostCounters:
        """Read the counters of this moment; this takes a few milliseconds."""
        times = psutil.cpu_times()
        disks = psutil.disk_io_counters(perdisk=True) or {}
        nics = psutil.net_io_counters(pernic=True) or {}
        return HostCounters(
            at_s=self._clock(),
            logical_cpus=psutil.cpu_count() or 1,
            busy_cpu_s=sum(times) - times.idle - getattr(times, "iowait", 0.0) - _compute_guest_s(times),
            tree_cpu_s=self._read_tree_cpu_s(),
            memory=psutil.virtual_memory().percent / 100,
            disk_busy_s={name: disk.busy_time / 1000 for name, disk in disks.items() if hasattr(disk, "busy_time")},
            sent_bytes={name: nic.bytes_sent for name, nic in nics.items()},
            received_bytes={name: nic.bytes_recv for name, nic in nics.items()},
            nic_speed_bps={
                name: nic.speed * _BITS_PER_MEGABIT for name, nic in psutil.net_if_stats().items() if nic.speed > 0
            },
        )

    def _read_tree_cpu_s(self) -> float:
        """CPU time of the tree; a process that ended is in its parent's children's time once it is reaped."""
        total_s = 0.0
        for process in self._list_members():
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue  # it ended since it was listed
            total_s += times.user + times.system + times.children_user + times.children_system
        # Between the end of a process and its reaping its time is nowhere: never count backwards.
        self._tree_cpu_s = max(self._tree_cpu_s, total_s)
        return self._tree_cpu_s

    def _list_members(self) -> Iterator[psutil.Process]:
        """Yield the processes of the tree, each after its parent."""
        waiting = [self._root]
        while waiting:
            process = waiting.pop()
            with suppress(psutil.NoSuchProcess):
                waiting += _list_children(process)
            yield process


def describe_processors(procfs: Path = Path("/proc")) -> str:
    """Return model and number of this host's logical CPUs, in the words of its kernel where it has some.

    Those count, too, that are switched off now, as threads of a core may be.
    """
    try:
        text = (procfs / "cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    named = _MODEL_NAME.search(text)
    name = named[1] if named else " ".join([platform.machine(), *_ARM_MODEL.findall(text)[:2]])
    return f"{_count_processors()} × {name}"


def _count_processors() -> int:
    try:
        return max(os.sysconf("SC_NPROCESSORS_CONF"), 1)
    except (AttributeError, OSError, ValueError):  # a system without this count
        return psutil.cpu_count() or 1


def _list_children(process: psutil.Process) -> Iterator[psutil.Process]:
    """Yield the children of a process from the kernel's lists by thread, where it has them.

    Asking every process of the host for its parent takes far longer.
    """
    threads = Path(psutil.PROCFS_PATH, str(process.pid), "task")
    if not (threads / str(process.pid) / "children").exists():
        yield from process.children()
        return
    try:
        lists = list(threads.glob("*/children"))
    except OSError:  # the process has ended since
        return
    for children_file in lists:
        with suppress(OSError):  # the thread has ended since
            for child in children_file.read_text().split():
                with suppress(psutil.NoSuchProcess):
                    yield psutil.Process(int(child))


def _compute_guest_s(times: object) -> float:
    """Linux counts guests' time as user time too."""
    return float(getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0))


def _compute_growth(earlier: Mapping[str, float], later: Mapping[str, float]) -> dict[str, float]:
    return {name: value - earlier[name] for name, value in later.items() if name in earlier}


def _clamp_share(value: float) -> float:
    """Clock granularity can carry a ratio a little out of 0..1."""
    return min(max(value, 0.0), 1.0)
