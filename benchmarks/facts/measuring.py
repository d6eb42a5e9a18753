"""Runs of the papers' measurements on the testbed, each kept as soon as it is made.

What other work of the machine disturbed is made again after a pause; what stays disturbed does not count, and the next
start makes it once more.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from pathlib import Path

from benchmarks.facts.catalogue import Facts
from benchmarks.facts.form import Measurable, Rows, mbps
from benchmarks.facts.grounds import Run, path_of, sizes_of
from benchmarks.facts.trial import SOURCES, Trial, Yard
from benchmarks.report import ROOT
from benchmarks.sources import digests
from benchmarks.testbed import origins
from benchmarks.testbed.data_sets import write_files
from benchmarks.testbed.measured_run import measured_run
from benchmarks.testbed.peers import environment
from benchmarks.testbed.soundness import PAUSES_S, complaint
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.runs import Row, RunLog
from tradewind.errors import TradewindError

RECORDS = ROOT / "benchmarks" / "records" / "facts.ndjson"
SEED = 1
_SOURCES = {
    **SOURCES,
    "transfers": (
        "clients/python/tradewind_agent/engine",
        "clients/python/tradewind_agent/moving.py",
        "benchmarks/testbed",
        "benchmarks/facts/grounds.py",
        "benchmarks/facts/measuring.py",
    ),
}
_PAUSES_S = PAUSES_S[:2]


@cache
def _digests() -> Mapping[str, str]:
    """Of the sources as this process began with them."""
    return digests(_SOURCES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What there is to measure with. ``cut_s`` : a run that lasts longer is cut and stands for its bytes."""

    facts: Facts
    log: RunLog
    folder: Path
    cut_s: float
    ahead: bool = False

    def rows(self, runs: Iterable[Measurable]) -> Rows:
        """Of these those that have been made, on a machine that was good enough."""
        digest = _digests()
        found = {run: self.log.find(self.key(run, digest)) for run in runs}
        return {run: row for run, row in found.items() if row is not None and row["disturbed"] is None}

    def current_key(self, run: Measurable) -> str:
        return self.key(run, _digests())

    def key(self, run: Measurable, digest: Mapping[str, str]) -> str:
        if isinstance(run, Run):
            return f"{run.name}; {path_of(run.path, self.facts)}; {self.cut_s:g} s; {digest['transfers']}"
        return f"{run.name}; {run.conditions(self.facts)}; {digest[run.sort]}"

    def measure(self, runs: Iterable[Measurable]) -> None:
        """Make those that have not been made, with one testbed for all of the same path and files."""
        done = self.rows(runs := list(dict.fromkeys(runs)))
        left = [run for run in runs if run not in done]
        due = sorted((run for run in left if isinstance(run, Run)), key=lambda run: (run.path, run.files))
        for (path, files), same in groupby(due, key=lambda run: (run.path, run.files)):
            self._on_one_testbed(path, files, list(same))
        for trial in left:
            if not isinstance(trial, Run):
                self._tried(trial)

    def _tried(self, trial: Trial) -> None:
        yard = Yard(facts=self.facts, folder=self.folder, seed=SEED, ahead=self.ahead)
        try:
            self._kept(trial, lambda: trial.measured(yard), lambda _: "measured")
        except TradewindError as reason:  # what one needs may be missing here, and the others go on without it
            sys.stderr.write(f"  {trial.name}: cannot be measured here: {reason}\n")

    def _kept(self, run: Measurable, make: Callable[[], Row], told: Callable[[Row], str]) -> None:
        """Keep what is made, and make it again where the machine was too busy for it."""
        key = self.current_key(run)
        for pause_s in (*_PAUSES_S, None):
            row = self.log.add(key, {"run": run.name, **make()})
            wrong = row["disturbed"]
            again = "" if wrong is None else f" ({wrong}{'' if pause_s is None else '; it is made again'})"
            sys.stderr.write(f"  {run.name}: {told(row)}{again}\n")
            if wrong is None or pause_s is None:
                return
            time.sleep(pause_s)

    def _on_one_testbed(self, path: str, files: str, runs: list[Run]) -> None:
        sizes = sizes_of(files, self.facts, SEED)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="facts-") as work:
            Path(work).chmod(0o755)  # nginx may run as another account
            served = Path(work) / "served"
            write_files(served, sizes, SEED)
            with Testbed(path_of(path, self.facts), seed=SEED) as bed, origins.nginx(bed, served) as url:
                for run in runs:
                    make = partial(self._one, run, bed, url, Path(work), sum(sizes))
                    self._kept(run, make, lambda row: f"{mbps(row):.1f} Mbit/s")

    def _one(self, run: Run, bed: Testbed, url: str, work: Path, total_bytes: int) -> Row:
        with tempfile.TemporaryDirectory(dir=work, prefix="run-") as name:
            got, scratch = Path(name) / "got", Path(name) / "scratch"
            got.mkdir()
            scratch.mkdir()
            command = _command(run, url, got)
            ran = measured_run(
                bed,
                bed.clients[0],
                command,
                got,
                cut_s=self.cut_s,
                environment=environment(scratch),
                log=Path(name) / "log",
            )
            if not ran.bytes_done or ran.exit_code not in (0, None):
                raise NothingMoved(f"{run.name} ended with {ran.exit_code}: {(Path(name) / 'log').read_text()[-300:]}")
        return {
            "duration_s": ran.duration_s,
            "bytes_done": ran.bytes_done,
            "total_bytes": total_bytes,
            "cpu_s": ran.cpu_s,
            "energy_j": ran.modelled_energy_j(),
            "cut": ran.cut,
            "disturbed": complaint(ran.path, ran.share, rtt_s=bed.path.rtt_s, ahead=self.ahead and bed.link.is_ahead),
        }


class NothingMoved(TradewindError):
    """A run that failed says nothing of a claim."""


def _command(run: Run, url: str, destination: Path) -> list[str]:
    """Nothing is tuned while it runs."""
    setting = run.setting
    command = [sys.executable, "-P", "-m", "tradewind_agent", "copy", url, str(destination), "--json", "--no-tune"]
    command += ["--base-power", "0s", "--source", "server", "--destination", "client"]
    for option in ("concurrency", "parallelism", "pipelining"):
        command += [f"--{option}", str(getattr(setting, option))]
    return command if setting.io_block_bytes is None else [*command, "--io-block", str(setting.io_block_bytes)]
