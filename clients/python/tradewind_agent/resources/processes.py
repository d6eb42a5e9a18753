"""Identify processes such that a later one with the same number is not confused with them."""

from dataclasses import dataclass
from pathlib import Path

import psutil

_STARTED_FIELD = 19
"""Of /proc/PID/stat behind the command's name: field 22 of proc(5), clock ticks since boot."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process: its number, when it started, and in which boot of the machine."""

    pid: int
    started_ticks: int
    boot: str


def identify(pid: int, proc: Path) -> ProcessIdentity | None:
    """Return the process with this number; ``None`` if there is none, or only a zombie."""
    try:
        stat = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
        boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if stat[0] in "ZX" else ProcessIdentity(pid, int(stat[_STARTED_FIELD]), boot)


def list_tree(pid: int) -> tuple[int, ...]:
    """Return the process and all its descendants; empty if it is gone."""
    try:
        root = psutil.Process(pid)
        return (pid, *(child.pid for child in root.children(recursive=True)))
    except psutil.NoSuchProcess:
        return ()


def list_threads(pid: int, proc: Path) -> tuple[int, ...]:
    """Return the threads of a process; empty if it is gone."""
    try:
        return tuple(int(task.name) for task in (proc / str(pid) / "task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return ()
