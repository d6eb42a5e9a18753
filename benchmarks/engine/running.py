"""One run of a program, with what the kernel says that it cost."""

import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind.errors import TradewindError
from tradewind.units import KIB, MIB


class ToolFailed(TradewindError):
    """A tool did not end with 0; the message has its last line."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a program took, with the children that it waited for: processor time and wall time, s; memory, MiB.

    The kernel counts the memory of this process at the start of the program as the program's own. So the memory is
    unknown (``None``) where the program itself did not need more.
    """

    cpu_s: float
    wall_s: float
    peak_rss_mb: float | None


def run_program(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Cost:
    """Run a program to its end.

    Raises
    ------
    ToolFailed : its exit code was not 0.
    """
    with log.open("wb") as output:
        started_s = time.perf_counter()
        program = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=dict(environment)
        )
        _, status, used = os.wait4(program.pid, 0)
        wall_s = time.perf_counter() - started_s
        program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode:
        printed = log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
        raise ToolFailed(f"{command[0]} ended with {program.returncode}: {printed[-1]}")
    is_own_peak = used.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Cost(used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss * KIB / MIB if is_own_peak else None)
