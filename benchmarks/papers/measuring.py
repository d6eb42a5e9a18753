"""Make the runs of the papers' measurements on the testbed, and store each as soon as it is made.

A disturbed run is repeated after a pause; a run that stays disturbed does not count, and the next start repeats it.
Runs of another machine or kernel are made again here, too, and so are those of sources that have changed since. Until
then claims are judged by them, as a record that names its machine and says so.
"""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path

from benchmarks.papers.catalogue import Claims
from benchmarks.papers.form import Measurable, Rows, compute_mbps
from benchmarks.papers.paths import SEED, Run, find_window_bytes, make_path
from benchmarks.papers.transfers import SetUp, set_up_on_testbed
from benchmarks.papers.trial import SOURCES, TrialSite
from benchmarks.support.report import ROOT, name_machine
from benchmarks.support.sources import Sources, SourcesChanged, is_digest
from benchmarks.testbed.soundness import PAUSES_S
from benchmarks.wan.runs import Row, RunLog
from tradewind.errors import TradewindError

RECORDS = ROOT / "benchmarks" / "records" / "papers.ndjson"
UNNAMED = "a machine that the record does not name"
"""The machine of rows that were stored before their keys had the machine."""

_PAUSES_S = PAUSES_S[:2]


@dataclass(frozen=True, slots=True)
class Record:
    """The rows that a claim is judged by, all from one machine.

    ``is_current`` : whether all were made by today's sources.
    """

    machine: str
    rows: Rows
    is_current: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """What is needed to measure.

    ``cut_s`` : a longer run is cut and scored by its bytes. ``set_up`` : sets up single transfers. ``machine`` : this
    one and its kernel. ``sources`` : those with which the command started.
    """

    claims: Claims
    log: RunLog
    folder: Path
    cut_s: float
    prioritised: bool = False
    set_up: SetUp = set_up_on_testbed
    machine: str = field(default_factory=name_machine)
    sources: Sources = field(default_factory=partial(Sources.of, SOURCES))

    def find_rows(self, runs: Iterable[Measurable]) -> Rows:
        """Return the rows of those runs that this machine has made undisturbed."""
        return self._find_rows(self.machine, runs)

    def find_record(self, runs: Sequence[Measurable]) -> Record | None:
        """Return all rows of this machine, or of the one that was last to make them all; ``None`` where none has.

        Rows of today's sources go before those of earlier ones, wherever they were made.
        """
        latest_first = dict.fromkeys(row["machine"] for row in reversed(self.log.list_rows()) if "machine" in row)
        for is_current in (True, False):
            for machine in dict.fromkeys((self.machine, *latest_first, UNNAMED)):
                rows = self._find_rows(machine, runs, is_current=is_current)
                if len(rows) == len(set(runs)):
                    return Record(machine, rows, is_current)
        return None

    def _find_rows(self, machine: str, runs: Iterable[Measurable], *, is_current: bool = True) -> Rows:
        find = self._find_row if is_current else self._find_row_of_any_sources
        found = {run: find(run, machine) for run in runs}
        return {run: row for run, row in found.items() if row is not None and row["disturbed"] is None}

    def _find_row(self, run: Measurable, machine: str) -> Row | None:
        return self.log.find(self.build_key(run, self.sources.digests, machine))

    def _find_row_of_any_sources(self, run: Measurable, machine: str) -> Row | None:
        """Return the row of today's sources, or else the last undisturbed one of earlier sources."""
        start, end = self.build_key(run, dict.fromkeys(SOURCES, "\0"), machine).split("\0")
        earlier = self.log.find_last(
            lambda row: row["disturbed"] is None and _has_digest_between(start, end, row["key"])
        )
        return self._find_row(run, machine) or earlier

    def build_current_key(self, run: Measurable) -> str:
        return self.build_key(run, self.sources.digests, self.machine)

    def build_key(self, run: Measurable, digest: Mapping[str, str], machine: str) -> str:
        """Return the key of a row: what was run, by which sources, and where."""
        if isinstance(run, Run):
            window = find_window_bytes(run, self.claims)
            limited = "" if window is None else f", window {window} B"
            what = (
                f"{run.name}; {make_path(run.path, self.claims)}{limited}; {self.cut_s:g} s; {digest[_find_part(run)]}"
            )
        else:
            what = f"{run.name}; {run.describe_conditions(self.claims)}; {digest[_find_part(run)]}"
        return what if machine == UNNAMED else f"{what}; {machine}"

    def measure(self, runs: Iterable[Measurable]) -> None:
        """Make the missing runs, with one testbed for all of the same path and files."""
        done = self.find_rows(runs := list(dict.fromkeys(runs)))
        missing = [run for run in runs if run not in done]
        due = sorted((run for run in missing if isinstance(run, Run)), key=lambda run: (run.path, run.files))
        yard = TrialSite(claims=self.claims, folder=self.folder, seed=SEED, prioritised=self.prioritised)
        for (path, files), same in groupby(due, key=lambda run: (run.path, run.files)):
            self._run_on_one_path(path, files, list(same), yard)
        for trial in missing:
            if not isinstance(trial, Run):
                self._try_to_measure(trial, partial(trial.measure, yard), lambda _: "measured")

    def _try_to_measure(self, run: Measurable, make: Callable[[], Row], format_row: Callable[[Row], str]) -> None:
        """Store a row, or report why it cannot be measured: the others continue without it."""
        try:
            self._measure_and_store(run, make, format_row)
        except SourcesChanged:
            raise
        except TradewindError as reason:
            sys.stderr.write(f"  {run.name}: cannot be measured here: {reason}\n")

    def _measure_and_store(self, run: Measurable, make: Callable[[], Row], format_row: Callable[[Row], str]) -> None:
        """Store what is made, and repeat it where the machine was too busy.

        Raises
        ------
        SourcesChanged : while it was made; it is not stored.
        """
        key = self.build_current_key(run)
        for pause_s in (*_PAUSES_S, None):
            made = make()
            self.sources.require_unchanged(_find_part(run))
            row = self.log.add(key, {"run": run.name, "machine": self.machine, **made})
            disturbance = row["disturbed"]
            note = "" if disturbance is None else f" ({disturbance}{'' if pause_s is None else '; it is repeated'})"
            sys.stderr.write(f"  {run.name}: {format_row(row)}{note}\n")
            if disturbance is None or pause_s is None:
                return
            time.sleep(pause_s)

    def _run_on_one_path(self, path: str, files: str, runs: list[Run], yard: TrialSite) -> None:
        """Make runs on one path; a run that fails does not stop the others, nor does a path that cannot be emulated
        here.
        """
        try:
            with self.set_up(path, files, yard, self.cut_s) as make:
                for run in runs:
                    self._try_to_measure(run, partial(make, run), lambda row: f"{compute_mbps(row):.1f} Mbit/s")
        except SourcesChanged:
            raise
        except TradewindError as reason:
            sys.stderr.write(f"  {path}, {files}: {len(runs)} runs cannot be made here: {reason}\n")


def _has_digest_between(start: str, end: str, key: str) -> bool:
    return key.startswith(start) and key.endswith(end) and is_digest(key[len(start) : len(key) - len(end)])


def _find_part(run: Measurable) -> str:
    """Return the part of `SOURCES` that a run depends on."""
    return "transfers" if isinstance(run, Run) else run.source_part
