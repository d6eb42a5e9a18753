"""Figures of timelines, as pure functions; rates in bit/s."""

import statistics
from collections.abc import Sequence
from itertools import pairwise

from benchmarks.tuning.driver import Row


def mean_bps(rows: Sequence[Row]) -> float:
    """Mean throughput over the ticks, by their length."""
    return sum(row["throughput_bps"] * row["interval_s"] for row in rows) / sum(row["interval_s"] for row in rows)


def oscillation(rows: Sequence[Row]) -> float:
    """Standard deviation of the ticks' throughput over their mean.

    TCP's own unrest is in it: what settings that never move show of it is told beside.
    """
    rates = [row["throughput_bps"] for row in rows]
    return statistics.pstdev(rates) / statistics.fmean(rates)


def shortfall(rows: Sequence[Row], target_bps: float) -> float:
    """Share of the agreed bits that is missing at the end; 0 where none is."""
    return max(0.0, 1.0 - mean_bps(rows) / target_bps)


def jain(rates: Sequence[float]) -> float:
    """Jain's index of fairness, (Σ x)² / (n · Σ x²): 1 where all are equal, 1/n where one has everything."""
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


def bps_between(rows: Sequence[Row], from_s: float, to_s: float) -> float:
    """Mean throughput between two times of the machine's clock, ticks counted by the part of them within."""
    bits = seconds = 0.0
    for row in rows:
        began_s = row["until_s"] - row["interval_s"]
        inside_s = max(min(row["until_s"], to_s) - max(began_s, from_s), 0.0)
        bits += row["throughput_bps"] * inside_s
        seconds += inside_s
    return bits / seconds if seconds else 0.0


def competitor_share(competitor_bps: float, path_bps: float, streams: float) -> float:
    """A competitor's rate over what one stream among all is due, BW / (streams + 1)."""
    return competitor_bps * (streams + 1) / path_bps


def changes(rows: Sequence[Row]) -> int:
    """How often other streams were asked for than the tick before."""
    asked = [row["streams_asked"] for row in rows]
    return sum(now != before for before, now in pairwise(asked))
