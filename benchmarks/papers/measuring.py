"""Runs of the papers' measurements on the testbed, each kept as soon as it is made.

What other work of the machine disturbed is made again after a pause; what stays disturbed does not count, and the next
start makes it once more. What another machine or kernel made is made again here, too; until then claims are judged by
it, as a record that names where it is from.
"""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path

from benchmarks.papers.catalogue import Facts
from benchmarks.papers.form import Measurable, Rows, mbps
from benchmarks.papers.grounds import SEED, Run, path_of
from benchmarks.papers.transfers import Ground, on_testbed
from benchmarks.papers.trial import SOURCES, Yard
from benchmarks.support.report import ROOT, name_machine
from benchmarks.support.sources import Sources, SourcesChanged
from benchmarks.testbed.soundness import PAUSES_S
from benchmarks.wan.runs import Row, RunLog
from tradewind.errors import TradewindError

RECORDS = ROOT / "benchmarks" / "records" / "papers.ndjson"
UNNAMED = "a machine that the record does not name"
"""Where rows were made that were kept before their keys had the machine."""

_PAUSES_S = PAUSES_S[:2]


@dataclass(frozen=True, slots=True)
class Record:
    """All that a claim is judged by, from one machine."""

    machine: str
    rows: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What there is to measure with.

    ``cut_s`` : a run that lasts longer is cut and stands for its bytes. ``ground`` : what makes single transfers.
    ``machine`` : this one and its kernel. ``sources`` : as the command began with them.
    """

    facts: Facts
    log: RunLog
    folder: Path
    cut_s: float
    prioritised: bool = False
    ground: Ground = on_testbed
    machine: str = field(default_factory=name_machine)
    sources: Sources = field(default_factory=partial(Sources.of, SOURCES))

    def rows(self, runs: Iterable[Measurable]) -> Rows:
        """Of these those that have been made here, while the machine was good enough."""
        return self._rows_of(self.machine, runs)

    def record(self, runs: Sequence[Measurable]) -> Record | None:
        """All of these, of this machine or of the other that has made them all last; ``None`` where none has."""
        latest_first = dict.fromkeys(row["machine"] for row in reversed(self.log.rows()) if "machine" in row)
        for machine in dict.fromkeys((self.machine, *latest_first, UNNAMED)):
            if len(rows := self._rows_of(machine, runs)) == len(set(runs)):
                return Record(machine, rows)
        return None

    def _rows_of(self, machine: str, runs: Iterable[Measurable]) -> Rows:
        digest = self.sources.digests
        found = {run: self.log.find(self.key(run, digest, machine)) for run in runs}
        return {run: row for run, row in found.items() if row is not None and row["disturbed"] is None}

    def current_key(self, run: Measurable) -> str:
        return self.key(run, self.sources.digests, self.machine)

    def key(self, run: Measurable, digest: Mapping[str, str], machine: str) -> str:
        """Of a row: what was run, by which sources, and where."""
        if isinstance(run, Run):
            what = f"{run.name}; {path_of(run.path, self.facts)}; {self.cut_s:g} s; {digest[_part(run)]}"
        else:
            what = f"{run.name}; {run.conditions(self.facts)}; {digest[_part(run)]}"
        return what if machine == UNNAMED else f"{what}; {machine}"

    def measure(self, runs: Iterable[Measurable]) -> None:
        """Make those that have not been made, with one testbed for all of the same path and files."""
        done = self.rows(runs := list(dict.fromkeys(runs)))
        left = [run for run in runs if run not in done]
        due = sorted((run for run in left if isinstance(run, Run)), key=lambda run: (run.path, run.files))
        yard = Yard(facts=self.facts, folder=self.folder, seed=SEED, prioritised=self.prioritised)
        for (path, files), same in groupby(due, key=lambda run: (run.path, run.files)):
            self._on_one_path(path, files, list(same), yard)
        for trial in left:
            if not isinstance(trial, Run):
                self._tried(trial, partial(trial.measured, yard), lambda _: "measured")

    def _tried(self, run: Measurable, make: Callable[[], Row], told: Callable[[Row], str]) -> None:
        """Keep it, or tell why it cannot be made: the others go on without it."""
        try:
            self._kept(run, make, told)
        except SourcesChanged:
            raise
        except TradewindError as reason:
            sys.stderr.write(f"  {run.name}: cannot be measured here: {reason}\n")

    def _kept(self, run: Measurable, make: Callable[[], Row], told: Callable[[Row], str]) -> None:
        """Keep what is made, and make it again where the machine was too busy for it.

        Raises
        ------
        SourcesChanged : while it was made; it is not kept.
        """
        key = self.current_key(run)
        for pause_s in (*_PAUSES_S, None):
            made = make()
            self.sources.require_unchanged(_part(run))
            row = self.log.add(key, {"run": run.name, "machine": self.machine, **made})
            wrong = row["disturbed"]
            again = "" if wrong is None else f" ({wrong}{'' if pause_s is None else '; it is made again'})"
            sys.stderr.write(f"  {run.name}: {told(row)}{again}\n")
            if wrong is None or pause_s is None:
                return
            time.sleep(pause_s)

    def _on_one_path(self, path: str, files: str, runs: list[Run], yard: Yard) -> None:
        """A run that fails leaves the others be; so does a path that cannot be emulated here."""
        try:
            with self.ground(path, files, yard, self.cut_s) as made:
                for run in runs:
                    self._tried(run, partial(made, run), lambda row: f"{mbps(row):.1f} Mbit/s")
        except SourcesChanged:
            raise
        except TradewindError as reason:
            sys.stderr.write(f"  {path}, {files}: {len(runs)} runs cannot be made here: {reason}\n")


def _part(run: Measurable) -> str:
    """Of `SOURCES`, that it depends on."""
    return "transfers" if isinstance(run, Run) else run.sort
