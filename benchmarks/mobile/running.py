"""Make single transfers of our engine over a path: look them up first, and repeat disturbed ones."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mobile.cells import Setting
from benchmarks.support.report import name_machine
from benchmarks.support.sources import Sources
from benchmarks.testbed import origins
from benchmarks.testbed.data_sets import write_files
from benchmarks.testbed.measured_run import MeasuredRun, run_measured
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.peers import clean_environment
from benchmarks.testbed.soundness import find_disturbance, repeat_until_undisturbed
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.runs import Row, RunLog

_AGENT = "clients/python/tradewind_agent"
_PART = "mobile"
PARTS = {
    _PART: (
        f"{_AGENT}/engine",
        *(f"{_AGENT}/copy/{name}.py" for name in ("run", "plan", "moving")),
        "benchmarks/testbed",
        "benchmarks/mobile/cells.py",
        "benchmarks/mobile/running.py",
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PhonePath:
    """A path with one data set behind it.

    ``prioritised`` : whether runs have precedence over all other programs. ``sources`` : those with which the benchmark
    started. ``repeats_disturbed`` : whether runs that other programs disturbed are repeated.
    """

    bed: Testbed
    url: str
    name: str
    total_bytes: int
    folder: Path
    cut_s: float
    prioritised: bool
    sources: Sources
    repeats_disturbed: bool = True

    def run(self, setting: Setting, log: RunLog, repeat: int = 0) -> Row:
        """Make one transfer to an empty destination, or return the stored one; another ``repeat`` is another transfer.

        Raises
        ------
        MachineTooBusy : other programs disturbed every attempt.
        NothingMoved : it failed.
        SourcesChanged : while it was made; it is not stored.
        """
        key = self.build_key(setting, repeat)
        if (row := log.find(key)) is not None:
            return row
        measured = self._run_until_sound(setting)
        self.sources.require_unchanged(_PART)
        row = log.add(
            key,
            {
                "ground": self.name,
                "concurrency": setting.concurrency,
                "parallelism": setting.parallelism,
                "io_block_bytes": setting.io_block_bytes,
                "duration_s": measured.duration_s,
                "bytes_done": measured.bytes_done,
                "total_bytes": self.total_bytes,
                "cpu_s": measured.cpu_s,
                "cut": measured.cut,
                "exit_code": measured.exit_code,
            },
        )
        sys.stderr.write(f"  {self.name}, {setting.name}: {measured.throughput_bps / 1e6:.1f} Mbit/s\n")
        return row

    def build_key(self, setting: Setting, repeat: int = 0) -> str:
        """Return what a run's figures depend on, with this machine and its kernel."""
        parts = [self.name, str(self.bed.path), setting.name, f"{self.total_bytes} B", f"{self.cut_s:g} s"]
        parts += [name_machine(), self.sources.digests[_PART]]
        return "; ".join([*parts, *([f"turn {repeat}"] if repeat else [])])

    def _run_until_sound(self, setting: Setting) -> MeasuredRun:
        """Make the run; repeat a disturbed one."""
        if not self.repeats_disturbed:
            return self._run_once(setting)

        def find_fault(ran: MeasuredRun) -> str | None:
            return find_disturbance(ran.path, ran.share, rtt_s=self.bed.path.rtt_s, prioritised=self.prioritised)

        return repeat_until_undisturbed(f"{self.name}, {setting.name}", lambda: self._run_once(setting), find_fault)

    def _run_once(self, setting: Setting) -> MeasuredRun:
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="run-") as name:
            got, scratch = Path(name) / "got", Path(name) / "scratch"
            got.mkdir()
            scratch.mkdir()
            ran = run_measured(
                self.bed,
                self.bed.clients[0],
                _build_copy_command(self.url, got, setting),
                got,
                cut_s=self.cut_s,
                environment=clean_environment(scratch),
                log=scratch.with_name("log"),
            )
            ran.require_moved(f"{self.name}, {setting.name}", scratch.with_name("log"))
            return ran


def _build_copy_command(url: str, destination: Path, setting: Setting) -> list[str]:
    """Return the command: one request in flight a connection, like the paper's client; no tuning while it runs."""
    command = [sys.executable, "-P", "-m", "tradewind_agent", "copy", url, str(destination), "--json", "--no-tune"]
    command += ["--base-power", "0s", "--source", "server", "--destination", "phone", "--pipelining", "1"]
    command += ["--concurrency", str(setting.concurrency), "--parallelism", str(setting.parallelism)]
    return command if setting.io_block_bytes is None else [*command, "--io-block", str(setting.io_block_bytes)]


@contextmanager
def set_up_phone_path(
    path: PathSpec,
    name: str,
    sizes: Sequence[int],
    *,
    seed: int,
    folder: Path,
    cut_s: float,
    prioritised: bool,
    sources: Sources,
    repeats_disturbed: bool = True,
) -> Iterator[PhonePath]:
    """Set up a path with nginx behind it that serves files of these sizes; remove all of it in the end."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="mobile-") as work:
        Path(work).chmod(0o755)  # nginx may run as another account
        served = Path(work) / "served"
        write_files(served, sizes, seed)
        with Testbed(path, seed=seed) as bed, origins.run_nginx(bed, served) as url:
            yield PhonePath(
                bed=bed,
                url=url,
                name=name,
                total_bytes=sum(sizes),
                folder=Path(work),
                cut_s=cut_s,
                prioritised=prioritised and bed.link.is_real_time,
                sources=sources,
                repeats_disturbed=repeats_disturbed,
            )
