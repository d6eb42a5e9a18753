"""Run transfers on a testbed: each a driver of its own, several at once, all measured by the same clock."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import psutil

from benchmarks.support.processes import ProcessorShare, ProcessorWatch
from benchmarks.testbed import origins
from benchmarks.testbed.data_sets import write_files
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.measured_run import ends_within
from benchmarks.testbed.path_spec import PathCounters, PathSpec
from benchmarks.testbed.soundness import MachineTooBusy, find_disturbance
from benchmarks.testbed.testbed import Testbed
from benchmarks.tuning.driver import TickRow
from benchmarks.tuning.task import TICK_S, Task

FILE_BYTES = 4_000_000
FILES = 8
GRACE_S = 30.0
MOST_LATE_TICK_S = 0.1
"""A tick that ends later means that the transfer's own process did not run.

Of 145 runs on a quiet machine no tick was more than 20 ms late. Next to other benchmarks of the same precedence some
were 0.6 to 3 s late, and the throughput of that tick fell to a half, whatever the tuner did.
"""
_POLL_S = 0.02
_MODULE = "benchmarks.tuning.driver"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSpec:
    """One transfer to run: its tuner, what the tuner starts from, and its target."""

    tuner: str
    ticks: int
    table: Path | None = None
    setting: tuple[int, int, int] | None = None
    target_bps: float | None = None
    tick_s: float = TICK_S


@dataclass
class TransferTestbed:
    """A testbed with an origin whose files never run out.

    Attributes
    ----------
    known : the path as tuners get it at the start.
    prioritised : whether transfers have precedence over all other programs.
    path, share : of the last `run`: what the link did, and who had the processors.
    latest_tick_s : of the last `run`: by how much the longest tick of a transfer was too long.
    """

    bed: Testbed
    url: str
    known: PathSpec
    folder: Path
    prioritised: bool
    path: PathCounters = field(init=False)
    share: ProcessorShare = field(init=False)
    latest_tick_s: float = field(init=False, default=0.0)
    _started_count: int = field(default=0, init=False)

    def run(
        self,
        specs: Sequence[TransferSpec],
        *,
        apart_s: float = 0.0,
        changes: Mapping[int, Callable[[], None]] = MappingProxyType({}),
    ) -> list[list[TickRow]]:
        """Run transfers, each on a client of its own, started ``apart_s`` after one another; return the ticks of each.

        ``changes`` are made once the first transfer has shown so many ticks: at the end of a tick, not within it.
        """
        running: list[tuple[subprocess.Popen[bytes], Path]] = []
        before, shared = self.bed.read_counters(), ProcessorWatch(psutil.Process())
        try:
            for client, spec in enumerate(specs):
                time.sleep(apart_s if client else 0.0)
                running.append(self._start(spec, client))
            for tick, change in sorted(changes.items()):
                _wait_for_tick(*running[0], tick, patience_s=tick * specs[0].tick_s + GRACE_S)
                change()
            for spec, (program, _) in zip(specs, running, strict=True):
                ends_within(program.pid, spec.ticks * spec.tick_s + GRACE_S)
            self.path, self.share = self.bed.read_counters().subtract(before), shared.measure_share()
        finally:
            for program, _ in running:
                program.kill()
                program.wait()
        runs = [_read_rows(program, folder) for program, folder in running]
        self.latest_tick_s = max(
            (row["interval_s"] - spec.tick_s for spec, rows in zip(specs, runs, strict=True) for row in rows),
            default=0.0,
        )
        return runs

    def require_sound(self) -> None:
        """Raise an error where the machine was not good enough for the last `run`.

        Raises
        ------
        MachineTooBusy : the message says why.
        """
        if (
            disturbance := find_disturbance(self.path, self.share, rtt_s=self.known.rtt_s, prioritised=self.prioritised)
        ) is not None:
            raise MachineTooBusy(f"{disturbance}; measure when the machine is quiet")
        if self.latest_tick_s > MOST_LATE_TICK_S:
            raise MachineTooBusy(
                f"a transfer's process stood still for {1e3 * self.latest_tick_s:.0f} ms; "
                f"{1e3 * MOST_LATE_TICK_S:.0f} ms are tolerable; measure when the machine is quiet"
            )

    def _start(self, spec: TransferSpec, client: int) -> tuple[subprocess.Popen[bytes], Path]:
        self._started_count += 1
        folder = self.folder / f"transfer-{self._started_count}"
        (folder / "got").mkdir(parents=True)
        (folder / "task.json").write_text(self._build_task(spec, folder / "got").to_json(), encoding="utf-8")
        command: list[str | Path] = [sys.executable, "-P", "-m", _MODULE, folder / "task.json"]
        output, errors = (folder / "rows").open("wb"), (folder / "errors").open("wb")
        with output, errors:
            return self.bed.start(self.bed.clients[client], command, stdout=output, stderr=errors), folder

    def _build_task(self, spec: TransferSpec, destination: Path) -> Task:
        most_bytes = 2 * _HIGHEST_BPS * spec.ticks * spec.tick_s / 8
        return Task(
            tuner=spec.tuner,
            url=self.url,
            names=tuple(f"{number:05d}.bin" for number in range(FILES)),
            file_bytes=FILE_BYTES,
            rounds=1 + int(most_bytes / (FILES * FILE_BYTES)),
            destination=str(destination),
            ticks=spec.ticks,
            bandwidth_bps=self.known.rate_bps,
            rtt_s=self.known.rtt_s,
            loss_rate=self.known.loss_rate,
            table=None if spec.table is None else str(spec.table),
            setting=spec.setting,
            target_bps=spec.target_bps,
            tick_s=spec.tick_s,
        )


_HIGHEST_BPS = 200e6
"""No path of this benchmark is faster: so much is always left to move that no tuner sees the end."""


def _wait_for_tick(program: subprocess.Popen[bytes], folder: Path, tick: int, *, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while (folder / "rows").read_bytes().count(b"\n") < tick and program.poll() is None:
        if time.monotonic() > deadline:
            raise EmulationBroke(f"a transfer has not come to its tick {tick} in {patience_s:.0f} s")
        time.sleep(_POLL_S)


def _read_rows(program: subprocess.Popen[bytes], folder: Path) -> list[TickRow]:
    errors = (folder / "errors").read_text(encoding="utf-8", errors="replace").strip()
    rows = [json.loads(line) for line in (folder / "rows").read_text(encoding="utf-8").splitlines()]
    shutil.rmtree(folder)
    if program.returncode:
        raise EmulationBroke(
            f"a transfer ended with {program.returncode}: {errors.splitlines()[-1] if errors else '-'}"
        )
    return rows


@contextmanager
def set_up_transfers(
    path: PathSpec, *, clients: int = 1, seed: int, folder: Path, prioritised: bool = False
) -> Iterator[TransferTestbed]:
    """Set up a path with its origin; remove what is written in ``folder`` in the end."""
    work = folder / f"yard-{time.monotonic_ns()}"
    try:
        write_files(work / "served", [FILE_BYTES] * FILES, seed)
        with Testbed(path, clients=clients, seed=seed) as bed, origins.run_nginx(bed, work / "served") as url:
            yield TransferTestbed(bed, url, path, work, prioritised and bed.link.is_real_time)
    finally:
        shutil.rmtree(work, ignore_errors=True)
