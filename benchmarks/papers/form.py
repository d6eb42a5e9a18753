"""A claim in the form that the testbed can run: what has to be measured for it, and how it is compared.

Rates and their ratios are measured; energies are modelled. Neither the radios nor the hosts are the papers', so a ratio
agrees within half of it, a saving within 15 points and half of it; directions have to agree exactly.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import Comparison, compare_measured
from benchmarks.papers.paths import Run
from benchmarks.papers.trial import Trial
from benchmarks.wan.runs import Row
from tradewind.units import GB, compute_throughput_bps

RATIO, POINTS = 0.5, 15.0

Measurable = Run | Trial
Rows = Mapping[Measurable, Row]
Judge = Callable[[Claim, Claims, Rows], Iterator[Comparison]]


@dataclass(frozen=True, slots=True)
class Form:
    """The runs for a claim, and the function that compares them.

    ``substitute`` : what replaces here what the paper had, where its name alone would hide it.
    """

    runs: Sequence[Measurable]
    judge: Judge
    substitute: str = ""


def compute_mbps(row: Row) -> float:
    return compute_throughput_bps(row["bytes_done"], row["duration_s"]) / 1e6


def compute_client_j(row: Row) -> float:
    """Return the energy of the client per GB by its processor's model, J."""
    return float(GB * row["energy_j"] / row["bytes_done"])


def compute_saved_pct(start: float, best: float) -> float:
    return 100 * (1 - best / start)


def compare_measured_share(what: str, paper_pct: float, ours_pct: float) -> Comparison:
    """Compare a saving or another share in percent with ours; 0 % does not agree with 6 %, only 6 points away."""
    return compare_measured(what, paper_pct, ours_pct, absolute=min(POINTS, RATIO * abs(paper_pct)))
