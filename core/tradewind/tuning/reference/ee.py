"""EE (HTTP data transfer services §4.3): 1, 5, 9 … channels for 5 s each, then the most efficient.

Channels are split by log size and log count.

The paper says that steps of four halve the search; they quarter it. It ranks by throughput over energy in windows of
equal length, which is bits a joule.
"""

from dataclasses import dataclass

from tradewind.dataset import Chunk
from tradewind.heuristics import MAX_CHANNELS, list_efficiency_levels, plan_energy_efficiency
from tradewind.path import Path
from tradewind.tuning.reference.efficiency_search import EfficiencySearch
from tradewind.tuning.reference.variant import Plan, list_chunks_left
from tradewind.tuning.sample import TickSample


@dataclass(frozen=True, slots=True)
class EE:
    chunks: tuple[Chunk, ...]
    path: Path
    channels: int = MAX_CHANNELS

    def begin(self) -> tuple[EfficiencySearch, Plan]:
        search = EfficiencySearch.over(list_efficiency_levels(self.channels))
        return search, plan_energy_efficiency(self.chunks, self.path, search.channels)

    def step(self, state: EfficiencySearch, sample: TickSample) -> tuple[EfficiencySearch, Plan]:
        search = state.update(sample)
        left = list_chunks_left(self.chunks, sample) or self.chunks
        return search, plan_energy_efficiency(left, self.path, search.channels)
