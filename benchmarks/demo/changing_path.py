"""The last act: a copy on a path that becomes worse half-way, tuned while it runs, and the same copy untuned."""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from benchmarks.demo.course import Course
from benchmarks.demo.files import THUMBNAILS, write_folder
from benchmarks.demo.stack import EmulatedPath, PathOptions
from benchmarks.support.report import ROOT, Value, format_table
from tradewind.errors import TradewindError
from tradewind.tuning import DecisionKind
from tradewind.units import format_bps, format_bytes, parse_bps, parse_seconds
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.tuning.ticks import Tick

SOURCE = "archive"
"""Another endpoint than that of the first acts, so that its link has a history of its own."""

PATH = PathOptions(rate="20Mbps", rtt="60ms", loss="0.1%")
THEN = PathOptions(rate="20Mbps", rtt="240ms", loss="0.4%")
"""Like a detour: the path is as wide as before, but each stream carries an eighth.

It is slow enough for two copies at once on two cores, and for half a minute of decisions out of few bytes.
"""

RECORDED = ROOT / "benchmarks" / "demo" / "recorded" / "archive.ndjson"
"""History of that path, made by ``python -m benchmarks.demo.record archive``: the demo has no time for it."""

FILES_MOVED = 150

TICK_S = 1.0
"""Shorter than the usual 5 s, so that a transfer of half a minute has many decisions."""

CHANGES_AFTER_S = 6.2
"""Six ticks of the path as it was learned; the rest then lasts for eight more at least."""

BUILDING_UP_S = 2.0
"""Slow start, left out of the rate before the change."""


def write_files(folder: Path, seed: int) -> str:
    """Write the files of this act, drawn independently of all others; describe them."""
    moved = write_folder(folder, {THUMBNAILS: FILES_MOVED}, random.Random(seed))
    return f"{FILES_MOVED} {THUMBNAILS.name}, {format_bytes(moved)}"


def read_history() -> list[bytes]:
    """Return the log rows of this act's link."""
    return RECORDED.read_bytes().splitlines()


def build_copy_options(*, tune: bool) -> CopyOptions:
    """Return the options of the copies of this act."""
    return CopyOptions(
        source=SOURCE,
        destination="agent",
        bandwidth_bps=parse_bps(PATH.rate),
        rtt_s=parse_seconds(PATH.rtt),
        tune=tune,
        tick_s=TICK_S,
    )


@dataclass(frozen=True, kw_only=True)
class PathChangeOutcome:
    """The outcome: the tuned copy's report, and the courses of both copies on one clock.

    ``started_at_s``, ``changed_at_s``, ``finished_at_s`` : of the tuned copy and its path; the untuned copy is cut
    there.
    """

    report: CopyReport
    tuned: Course
    untuned: Course
    started_at_s: float
    changed_at_s: float
    finished_at_s: float

    @property
    def changed_s(self) -> float:
        """When the path changed, since the start, s."""
        return self.changed_at_s - self.started_at_s

    @property
    def retunes(self) -> list[tuple[Tick, Tick]]:
        """Ticks after the change that set other streams because of what the tuner saw, each with the tick before.

        Changes because files or channels run out do not count.
        """
        return [pair for pair in self._retunes if pair[1].elapsed_s > self.changed_s]

    @property
    def early_retunes(self) -> int:
        """Retunes before the change: on a busy machine a copy may stall on an unchanged path."""
        return len(self._retunes) - len(self.retunes)

    @property
    def _retunes(self) -> list[tuple[Tick, Tick]]:
        return [
            (before, tick)
            for before, tick in pairwise(self.report.timeline)
            if _count_streams(tick) != _count_streams(before)
            and tick.verdict.kind not in (DecisionKind.REDISTRIBUTE, DecisionKind.FINISH)
        ]

    @property
    def phases(self) -> dict[str, tuple[float, float]]:
        """Start and end of the phases whose rates are taken; without a retune "right after" lasts to the end."""
        retunes = self.retunes
        retuned_at_s = self.started_at_s + retunes[0][1].elapsed_s if retunes else self.finished_at_s
        phases = {
            "before": (self.started_at_s + BUILDING_UP_S, self.changed_at_s),
            "right_after": (self.changed_at_s, retuned_at_s),
        }
        return {**phases, "after_retuning": (retuned_at_s, self.finished_at_s)} if retunes else phases

    def compute_rates_bps(self, course: Course) -> dict[str, float]:
        """Return the mean rate of a copy in each phase, bit/s."""
        return {name: course.compute_mean_bps(since_s, until_s) for name, (since_s, until_s) in self.phases.items()}

    @property
    def gain(self) -> float | None:
        """Bytes moved from the change on, tuned over untuned; ``None`` where the untuned copy moved nothing."""
        tuned, untuned = (
            course.compute_mean_bps(self.changed_at_s, self.finished_at_s) for course in (self.tuned, self.untuned)
        )
        return tuned / untuned if untuned else None

    def format_timeline(self) -> str:
        """Format samples and decisions, a line a tick."""
        return format_table([self._make_row(tick) for tick in self.report.timeline])

    def _make_row(self, tick: Tick) -> Mapping[str, Value]:
        return {
            "s": tick.elapsed_s,
            "path": "as learned" if tick.elapsed_s <= self.changed_s else "changed",
            "Mbit/s": tick.sample.throughput_bps / 1e6,
            "streams": _count_streams(tick),
            "by": str(tick.verdict.by),
            "decision": tick.verdict.kind,
            "reason": tick.verdict.reason,
        }

    def format_report(self) -> list[str]:
        """Format the outcome: the decisions after the change, the rates, and the other copy's state."""
        rates = {"tuned": self.compute_rates_bps(self.tuned), "not tuned": self.compute_rates_bps(self.untuned)}
        shown = [
            {"copy": name} | {phase.replace("_", " "): format_bps(rate) for phase, rate in phase_rates.items()}
            for name, phase_rates in rates.items()
        ]
        moved_bytes = self.untuned.interpolate_moved_bytes(self.finished_at_s)
        behind = f"{format_bytes(moved_bytes)} of {format_bytes(self.report.bytes_moved)}"
        gain = "" if self.gain is None else f"; from the change on the tuned one moved {self.gain:.2f} times as much"
        return [
            f"  {self.report.format_line()}",
            *self._format_early_retunes(),
            *(self._format_retunes() or [self._explain_no_retune()]),
            format_table(shown),
            f"  when the tuned copy was done, the untuned one had moved {behind}{gain}",
        ]

    def _format_retunes(self) -> list[str]:
        return [
            f"  retuned {tick.elapsed_s - self.changed_s:.0f} s after the change: "
            f"{_count_streams(before)} → {_count_streams(tick)} streams: {tick.verdict.reason}"
            for before, tick in self.retunes
        ]

    def _format_early_retunes(self) -> list[str]:
        if not self.early_retunes:
            return []
        return [f"  retuned before the change too, {self.early_retunes} times: what follows is not its effect alone"]

    def _explain_no_retune(self) -> str:
        after = [tick for tick in self.report.timeline if tick.elapsed_s > self.changed_s]
        why = f": {after[-1].verdict.reason}" if after else ""
        return f"  nothing was retuned after the change in this run{why}"

    def build_document(self) -> dict[str, object]:
        """Return the outcome for the report of the demo."""
        return {
            "path": asdict(PATH),
            "then": asdict(THEN),
            "tick_s": TICK_S,
            "recommendation_source": self.report.plan.source,
            "parameters": self.report.plan.parameters.list_known(),
            "throughput_bps": self.report.throughput_bps,
            "duration_s": self.report.duration_s,
            "changed_s": self.changed_s,
            "ticks_after_change": sum(tick.elapsed_s > self.changed_s for tick in self.report.timeline),
            "changes": sum(tick.verdict.changed for tick in self.report.timeline),
            "retunes": [
                {
                    "elapsed_s": tick.elapsed_s,
                    "streams_before": _count_streams(before),
                    "streams": _count_streams(tick),
                    "kind": tick.verdict.kind,
                    "reason": tick.verdict.reason,
                }
                for before, tick in self.retunes
            ],
            "early_retunes": self.early_retunes,
            "rates_bps": self.compute_rates_bps(self.tuned),
            "untuned_rates_bps": self.compute_rates_bps(self.untuned),
            "untuned_moved_bytes": self.untuned.interpolate_moved_bytes(self.finished_at_s),
            "moved_bytes": self.report.bytes_moved,
            "gain_after_change": self.gain,
            "timeline": [tick.build_document() for tick in self.report.timeline],
        }


@dataclass
class PathChanger:
    """Follows the tuned copy, and changes both paths at the same moment, once.

    ``started_at_s``, ``changed_at_s`` : on the clock of `Course`.
    """

    paths: Sequence[EmulatedPath]
    course: Course = field(default_factory=Course)
    started_at_s: float | None = None
    changed_at_s: float | None = None

    def follow(self, snapshot: Snapshot, _: object) -> None:
        now_s = self.course.record(snapshot.moved_bytes).at_s
        if self.started_at_s is None:
            self.started_at_s = now_s - snapshot.elapsed_s
        if self.changed_at_s is None and snapshot.elapsed_s >= CHANGES_AFTER_S:
            for path in self.paths:
                path.change()
            self.changed_at_s = time.monotonic()

    def finish(self, report: CopyReport, *, untuned: Course) -> PathChangeOutcome:
        """Return the outcome, once the tuned copy is done.

        Raises
        ------
        TradewindError : the copy was done before the path changed.
        """
        if self.started_at_s is None or self.changed_at_s is None:
            raise TradewindError(f"the copy was done before its path changed, after {report.duration_s:.1f} s")
        return PathChangeOutcome(
            report=report,
            tuned=self.course,
            untuned=untuned,
            started_at_s=self.started_at_s,
            changed_at_s=self.changed_at_s,
            finished_at_s=self.started_at_s + report.duration_s,
        )


def _count_streams(tick: Tick) -> int:
    return sum(chunk.parameters.streams for chunk in tick.verdict.chunks)
