"""Find the best static setting of a path by brute force over a stated lattice with the same engine.

The search is coarse to fine: concurrency alone first, then the neighbours of the best two settings until none is
untried. The winner gets another run, so that its figure does not contain its luck.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.tuning.driver import TickRow
from benchmarks.tuning.transfers import TransferSpec, TransferTestbed

Setting = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticLattice:
    """Settings (cc, p, pp) that are compared; ``start`` : parallelism and pipelining while concurrency is searched."""

    concurrency: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    parallelism: tuple[int, ...] = (1, 2, 4)
    pipelining: tuple[int, ...] = (1, 4, 16)
    most_streams: int = 128
    start: tuple[int, int] = (1, 4)

    @property
    def axes(self) -> tuple[tuple[int, ...], ...]:
        return (self.concurrency, self.parallelism, self.pipelining)

    def list_coarse_settings(self) -> list[Setting]:
        return [(concurrency, *self.start) for concurrency in self.concurrency]

    def list_neighbours(self, setting: Setting) -> Iterator[Setting]:
        """Yield settings one step away on one axis."""
        for axis, values in enumerate(self.axes):
            index = values.index(setting[axis])
            for value in (*values[max(index - 1, 0) : index], *values[index + 1 : index + 2]):
                neighbour = (*setting[:axis], value, *setting[axis + 1 :])
                if neighbour[0] * neighbour[1] <= self.most_streams:
                    yield neighbour  # type: ignore[misc]  # of three numbers as before


LATTICE = StaticLattice()
QUICK_LATTICE = StaticLattice(concurrency=(4, 8, 16, 32), parallelism=(1,), pipelining=(4,))
REFINED = 2

SEARCH_TICKS, SEARCH_TICK_S = 3, 4.0
"""Length of the runs that only rank settings; the first tick is slow start."""

WARM_TICKS = 2


def find_best_setting(lattice: StaticLattice, score: Callable[[Setting], float]) -> Setting:
    """Return the setting with the highest score; each is measured once."""
    tried = {setting: score(setting) for setting in lattice.list_coarse_settings()}
    while True:
        leaders = sorted(tried, key=lambda setting: -tried[setting])[:REFINED]
        untried = {neighbour for leader in leaders for neighbour in lattice.list_neighbours(leader)} - tried.keys()
        if not untried:
            return leaders[0]
        for setting in sorted(untried):
            tried[setting] = score(setting)


def measure_ranking_bps(testbed: TransferTestbed, setting: Setting) -> float:
    """Return the throughput of a setting after slow start, bit/s."""
    [rows] = testbed.run([TransferSpec(tuner="static", ticks=SEARCH_TICKS, tick_s=SEARCH_TICK_S, setting=setting)])
    return compute_mean_bps(rows[1:])


def run_steady(testbed: TransferTestbed, setting: Setting, ticks: int) -> list[TickRow]:
    """Return the ticks of a setting in its steady state."""
    [rows] = testbed.run([TransferSpec(tuner="static", ticks=WARM_TICKS + ticks, setting=setting)])
    return rows[WARM_TICKS:]


def compute_mean_bps(rows: Sequence[TickRow]) -> float:
    return statistics.fmean(row["throughput_bps"] for row in rows)
