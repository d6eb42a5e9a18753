"""Measure one program that moves files on a testbed: time, bytes, processor time of all its processes, and the path."""

import errno
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.support.processes import ProcessorShare, ProcessorWatch, measure_cpu_s
from benchmarks.testbed.errors import NothingMoved
from benchmarks.testbed.namespaces import Host
from benchmarks.testbed.path_spec import PathCounters
from benchmarks.testbed.testbed import Testbed
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.meters import build_assumed_profile
from tradewind_agent.meters.cpu_model import compute_modelled_energy_j

CUT_S = 60.0
"""A run that is not done by then is stopped and scored over the bytes it has."""

REPORTED_CHARACTERS = 300
"""Length of the end of a failed run's output that is reported."""

GRACE_S = 5.0
_LOOK_S = 0.1
_LOOKS = 10
"""Attempts to look at a folder in which files get other names meanwhile."""

Judge = Callable[[float, PathCounters], bool]
"""Returns whether a run need not continue, by its age in s and what the link has carried since it started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """The result of one run.

    Attributes
    ----------
    duration_s : from the start of the program to its end, or to the cut.
    bytes_done : bytes in the destination, unfinished files included; see `count_bytes_in`.
    cpu_s : user and system time of the program and all its descendants.
    cut : whether it was stopped at the time limit, or before by its judge.
    exit_code : of the program; negative for a signal, ``None`` when it was cut.
    path : what the link carried, dropped and lost meanwhile, other traffic included; and how late it was.
    share : how the processors were shared between program, servers and link on one side and all others.
    """

    duration_s: float
    bytes_done: int
    cpu_s: float
    cut: bool
    exit_code: int | None
    path: PathCounters
    share: ProcessorShare

    @property
    def throughput_bps(self) -> float:
        return BITS_PER_BYTE * self.bytes_done / self.duration_s

    def compute_modelled_energy_j(self) -> float:
        """Return the energy by the agent's CPU model at its assumed constants, for the client alone, J."""
        return self._compute_modelled_j(self.duration_s, self.cpu_s)

    def compute_modelled_dynamic_energy_j(self) -> float:
        """Return the energy that the idle client would not have taken, J."""
        return self._compute_modelled_j(0.0, self.cpu_s)

    def compute_per_gb(self, energy_j: float) -> float | None:
        """Return the energy by the bytes done, which makes cut runs comparable; ``None`` when nothing was done."""
        return 1e9 * energy_j / self.bytes_done if self.bytes_done else None

    def require_moved(self, name: str, log: Path) -> None:
        """Check that the run moved bytes, and ended well or was cut.

        Raises
        ------
        NothingMoved : it did not; the message has the end of its output in ``log``.
        """
        if self.bytes_done and self.exit_code in (0, None):
            return
        how = "was cut before it moved anything" if self.exit_code is None else f"ended with {self.exit_code}"
        output = (
            log.read_text(encoding="utf-8", errors="replace")[-REPORTED_CHARACTERS:].strip() if log.exists() else ""
        )
        raise NothingMoved(f"{name} {how}: {output}")

    @staticmethod
    def _compute_modelled_j(duration_s: float, cpu_s: float) -> float:
        cpus = psutil.cpu_count() or 1
        return compute_modelled_energy_j(build_assumed_profile(cpus), duration_s, cpu_s, cpus)


def run_measured(
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
    """Run a program on ``client`` until it ends, ``cut_s`` have passed or ``enough`` returns True.

    Parameters
    ----------
    destination : the folder that it fills, its own or, where it uploads, its server's; empty before.
    environment : the program's entire environment; this process's by default.
    log : where its output goes; nowhere by default.
    """
    before, shared = bed.read_counters(), ProcessorWatch(psutil.Process())
    started_s = time.monotonic()
    # A session of its own lets its descendants be stopped with it.
    program = bed.start(client, argv, log=log, env=environment, start_new_session=True)
    try:
        has_ended = _ends_by_itself(
            program.pid, started_s, cut_s, None if enough is None else _judge_by_counters(bed, before, enough)
        )
        duration_s = time.monotonic() - started_s
        if not has_ended:
            # Stop it first, so that nothing cleans up or continues while it is measured.
            os.killpg(program.pid, signal.SIGSTOP)
            used_s = measure_cpu_s(psutil.Process(program.pid))
            done = count_bytes_in(destination)
        path, share = bed.read_counters().subtract(before), shared.measure_share()
        if not has_ended:
            # Then ask it to end, so that it can still write its log.
            os.killpg(program.pid, signal.SIGTERM)
            os.killpg(program.pid, signal.SIGCONT)
            ends_within(program.pid, GRACE_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
    if has_ended:
        used_s, done = usage.ru_utime + usage.ru_stime, count_bytes_in(destination)
    return MeasuredRun(
        duration_s=duration_s,
        bytes_done=done,
        cpu_s=used_s,
        cut=not has_ended,
        exit_code=program.returncode if has_ended else None,
        path=path,
        share=share,
    )


def _judge_by_counters(bed: Testbed, before: PathCounters, enough: Judge) -> Callable[[float], bool]:
    return lambda age_s: enough(age_s, bed.read_counters().subtract(before))


def _ends_by_itself(process_id: int, started_s: float, cut_s: float, enough: Callable[[float], bool] | None) -> bool:
    """Return whether a child ends by itself, before the cut and before its judge has seen enough."""
    if enough is None:
        return ends_within(process_id, cut_s)
    while (age_s := time.monotonic() - started_s) < cut_s:
        if ends_within(process_id, min(_LOOK_S, cut_s - age_s)):
            return True
        if enough(time.monotonic() - started_s):
            return False
    return False


def ends_within(process_id: int, patience_s: float) -> bool:
    """Return whether a child ends within ``patience_s``, to the millisecond; do not collect it."""
    descriptor = os.pidfd_open(process_id)
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        return bool(poller.poll(1000 * patience_s))
    finally:
        os.close(descriptor)


class _FileCount(NamedTuple):
    inode: int
    written_bytes: int


def count_bytes_in(folder: Path) -> int:
    """Return the bytes written to the files below a folder.

    A tool may reserve a file's final size: only what has been written counts, because the rest is a hole or was
    reserved. File systems tell them apart (SEEK_DATA), in steps of their blocks.

    Programs that still write give files their final names meanwhile. A name that is gone is looked for again, and a
    file counts once, whatever its name.
    """
    written: dict[int, int] = {}
    for _ in range(_LOOKS):
        counts = [_count_written(Path(path, name)) for path, _, names in os.walk(folder) for name in names]
        written |= {count.inode: count.written_bytes for count in counts if count is not None}
        if None not in counts:
            break
    return sum(written.values())


def _count_written(path: Path) -> _FileCount | None:
    """Return the bytes written to a file; ``None`` if nothing has its name any more."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        end = status.st_size
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
        return _FileCount(status.st_ino, written)
    finally:
        os.close(descriptor)
