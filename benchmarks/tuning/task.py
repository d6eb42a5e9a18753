"""The task of one driver, as JSON between the benchmark and its process in a client's namespace."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tradewind import path
from tradewind.dataset import Chunk, ChunkKind, DataSet
from tradewind.parameters import Parameters
from tradewind.recommendation import CompactTable
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.wire.recommendations import WireTable

TICK_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One transfer under one tuner.

    Attributes
    ----------
    names, file_bytes, rounds : every file below ``url`` is fetched ``rounds`` times, each time to another name, so that
        there is always more to move.
    ticks : the transfer is cut after so many.
    bandwidth_bps, rtt_s, loss_rate : of the path, as every tuner gets them at the start.
    table : file with the learned table, for tuners that start from one.
    setting : of the static tuner.
    target_bps : least throughput of the SLA; as fast as possible without.
    """

    tuner: str
    url: str
    names: tuple[str, ...]
    file_bytes: int
    rounds: int
    destination: str
    ticks: int
    bandwidth_bps: float
    rtt_s: float
    loss_rate: float
    table: str | None = None
    setting: tuple[int, int, int] | None = None
    target_bps: float | None = None
    tick_s: float = TICK_S

    @property
    def sla(self) -> Sla:
        if self.target_bps is None:
            return Sla(kind=SlaKind.MAX_THROUGHPUT)
        return Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=self.target_bps)

    @property
    def path(self) -> path.Path:
        return path.Path(
            bandwidth_bps=self.bandwidth_bps, rtt_s=self.rtt_s, min_rtt_s=self.rtt_s, loss_rate=self.loss_rate
        )

    @property
    def chunk(self) -> Chunk:
        """All files: they are of one size."""
        count = len(self.names) * self.rounds
        return Chunk(ChunkKind.WHOLE, DataSet(file_count=count, total_bytes=count * self.file_bytes), None)

    @property
    def parameters(self) -> Parameters | None:
        if self.setting is None:
            return None
        concurrency, parallelism, pipelining = self.setting
        return Parameters(concurrency=concurrency, parallelism=parallelism, pipelining=pipelining)

    def read_table(self) -> CompactTable | None:
        if self.table is None:
            return None
        return WireTable.model_validate_json(Path(self.table).read_bytes()).to_table()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        values: dict[str, Any] = json.loads(text)
        values["names"] = tuple(values["names"])
        if values["setting"] is not None:
            values["setting"] = tuple(values["setting"])
        return cls(**values)
