"""The last act: a copy on a path that becomes a worse one half-way, tuned while it runs, beside one that is not."""

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
from tradewind_agent.copy.report import CopyReport
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.tuning.ticks import Tick

SOURCE = "archive"
"""Another endpoint than that of the first acts, so that its link has a history of its own."""

PATH = PathOptions(rate="20Mbps", rtt="60ms", loss="0.1%")
THEN = PathOptions(rate="20Mbps", rtt="240ms", loss="0.4%")
"""As after a detour: as wide as before, but each stream carries an eighth. Slow enough for two copies at once on two
cores, and for a story of half a minute out of few bytes."""

RECORDED = ROOT / "benchmarks" / "demo" / "recorded" / "archive.ndjson"
"""History of that path, made by ``python -m benchmarks.demo.record archive``: there is no time for it here."""

FILES_MOVED = 150

TICK_S = 1.0
"""Shorter than the usual 5 s, so that a transfer of half a minute has a story."""

CHANGES_AFTER_S = 6.2
"""Six ticks of the path as it was learned; what is left then lasts for eight more at the very least."""

BUILDING_UP_S = 2.0
"""Slow start, left out of the rate before the change."""


def write_files(folder: Path, seed: int) -> str:
    """The files of this act, drawn apart from all others; how much they are."""
    moved = write_folder(folder, {THUMBNAILS: FILES_MOVED}, random.Random(seed))
    return f"{FILES_MOVED} {THUMBNAILS.name}, {format_bytes(moved)}"


def history() -> list[bytes]:
    """Log rows of this act's link."""
    return RECORDED.read_bytes().splitlines()


def options(*, tune: bool) -> CopyOptions:
    """What the copy of this act is asked for."""
    return CopyOptions(
        source=SOURCE,
        destination="agent",
        bandwidth_bps=parse_bps(PATH.rate),
        rtt_s=parse_seconds(PATH.rtt),
        tune=tune,
        tick_s=TICK_S,
    )


@dataclass(frozen=True, kw_only=True)
class Act:
    """What happened: the tuned copy's report, and both courses on one clock.

    ``began_at_s``, ``changed_at_s``, ``ended_at_s`` : of the tuned copy and its path; the other one is cut there.
    """

    report: CopyReport
    tuned: Course
    untuned: Course
    began_at_s: float
    changed_at_s: float
    ended_at_s: float

    @property
    def changed_s(self) -> float:
        """When the path changed, since the beginning."""
        return self.changed_at_s - self.began_at_s

    @property
    def retunes(self) -> list[tuple[Tick, Tick]]:
        """Ticks after the change that set other streams because of what was seen, each with the tick before.

        What files and channels that run out bring about is none.
        """
        return [pair for pair in self._retunes if pair[1].elapsed_s > self.changed_s]

    @property
    def early_retunes(self) -> int:
        """Those before the change: on a busy machine a copy may stall on a path that is as it was."""
        return len(self._retunes) - len(self.retunes)

    @property
    def _retunes(self) -> list[tuple[Tick, Tick]]:
        return [
            (before, tick)
            for before, tick in pairwise(self.report.timeline)
            if _streams(tick) != _streams(before)
            and tick.verdict.kind not in (DecisionKind.REDISTRIBUTE, DecisionKind.FINISH)
        ]

    @property
    def phases(self) -> dict[str, tuple[float, float]]:
        """From and until when the rates are taken; without a retune "right after" lasts to the end."""
        retunes = self.retunes
        retuned_at_s = self.began_at_s + retunes[0][1].elapsed_s if retunes else self.ended_at_s
        phases = {
            "before": (self.began_at_s + BUILDING_UP_S, self.changed_at_s),
            "right_after": (self.changed_at_s, retuned_at_s),
        }
        return {**phases, "after_retuning": (retuned_at_s, self.ended_at_s)} if retunes else phases

    def rates_bps(self, course: Course) -> dict[str, float]:
        """Mean rate of a copy in each phase."""
        return {name: course.mean_bps(since_s, until_s) for name, (since_s, until_s) in self.phases.items()}

    @property
    def gain(self) -> float | None:
        """What was moved from the change on, tuned over untuned; ``None`` where the untuned copy moved nothing."""
        tuned, untuned = (course.mean_bps(self.changed_at_s, self.ended_at_s) for course in (self.tuned, self.untuned))
        return tuned / untuned if untuned else None

    def timeline(self) -> str:
        """Samples and decisions, a line a tick."""
        return format_table([self._row(tick) for tick in self.report.timeline])

    def _row(self, tick: Tick) -> Mapping[str, Value]:
        return {
            "s": tick.elapsed_s,
            "path": "as learned" if tick.elapsed_s <= self.changed_s else "changed",
            "Mbit/s": tick.heartbeat.throughput_bps / 1e6,
            "streams": _streams(tick),
            "by": str(tick.verdict.by),
            "decision": tick.verdict.kind,
            "reason": tick.verdict.reason,
        }

    def told(self) -> list[str]:
        """What came of it, for people: the decisions after the change, the rates, and the other copy's state."""
        rates = {"tuned": self.rates_bps(self.tuned), "not tuned": self.rates_bps(self.untuned)}
        shown = [
            {"copy": name} | {phase.replace("_", " "): format_bps(rate) for phase, rate in each.items()}
            for name, each in rates.items()
        ]
        behind = f"{format_bytes(self.untuned.moved_by(self.ended_at_s))} of {format_bytes(self.report.bytes_moved)}"
        gain = "" if self.gain is None else f"; from the change on the tuned one moved {self.gain:.2f} times as much"
        return [
            f"  {self.report.line()}",
            *self._early(),
            *(self._retuned() or [self._left_alone()]),
            format_table(shown),
            f"  when the tuned copy was done, the same one not tuned had moved {behind}{gain}",
        ]

    def _retuned(self) -> list[str]:
        return [
            f"  retuned {tick.elapsed_s - self.changed_s:.0f} s after the change: {_streams(before)} → {_streams(tick)}"
            f" streams: {tick.verdict.reason}"
            for before, tick in self.retunes
        ]

    def _early(self) -> list[str]:
        if not self.early_retunes:
            return []
        return [f"  retuned before the change too, {self.early_retunes} times: what follows is not its effect alone"]

    def _left_alone(self) -> str:
        after = [tick for tick in self.report.timeline if tick.elapsed_s > self.changed_s]
        why = f": {after[-1].verdict.reason}" if after else ""
        return f"  nothing was retuned after the change in this run{why}"

    def document(self) -> dict[str, object]:
        """The act for the report of the demo."""
        return {
            "path": asdict(PATH),
            "then": asdict(THEN),
            "tick_s": TICK_S,
            "recommendation_source": self.report.plan.source,
            "parameters": self.report.plan.parameters.known(),
            "throughput_bps": self.report.throughput_bps,
            "duration_s": self.report.duration_s,
            "changed_s": self.changed_s,
            "ticks_after_change": sum(tick.elapsed_s > self.changed_s for tick in self.report.timeline),
            "changes": sum(tick.verdict.changed for tick in self.report.timeline),
            "retunes": [
                {
                    "elapsed_s": tick.elapsed_s,
                    "streams_before": _streams(before),
                    "streams": _streams(tick),
                    "kind": tick.verdict.kind,
                    "reason": tick.verdict.reason,
                }
                for before, tick in self.retunes
            ],
            "early_retunes": self.early_retunes,
            "rates_bps": self.rates_bps(self.tuned),
            "untuned_rates_bps": self.rates_bps(self.untuned),
            "untuned_moved_bytes": self.untuned.moved_by(self.ended_at_s),
            "moved_bytes": self.report.bytes_moved,
            "gain_after_change": self.gain,
            "timeline": [tick.document() for tick in self.report.timeline],
        }


@dataclass
class Watch:
    """Follows the tuned copy, and changes both paths at the same moment, once.

    ``began_at_s``, ``changed_at_s`` : on the clock of `Course`.
    """

    paths: Sequence[EmulatedPath]
    course: Course = field(default_factory=Course)
    began_at_s: float | None = None
    changed_at_s: float | None = None

    def look(self, snapshot: Snapshot, _: object) -> None:
        now_s = self.course.note(snapshot.moved_bytes).at_s
        if self.began_at_s is None:
            self.began_at_s = now_s - snapshot.elapsed_s
        if self.changed_at_s is None and snapshot.elapsed_s >= CHANGES_AFTER_S:
            for path in self.paths:
                path.change()
            self.changed_at_s = time.monotonic()

    def act(self, report: CopyReport, *, untuned: Course) -> Act:
        """All of it, once the tuned copy is done.

        Raises
        ------
        TradewindError : it was over before the path changed.
        """
        if self.began_at_s is None or self.changed_at_s is None:
            raise TradewindError(f"the copy was over before its path changed, after {report.duration_s:.1f} s")
        return Act(
            report=report,
            tuned=self.course,
            untuned=untuned,
            began_at_s=self.began_at_s,
            changed_at_s=self.changed_at_s,
            ended_at_s=self.began_at_s + report.duration_s,
        )


def _streams(tick: Tick) -> int:
    return sum(each.parameters.streams for each in tick.verdict.chunks)
