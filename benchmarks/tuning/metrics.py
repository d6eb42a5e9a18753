"""Metrics of timelines, as pure functions; rates in bit/s."""

import statistics
from collections.abc import Sequence
from itertools import pairwise

from benchmarks.tuning.driver import TickRow


def compute_mean_bps(rows: Sequence[TickRow]) -> float:
    """Return the mean throughput over the ticks, weighted by their length."""
    return sum(row["throughput_bps"] * row["interval_s"] for row in rows) / sum(row["interval_s"] for row in rows)


def compute_oscillation(rows: Sequence[TickRow]) -> float:
    """Return the standard deviation of the ticks' throughput over their mean.

    TCP's own variation is in it, which the results of settings that never move show.
    """
    rates = [row["throughput_bps"] for row in rows]
    return statistics.pstdev(rates) / statistics.fmean(rates)


def compute_shortfall(rows: Sequence[TickRow], target_bps: float) -> float:
    """Return the share of the target's bits that is missing at the end; 0 where none is."""
    return max(0.0, 1.0 - compute_mean_bps(rows) / target_bps)


def compute_jain_index(rates: Sequence[float]) -> float:
    """Return Jain's index of fairness, (Σ x)² / (n · Σ x²): 1 where all are equal, 1/n where one has everything."""
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


def compute_mean_bps_between(rows: Sequence[TickRow], from_s: float, to_s: float) -> float:
    """Return the mean throughput between two times of the machine's clock; a tick counts by its part within."""
    bits = seconds = 0.0
    for row in rows:
        started_s = row["until_s"] - row["interval_s"]
        inside_s = max(min(row["until_s"], to_s) - max(started_s, from_s), 0.0)
        bits += row["throughput_bps"] * inside_s
        seconds += inside_s
    return bits / seconds if seconds else 0.0


def compute_capacity_bits(rates_bps: Sequence[float], interval_s: float, lasting_s: float) -> float:
    """Return what a path carries within ``lasting_s`` that has each rate for ``interval_s``."""
    ends = (min(interval_s, max(lasting_s - number * interval_s, 0.0)) for number in range(len(rates_bps)))
    return sum(rate * held_s for rate, held_s in zip(rates_bps, ends, strict=True))


def compute_competitor_share(competitor_bps: float, path_bps: float, streams: float) -> float:
    """Return a competitor's rate over the due share of one stream among all, BW / (streams + 1)."""
    return competitor_bps * (streams + 1) / path_bps


def count_changes(rows: Sequence[TickRow]) -> int:
    """Count how often the tuner set other streams than the tick before."""
    streams = [row["streams_asked"] for row in rows]
    return sum(now != before for before, now in pairwise(streams))
