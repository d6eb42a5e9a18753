"""A claim in the form that the testbed can run: what has to be measured for it, and what it is compared by.

Rates and their ratios are measured; energies are modelled. Neither the radios nor the hosts are the papers', so a ratio
counts as theirs within half of it, a saving within 15 points and half of it; which way things go has to agree as it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.finding import Comparison, measured
from benchmarks.papers.grounds import Run
from benchmarks.papers.trial import Trial
from benchmarks.wan.runs import Row
from tradewind.units import GB, throughput_bps

RATIO, POINTS = 0.5, 15.0

Measurable = Run | Trial
Rows = Mapping[Measurable, Row]
Judge = Callable[[Fact, Facts, Rows], Iterator[Comparison]]


@dataclass(frozen=True, slots=True)
class Form:
    """What is measured for a claim, and what comes of it.

    ``stands_for`` : what stands here for what the paper had, where its name alone would hide it.
    """

    runs: Sequence[Measurable]
    judge: Judge
    stands_for: str = ""


def mbps(row: Row) -> float:
    return throughput_bps(row["bytes_done"], row["duration_s"]) / 1e6


def client_j(row: Row) -> float:
    """Energy of the client per GB by its processor's model."""
    return float(GB * row["energy_j"] / row["bytes_done"])


def saved_pct(start: float, best: float) -> float:
    return 100 * (1 - best / start)


def measured_share(what: str, paper_pct: float, ours_pct: float) -> Comparison:
    """A saving or another share in percent beside ours; nothing is not 6 %, though only 6 points away."""
    return measured(what, paper_pct, ours_pct, absolute=min(POINTS, RATIO * abs(paper_pct)))
