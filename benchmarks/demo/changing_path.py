"""The last act: a copy on a path whose round trip grows half-way, tuned while it runs."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.demo.files import PHOTOS, write_folder
from benchmarks.demo.stack import EmulatedPath
from benchmarks.report import Value, table
from tradewind.units import format_bytes
from tradewind_agent.copy_report import CopyReport
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.tuning.ticks import Tick

PHOTOS_MOVED = 50
THEN_RTT = "150ms"
TICK_S = 1.0
"""Shorter than the usual 5 s, so that a transfer of a quarter of a minute has a story."""

CHANGES_AFTER = 0.4
"""Share of the bytes before the path changes."""


def write_photos(folder: Path, seed: int) -> str:
    """The files of this act, drawn apart from all others; how much they are."""
    moved = write_folder(folder, {PHOTOS: PHOTOS_MOVED}, random.Random(seed))
    return f"{PHOTOS_MOVED} photos, {format_bytes(moved)}"


def changes(path: EmulatedPath) -> Callable[[Snapshot, object], None]:
    """Watches a copy and changes its path once, after its share of the bytes."""
    done: list[float] = []

    def look(snapshot: Snapshot, _: object) -> None:
        total_bytes = snapshot.moved_bytes + snapshot.remaining_bytes
        if not done and snapshot.moved_bytes > CHANGES_AFTER * total_bytes:
            done.append(snapshot.elapsed_s)
            path.change()

    return look


def timeline(report: CopyReport) -> str:
    """Samples and decisions, a line a tick."""
    return table([_row(tick) for tick in report.timeline])


def _row(tick: Tick) -> Mapping[str, Value]:
    parameters = [each.parameters for each in tick.verdict.chunks]
    return {
        "s": tick.elapsed_s,
        "Mbit/s": tick.heartbeat.throughput_bps / 1e6,
        "files at once": sum(each.concurrency or 1 for each in parameters),
        "streams": sum(each.streams for each in parameters),
        "by": str(tick.verdict.by),
        "decision": tick.verdict.kind,
        "reason": tick.verdict.reason,
    }


def document(report: CopyReport) -> dict[str, object]:
    """The act for the report of the demo."""
    return {
        "then_rtt": THEN_RTT,
        "tick_s": TICK_S,
        "throughput_bps": report.throughput_bps,
        "duration_s": report.duration_s,
        "changes": sum(tick.verdict.changed for tick in report.timeline),
        "timeline": [tick.document() for tick in report.timeline],
    }
