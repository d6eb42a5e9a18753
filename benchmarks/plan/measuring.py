"""Run one benchmark as a user does, and see what the machine did meanwhile."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import psutil

from benchmarks.plan.catalogue import Planned
from benchmarks.plan.records import Record, digest_sources
from benchmarks.support.processes import ProcessorWatch
from benchmarks.support.report import ROOT
from tradewind.errors import TradewindError

BUSY_SHARE = 0.1
"""Share of all processors that other programs may take."""

LOOK_S, PATIENCE_S = 5.0, 600.0


class BenchmarkFailed(TradewindError):
    """A benchmark ended without a report of its own."""


class MachineIsBusy(TradewindError):
    """Other programs take so much of the machine that figures would say little."""


def wait_until_quiet(patience_s: float = PATIENCE_S) -> None:
    """Wait until other programs leave the machine alone.

    Raises
    ------
    MachineIsBusy : they do not within ``patience_s``.
    """
    deadline = time.monotonic() + patience_s
    while (share := _measure_others_share()) > BUSY_SHARE:
        if time.monotonic() > deadline:
            raise MachineIsBusy(f"other programs take {share:.0%} of the processors; --busy measures all the same")
        sys.stderr.write(f"  waiting: other programs take {share:.0%} of the processors\n")


def _measure_others_share() -> float:
    watch = ProcessorWatch(psutil.Process())
    time.sleep(LOOK_S)
    return watch.measure_share().others


def measure(planned: Planned, arguments: Sequence[str]) -> Record:
    """Run a benchmark with these arguments; its output goes to standard error.

    Raises
    ------
    BenchmarkFailed : it has written no report. A missed bound is no failure: its figures are what was measured.
    """
    sources, started_at = digest_sources(planned), datetime.now(UTC)
    watch, started_s = ProcessorWatch(psutil.Process()), time.monotonic()
    command = [sys.executable, "-P", "-m", "benchmarks.supervisor", planned.name, *arguments]
    code = subprocess.run(command, stdout=sys.stderr, check=False).returncode
    seconds, share = time.monotonic() - started_s, watch.measure_share()
    report = _read_report(planned.name, started_at)
    if report is None:
        raise BenchmarkFailed(f"{planned.name} ended with {code} and wrote no report; its last lines say why")
    if digest_sources(planned) != sources:
        raise BenchmarkFailed(f"the sources changed while {planned.name} measured them; start it again")
    return Record(
        name=planned.name,
        commit=report["commit"],
        started_at=report["started_at"],
        seconds=round(seconds, 1),
        machine=report["machine"],
        others_share=round(share.others, 3),
        stolen_share=round(share.stolen, 3),
        sources=sources,
        summaries=[report["summary"]],
    )


def _read_report(name: str, started_at: datetime) -> dict[str, Any] | None:
    """Return the report that a run has written since ``started_at``."""
    try:
        report = json.loads((ROOT / "var" / "bench" / f"{name}.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return report if datetime.fromisoformat(report["started_at"]) >= started_at else None
