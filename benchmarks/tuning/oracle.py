"""The best static setting of a path, by brute force over a stated lattice with the same engine.

Coarse to fine: concurrency alone first, then the neighbours of the best two settings until none is untried. The winner
is run again afresh, so that its figure is not its luck.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.tuning.driver import Row
from benchmarks.tuning.transfers import Order, Yard

Setting = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticLattice:
    """Settings (cc, p, pp) that are compared; ``start`` is where concurrency is searched along."""

    concurrency: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    parallelism: tuple[int, ...] = (1, 2, 4)
    pipelining: tuple[int, ...] = (1, 4, 16)
    most_streams: int = 128
    start: tuple[int, int] = (1, 4)

    @property
    def axes(self) -> tuple[tuple[int, ...], ...]:
        return (self.concurrency, self.parallelism, self.pipelining)

    def coarse(self) -> list[Setting]:
        return [(concurrency, *self.start) for concurrency in self.concurrency]

    def neighbours(self, setting: Setting) -> Iterator[Setting]:
        """Settings one step away on one axis."""
        for axis, values in enumerate(self.axes):
            at = values.index(setting[axis])
            for value in (*values[max(at - 1, 0) : at], *values[at + 1 : at + 2]):
                near = (*setting[:axis], value, *setting[axis + 1 :])
                if near[0] * near[1] <= self.most_streams:
                    yield near  # type: ignore[misc]  # of three numbers as before


LATTICE = StaticLattice()
QUICK_LATTICE = StaticLattice(concurrency=(4, 8, 16, 32), parallelism=(1,), pipelining=(4,))
REFINED = 2

SEARCH_TICKS, SEARCH_TICK_S = 3, 4.0
"""Of the runs that only rank settings; the first tick is slow start."""

WARM_TICKS = 2


def best_setting(lattice: StaticLattice, score: Callable[[Setting], float]) -> Setting:
    """The setting with the highest score; each is asked once."""
    tried = {setting: score(setting) for setting in lattice.coarse()}
    while True:
        leaders = sorted(tried, key=lambda setting: -tried[setting])[:REFINED]
        untried = {near for leader in leaders for near in lattice.neighbours(leader)} - tried.keys()
        if not untried:
            return leaders[0]
        for setting in sorted(untried):
            tried[setting] = score(setting)


def ranked_bps(ground: Yard, setting: Setting) -> float:
    """Throughput of a setting after slow start, bit/s."""
    [rows] = ground.run([Order(tuner="static", ticks=SEARCH_TICKS, tick_s=SEARCH_TICK_S, setting=setting)])
    return mean_bps(rows[1:])


def afresh(ground: Yard, setting: Setting, ticks: int) -> list[Row]:
    """The ticks of a setting in its steady state."""
    [rows] = ground.run([Order(tuner="static", ticks=WARM_TICKS + ticks, setting=setting)])
    return rows[WARM_TICKS:]


def mean_bps(rows: Sequence[Row]) -> float:
    return statistics.fmean(row["throughput_bps"] for row in rows)
