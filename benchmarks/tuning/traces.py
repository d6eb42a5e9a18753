"""Recorded throughput as the path: cases whose rate follows a row of a recorded trace.

Rows are drawn from a folder's files, those alone that vary more than the median row of their file: a record of one
steady rate asks nothing of a tuner. The shape of a row is replayed, not its scale (`benchmarks.testbed.traces`).
"""

import random
import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.testbed.traces import LEAST_SHARE, read_traces, replay
from benchmarks.tuning.cases import BASE, TraceCase
from tradewind.errors import InvalidValue

TRACES_A_FILE = 2


def make_trace_cases(folders: Sequence[Path], *, seed: int) -> list[TraceCase]:
    """Return the cases of the traces in these folders; the same seed draws the same rows.

    Raises
    ------
    InvalidValue : a folder without traces, or a file that holds none.
    """
    cases = []
    for folder in folders:
        files = sorted(folder.glob("*.csv"))
        if not files:
            raise InvalidValue("data", f"{folder} holds no traces: *.csv with columns t1, t2, …")
        for file in files:
            cases += _draw_cases(file, read_traces(file), seed)
    return cases


def _draw_cases(file: Path, traces: Sequence[Sequence[float]], seed: int) -> list[TraceCase]:
    variation = [compute_variation(trace) for trace in traces]
    least = statistics.median(variation)
    rows = [row for row, varies in enumerate(variation) if varies >= least and max(traces[row]) > 0]
    drawn = random.Random(f"{seed} {file.name}").sample(rows, min(TRACES_A_FILE, len(rows)))
    return [_make_case(f"trace/{file.stem}/{row + 1}", traces[row]) for row in sorted(drawn)]


def _make_case(name: str, trace: Sequence[float]) -> TraceCase:
    steps = replay(trace, BASE, interval_s=1.0)
    return TraceCase(name=name, rates_bps=tuple(step.path.rate_bps for step in steps))


def compute_variation(trace: Sequence[float]) -> float:
    """Return the mean change from one interval to the next, as a share of the highest rate."""
    full = max(trace)
    if full <= 0:
        return 0.0
    shares = [max(rate / full, LEAST_SHARE) for rate in trace]
    return statistics.fmean(abs(now - before) for before, now in pairwise(shares)) if len(shares) > 1 else 0.0
