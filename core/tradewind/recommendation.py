"""A recommendation: a plan for each chunk, a prediction with its interval, and a table for tuning without the
service.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from tradewind.dataset import ChunkKind
from tradewind.energy.ends import PowerByEnd
from tradewind.parameters import Parameters
from tradewind.prediction import Prediction
from tradewind.sla.kinds import Sla
from tradewind.sla.pricing import Price
from tradewind.tiers.setting_table import SettingTable


class AnswerSource(StrEnum):
    """Where a recommendation comes from, best first."""

    RELEASE = "release"
    NEIGHBOUR = "neighbour"
    HEURISTIC = "heuristic"


class ChunkPlan(NamedTuple):
    """Parameters of one chunk: files above the chunk before and up to ``max_file_bytes`` (``None``: no upper end)."""

    chunk: ChunkKind
    max_file_bytes: int | None
    parameters: Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactTable:
    """What an agent needs to tune one chunk without the service (no numerics library needed).

    ``queueing_delay_p90_s`` : 90th percentile of the queueing delay by number of streams.
    ``loss_baseline`` : retransmitted share that the path shows without congestion.
    ``bank_limit_bits`` : 95th percentile of past deficits, the bound of the SLA bank.
    ``power_by_end`` : the ends that the table's power is of; empty where that is not known.
    """

    predicted: SettingTable
    queueing_delay_p90_s: Mapping[int, float] = field(default_factory=dict)
    loss_baseline: float | None = None
    bank_limit_bits: float | None = None
    power_by_end: PowerByEnd = field(default_factory=dict)

    def limit_throughputs(self, ceiling_bps: float) -> "CompactTable":
        """Return the table with all throughputs cut to this ceiling."""
        return replace(self, predicted=self.predicted.limit_throughputs(ceiling_bps))


class SlaAnswer(NamedTuple):
    """The state of the SLA: its tier, its current price, and the probability that it is met."""

    sla: Sla
    probability: float
    feasible: bool
    tier_id: UUID | None = None
    tier: str | None = None
    price: Price | None = None


class Recommendation(NamedTuple):
    transfer_id: UUID
    plan: tuple[ChunkPlan, ...]
    predicted: Prediction
    sla: SlaAnswer
    tables: Mapping[ChunkKind, CompactTable]
    source: AnswerSource
    rationale: str
    release: int | None = None
    nearest_data_distance: float | None = None


def combine_settings(settings: Sequence[Parameters]) -> Parameters:
    """Combine the settings of all chunks: concurrencies are added up, other values are the widest chunk's.

    Of the widest chunk's parallelism no more than keeps to the streams of all chunks, which are what caps allow.
    """
    if len(settings) == 1:
        return settings[0]
    widest = max(settings, key=attrgetter("streams"))
    concurrency = sum(setting.concurrency or 1 for setting in settings)
    allowed = max(sum(setting.streams for setting in settings) // concurrency, 1)
    return Parameters(
        concurrency=concurrency,
        parallelism=widest.parallelism and min(widest.parallelism, allowed),
        pipelining=widest.pipelining,
        io_block_bytes=widest.io_block_bytes,
        part_bytes=widest.part_bytes,
        cores=widest.cores,
        frequency_hz=widest.frequency_hz,
    )
