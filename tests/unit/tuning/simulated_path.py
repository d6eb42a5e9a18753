"""A path in arithmetic for tests of the controller: windows, loss, a bottleneck with a buffer, files with round trips.

Not evidence of anything but the controller's own properties: real transfers are measured on the testbed.
"""

import math
import random
from dataclasses import dataclass, replace

from tradewind.dataset import ChunkKind, DataSet
from tradewind.model import list_compact_settings
from tradewind.parameters import Lattice, Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting
from tradewind.recommendation import ChunkPlan, CompactTable
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.setting_table import SettingTable
from tradewind.tuning import Basis, ChunkBasis, ChunkProgress, TickSample, begin, step
from tradewind.tuning.path.congestion import LOST_TOGETHER, SEGMENT_BYTES
from tradewind.unknown_path.prior import compute_stream_rate_bps

TICK_S = 5.0
MAX_THROUGHPUT = Sla(kind=SlaKind.MAX_THROUGHPUT)
BASE_W = 40.0
WATTS_A_STREAM = 0.8
WATTS_AT_FULL_RATE = 25.0
OVERLOAD = 4.0
"""Demand over capacity beyond which the buffer overflows."""

CROWDING = 1.6
"""Exponent of the loss in the number of streams that crowd a queue; Mathis' 2 for Reno, less for CUBIC."""

COST_OF_A_STREAM = 5e-4
"""Share of the throughput that a stream costs its host, so that more is not always as good."""

LATTICE = Lattice(
    {"concurrency": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64), "parallelism": (1, 2, 4), "pipelining": (1, 4, 16)}
)


@dataclass(frozen=True)
class SimulatedPath:
    """Streams are bound by windows and loss as in Mathis, the pipe is shared by demand, its buffer is in bytes.

    ``crowd`` : streams of all transfers with which one segment in a thousand finds the queue full; what each transfer
    sees of it is drawn, some segments at a time, as they are lost.
    """

    bandwidth_bps: float = 100e6
    rtt_s: float = 0.06
    loss_rate: float = 2e-4
    buffer_bytes: float = 4e6
    queue_bytes: float = 750e3
    crowd: float = math.inf

    @property
    def path(self) -> Path:
        return Path(
            bandwidth_bps=self.bandwidth_bps,
            rtt_s=self.rtt_s,
            min_rtt_s=self.rtt_s,
            loss_rate=self.loss_rate,
            buffer_bytes=self.buffer_bytes,
        )

    def demand_bps(self, parameters: Parameters, mean_file_bytes: float) -> float:
        """What a chunk would take of an endless pipe."""
        stream = min(compute_stream_rate_bps(self.path), self.bandwidth_bps)
        file_bits = 8 * mean_file_bytes
        file_s = file_bits / ((parameters.parallelism or 1) * stream) + self.rtt_s / max(parameters.pipelining or 1, 1)
        return (parameters.concurrency or 1) * file_bits / file_s

    def carried_bps(self, demand_bps: float) -> float:
        """What the pipe carries of a demand: a soft minimum of both."""
        return demand_bps / (1 + (demand_bps / self.bandwidth_bps) ** 4) ** 0.25

    def queueing_delay_s(self, demand_bps: float) -> float:
        """Empty below 70 % of the capacity, full at 170 %."""
        filled = min(max(demand_bps / self.bandwidth_bps - 0.7, 0.0), 1.0)
        return filled * 8 * self.queue_bytes / self.bandwidth_bps

    def lost_share(self, demand_bps: float) -> float:
        return self.loss_rate + 5e-4 * max(demand_bps / self.bandwidth_bps - OVERLOAD, 0.0)

    def seen_loss(self, streams: int, sent_bytes: float, rng: random.Random) -> float:
        """Share that one transfer finds lost where all together have ``streams``."""
        segments = sent_bytes / SEGMENT_BYTES
        expected = 1e-3 * (streams / self.crowd) ** CROWDING * segments
        if not expected:
            return 0.0
        sd = math.sqrt(LOST_TOGETHER * expected)
        return max(rng.gauss(expected, sd), 0.0) / segments

    def throughput_bps(self, parameters: Parameters, mean_file_bytes: float) -> float:
        carried = self.carried_bps(self.demand_bps(parameters, mean_file_bytes))
        return carried * (1 - COST_OF_A_STREAM * parameters.streams)

    def power_w(self, streams: int, throughput_bps: float) -> float:
        return BASE_W + WATTS_A_STREAM * streams + WATTS_AT_FULL_RATE * throughput_bps / self.bandwidth_bps

    def oracle_bps(self, mean_file_bytes: float) -> float:
        """The most that any setting of the lattice reaches."""
        return max(self.throughput_bps(setting, mean_file_bytes) for setting in LATTICE.list_settings())

    def predicted(self, setting: Parameters, mean_file_bytes: float, log_sd: float) -> PredictedSetting:
        rate = self.throughput_bps(setting, mean_file_bytes)
        return PredictedSetting(
            parameters=setting,
            log_throughput_mean=math.log(rate),
            log_throughput_sd=log_sd,
            log_power_mean=math.log(self.power_w(setting.streams, rate)),
            log_power_sd=0.05,
        )

    def table(self, mean_file_bytes: float, log_sd: float = 0.15) -> CompactTable:
        """What learning would know of this path: the same 48 settings that agents carry."""
        settings = tuple(self.predicted(setting, mean_file_bytes, log_sd) for setting in LATTICE.list_settings())
        return CompactTable(
            predicted=SettingTable(list_compact_settings(settings), BASE_W),
            queueing_delay_p90_s={1: self.queueing_delay_s(math.inf), 64: self.queueing_delay_s(math.inf)},
            loss_baseline=self.loss_rate,
        )


def chunk_basis(
    dataset: DataSet,
    parameters: Parameters,
    table: CompactTable | None = None,
    kind: ChunkKind = ChunkKind.WHOLE,
) -> ChunkBasis:
    return ChunkBasis(ChunkPlan(kind, None, parameters), dataset.file_count, dataset.total_bytes, table)


@dataclass
class Transfer:
    """One controller with the bytes it still has to move, as many files as they are; starts at its basis' plan."""

    basis: Basis
    metered: bool = False

    def __post_init__(self) -> None:
        self.state = begin(self.basis)
        self.decision = self.state.decision
        self.remaining = {chunk.kind: float(chunk.total_bytes) for chunk in self.basis.chunks}
        self.sequence, self.at_s, self.moved = 0, 0.0, 0.0
        self.sent, self.again = 0.0, 0.0
        self.rates: list[float] = []
        self.streams: list[int] = []
        self.powers: list[float] = []
        self.decisions = [self.decision]

    def demands(self, path: SimulatedPath) -> dict[ChunkKind, float]:
        return {
            plan.chunk: path.demand_bps(plan.parameters, self.basis.by_kind[plan.chunk].mean_file_bytes)
            for plan in self.decision.chunks
            if self.remaining[plan.chunk] > 0
        }

    def tick(self, path: SimulatedPath, rates: dict[ChunkKind, float], delay_s: float, lost: float) -> None:
        """Move the bytes of one tick at these rates, then let the controller decide."""
        self.sequence, self.at_s = self.sequence + 1, self.at_s + TICK_S
        moved = {kind: min(rate * TICK_S / 8, self.remaining[kind]) for kind, rate in rates.items()}
        for kind, nbytes in moved.items():
            self.remaining[kind] -= nbytes
        total = sum(moved.values())
        self.moved, self.sent, self.again = self.moved + total, self.sent + total, self.again + lost * total
        rate = 8 * total / TICK_S
        streams = sum(plan.parameters.streams for plan in self.decision.chunks)
        power_w = path.power_w(streams, rate)
        self.rates.append(rate)
        self.streams.append(streams)
        self.powers.append(power_w)
        self.state, self.decision = step(
            self.basis, self.state, self._sample(path, rate, moved, delay_s, power_w if self.metered else None)
        )
        self.decisions.append(self.decision)

    def _sample(self, path, rate, moved, delay_s, power_w) -> TickSample:
        plan = {each.chunk: each.parameters for each in self.decision.chunks}
        files = sum(-(-self.remaining[chunk.kind] // max(chunk.mean_file_bytes, 1)) for chunk in self.basis.chunks)
        return TickSample(
            sequence=self.sequence,
            at_s=self.at_s,
            interval_s=TICK_S,
            bytes_moved=int(self.moved),
            throughput_bps=rate,
            remaining_bytes=int(sum(self.remaining.values())),
            remaining_files=int(files),
            rtt_s=path.rtt_s + delay_s,
            min_rtt_s=path.rtt_s,
            sent_bytes=int(self.sent),
            retransmitted_bytes=int(self.again),
            power_w=power_w,
            chunks=tuple(
                ChunkProgress(
                    kind=kind,
                    parameters=plan[kind],
                    throughput_bps=8 * moved.get(kind, 0.0) / TICK_S,
                    remaining_bytes=int(self.remaining[kind]),
                )
                for kind in plan
            ),
        )


def run(
    path: SimulatedPath, transfers: list[Transfer], ticks: int, *, noise: float = 0.05, seed: int = 1
) -> list[Transfer]:
    """Tick all transfers over one shared bottleneck; rates carry uniform noise of ± `noise`."""
    rng = random.Random(seed)
    for _ in range(ticks):
        demands = [transfer.demands(path) for transfer in transfers]
        demand = sum(sum(each.values()) for each in demands)
        if demand == 0:
            break
        share = path.carried_bps(demand) / demand
        crowd = sum(transfer.decision.streams for transfer in transfers)
        for transfer, each in zip(transfers, demands, strict=True):
            own = sum(plan.parameters.streams for plan in transfer.decision.chunks)
            kept = share * (1 - COST_OF_A_STREAM * own)
            rates = {kind: rate * kept * (1 + rng.uniform(-noise, noise)) for kind, rate in each.items()}
            lost = path.lost_share(demand) + path.seen_loss(crowd, TICK_S * sum(rates.values()) / 8, rng)
            transfer.tick(path, rates, path.queueing_delay_s(demand), lost)
    return transfers


def changed(path: SimulatedPath, **values: float) -> SimulatedPath:
    return replace(path, **values)


def jain(rates: list[float]) -> float:
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))
