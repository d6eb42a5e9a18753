"""HTEE (Alan et al., SC'15, as GreenDataFlow §V describes it): as EE, but two channels more each time.

It begins with one channel, adds two at a time up to the user's limit, computes the efficiency of each level and picks
the best: slower than EE, and twice as fine.
"""

from dataclasses import dataclass

from tradewind.dataset import Chunk
from tradewind.heuristics import MAX_CHANNELS, plan_energy_efficiency
from tradewind.path import Path
from tradewind.tuning.reference.efficiency_search import EfficiencySearch
from tradewind.tuning.reference.variant import Plan, list_chunks_left
from tradewind.tuning.sample import TickSample

STEP = 2


@dataclass(frozen=True, slots=True)
class HTEE:
    chunks: tuple[Chunk, ...]
    path: Path
    channels: int = MAX_CHANNELS

    def begin(self) -> tuple[EfficiencySearch, Plan]:
        search = EfficiencySearch.over(tuple(range(1, self.channels + 1, STEP)))
        return search, plan_energy_efficiency(self.chunks, self.path, search.channels)

    def step(self, state: EfficiencySearch, sample: TickSample) -> tuple[EfficiencySearch, Plan]:
        search = state.update(sample)
        left = list_chunks_left(self.chunks, sample) or self.chunks
        return search, plan_energy_efficiency(left, self.path, search.channels)
