"""Processes to limit: children of the test that do as told and end with it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.endings import Program

IDLE = "import sys; print('ready', flush=True); sys.stdin.read()"
"""Waits for the end of its input."""

BUSY = """
import os, sys, threading, time
def burn():
    while True:
        pass
threading.Thread(target=burn, daemon=True).start()
print('ready', flush=True)
sys.stdin.read()
os._exit(0)
"""
"""Keeps a processor busy in a thread."""


@contextmanager
def child(code: str = IDLE) -> Iterator["subprocess.Popen[str]"]:
    """A child that has begun; it is ended and reaped."""
    with Program([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def cpus_of(pid: int) -> set[int]:
    """CPUs that a process may use, as /proc tells."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("Cpus_allowed_list:"))
    cpus: set[int] = set()
    for part in line.split()[1].split(","):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def cpu_s(pid: int) -> float:
    """Processor time that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def groups_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text()


def notes(folder: Path) -> list[dict]:
    """What the ledger holds."""
    return [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]
