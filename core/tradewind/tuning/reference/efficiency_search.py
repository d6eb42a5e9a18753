"""Try channel counts one after another for a tick each, then keep the one with most bits a joule."""

from dataclasses import dataclass, replace
from typing import Self

from tradewind.heuristics import compute_bits_per_joule
from tradewind.tuning.reference.variant import require_power_w
from tradewind.tuning.sample import TickSample


@dataclass(frozen=True, slots=True)
class EfficiencySearch:
    """``levels`` still to be tried after the present ``channels``; ``best`` so far with its bits a joule."""

    channels: int
    levels: tuple[int, ...]
    best: int = 0
    best_bits_per_joule: float = -1.0

    @classmethod
    def over(cls, levels: tuple[int, ...]) -> Self:
        return cls(levels[0], levels[1:], best=levels[0])

    @property
    def is_over(self) -> bool:
        return not self.levels and self.channels == self.best and self.best_bits_per_joule >= 0

    def update(self, sample: TickSample) -> Self:
        """Return the search at the level after that of this tick, or at the best of all once there is none."""
        if self.is_over:
            return self
        found = compute_bits_per_joule(sample.throughput_bps, require_power_w(sample))
        search = self
        if found > self.best_bits_per_joule:
            search = replace(self, best=self.channels, best_bits_per_joule=found)
        if not search.levels:
            return replace(search, channels=search.best)
        return replace(search, channels=search.levels[0], levels=search.levels[1:])
