"""One program moving files on a testbed: time, bytes, processor time of its whole tree, and what the path did to it."""

import errno
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.support.processes import Share, Shared, cpu_s
from benchmarks.testbed.errors import NothingMoved
from benchmarks.testbed.namespaces import Host
from benchmarks.testbed.path_spec import PathCounters
from benchmarks.testbed.testbed import Testbed
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.meters import assumed_profile
from tradewind_agent.meters.cpu_model import modelled_energy_j

CUT_S = 60.0
"""A run that is not done by then is stopped and scored over the bytes it has."""

TOLD_CHARACTERS = 300
"""Of what a run that failed has said, its end."""

GRACE_S = 5.0
_LOOK_S = 0.1

Judge = Callable[[float, PathCounters], bool]
"""Whether a run need not go on, by its age in s and what the link has carried since it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """How one run went.

    Attributes
    ----------
    duration_s : from the start of the program to its end, or to the cut.
    bytes_done : in the destination, of files begun and not finished too; see `bytes_in`.
    cpu_s : user and system time of the program and all its descendants.
    cut : stopped at the time limit, or before by its judge.
    exit_code : of the program; negative for a signal, ``None`` when it was cut.
    path : what the link carried, dropped and lost meanwhile, other traffic included; and how late it was.
    share : how the processors were shared between program, servers and link on one side and everybody else.
    """

    duration_s: float
    bytes_done: int
    cpu_s: float
    cut: bool
    exit_code: int | None
    path: PathCounters
    share: Share

    @property
    def throughput_bps(self) -> float:
        return BITS_PER_BYTE * self.bytes_done / self.duration_s

    def modelled_energy_j(self) -> float:
        """By the agent's CPU model at its assumed constants, for the client alone."""
        return self._modelled_j(self.duration_s, self.cpu_s)

    def modelled_dynamic_energy_j(self) -> float:
        """What the idle client would not have taken anyway."""
        return self._modelled_j(0.0, self.cpu_s)

    def per_gb(self, energy_j: float) -> float | None:
        """Energy by the bytes done, which runs that were cut can be compared by; ``None`` when nothing was done."""
        return 1e9 * energy_j / self.bytes_done if self.bytes_done else None

    def require_moved(self, name: str, log: Path) -> None:
        """Whether the run says something: it moved bytes, and ended well or was cut.

        Raises
        ------
        NothingMoved : it does not; the message has the end of its output in ``log``.
        """
        if self.bytes_done and self.exit_code in (0, None):
            return
        how = "was cut before it moved anything" if self.exit_code is None else f"ended with {self.exit_code}"
        told = log.read_text(encoding="utf-8", errors="replace")[-TOLD_CHARACTERS:].strip() if log.exists() else ""
        raise NothingMoved(f"{name} {how}: {told}")

    @staticmethod
    def _modelled_j(duration_s: float, cpu_s: float) -> float:
        cpus = psutil.cpu_count() or 1
        return modelled_energy_j(assumed_profile(cpus), duration_s, cpu_s, cpus)


def measured_run(
    bed: Testbed,
    client: Host,
    argv: Sequence[str | Path],
    destination: Path,
    *,
    cut_s: float = CUT_S,
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
    enough: Judge | None = None,
) -> MeasuredRun:
    """Run a program on ``client`` until it ends, ``cut_s`` have passed or it is ``enough``.

    Parameters
    ----------
    destination : the folder that it fills; empty before.
    environment : the program's whole environment; this process's by default.
    log : where its output goes; nowhere by default.
    """
    before, shared = bed.counters(), Shared(psutil.Process())
    began_s = time.monotonic()
    # In a session of its own, so that its descendants can be stopped with it.
    program = bed.start(client, argv, log=log, env=environment, start_new_session=True)
    try:
        ended = _ends(program.pid, began_s, cut_s, None if enough is None else _looking(bed, before, enough))
        duration_s = time.monotonic() - began_s
        if not ended:
            # Stopped first, so that nothing tidies up or goes on while it is being measured.
            os.killpg(program.pid, signal.SIGSTOP)
            used_s = cpu_s(psutil.Process(program.pid))
            done = bytes_in(destination)
        path, share = bed.counters().since(before), shared.until_now()
        if not ended:
            # Then asked to end, so that a log of what it did may be written.
            os.killpg(program.pid, signal.SIGTERM)
            os.killpg(program.pid, signal.SIGCONT)
            ends_within(program.pid, GRACE_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
    if ended:
        used_s, done = usage.ru_utime + usage.ru_stime, bytes_in(destination)
    return MeasuredRun(
        duration_s=duration_s,
        bytes_done=done,
        cpu_s=used_s,
        cut=not ended,
        exit_code=program.returncode if ended else None,
        path=path,
        share=share,
    )


def _looking(bed: Testbed, before: PathCounters, enough: Judge) -> Callable[[float], bool]:
    return lambda age_s: enough(age_s, bed.counters().since(before))


def _ends(process_id: int, began_s: float, cut_s: float, enough: Callable[[float], bool] | None) -> bool:
    """Whether a child ends by itself, before the cut and before its judge has seen enough."""
    if enough is None:
        return ends_within(process_id, cut_s)
    while (age_s := time.monotonic() - began_s) < cut_s:
        if ends_within(process_id, min(_LOOK_S, cut_s - age_s)):
            return True
        if enough(time.monotonic() - began_s):
            return False
    return False


def ends_within(process_id: int, patience_s: float) -> bool:
    """Wait for a child's end without collecting it, to the millisecond."""
    descriptor = os.pidfd_open(process_id)
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        return bool(poller.poll(1000 * patience_s))
    finally:
        os.close(descriptor)


def bytes_in(folder: Path) -> int:
    """Bytes written to the files below a folder.

    Of a file that a tool has made as large as it is going to be, only what has been written counts: the rest is a hole
    or was reserved, which file systems tell apart (SEEK_DATA), in steps of their blocks.
    """
    return sum(_written(path) for path in folder.rglob("*") if path.is_file())


def _written(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        end = os.fstat(descriptor).st_size
        position = written = 0
        while position < end:
            try:
                start = os.lseek(descriptor, position, os.SEEK_DATA)
            except OSError as failure:
                if failure.errno == errno.ENXIO:  # nothing but a hole from here on
                    break
                raise
            position = os.lseek(descriptor, start, os.SEEK_HOLE)
            written += position - start
        return written
    finally:
        os.close(descriptor)
