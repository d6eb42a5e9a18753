"""The transfer records of one transfer: a row for all of it and a row a chunk, joined by the transfer's id."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from tradewind.dataset import ChunkKind, DataSet
from tradewind.energy.measured import EnergyQuality, EnergyReading
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import RATE_TOLERANCE, Direction, Mover, ResourceUsage, TransferOutcome, TransferRecord

LEAST_DURATION = timedelta(microseconds=1)
"""Resolution of times on the wire; a record must end after it starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferIdentity:
    """The values that all rows of a transfer share."""

    transfer_id: UUID
    source: str
    destination: str
    mover: Mover
    protocol: str
    direction: Direction
    store: str | None = None
    network: str | None = None
    sla: str | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedChunk:
    """The outcome of the files of one chunk, or of all files (`ChunkKind.WHOLE`)."""

    chunk: ChunkKind
    dataset: DataSet
    parameters: Parameters
    started_at: datetime
    ended_at: datetime
    outcome: TransferOutcome


def build_records(
    identity: TransferIdentity,
    total: MovedChunk,
    chunks: Sequence[MovedChunk],
    *,
    path: Path,
    energy: tuple[EnergyReading, ...] = (),
    usage: ResourceUsage | None = None,
) -> tuple[TransferRecord, ...]:
    """Return the rows to log: first the total, then the chunks; a plan with one setting has the total alone.

    Only the total carries the quote, so that nobody adds it up twice.

    The meter reads the entire host. A chunk that ran next to others gets energy by its share of the bytes, which
    counts as assumed.
    """
    rows = [replace(_build_record(identity, total, path, energy, usage), quote=identity.quote)]
    parts = [chunk for chunk in chunks if chunk.chunk is not ChunkKind.WHOLE]
    total_bytes = sum(chunk.outcome.bytes_moved for chunk in parts)
    for chunk in parts:
        share = chunk.outcome.bytes_moved / total_bytes if total_bytes else 0.0
        readings = energy if len(parts) == 1 else tuple(_scale_reading(reading, share) for reading in energy)
        rows.append(_build_record(identity, chunk, path, readings if share else (), usage))
    return tuple(rows)


def _build_record(
    identity: TransferIdentity,
    moved: MovedChunk,
    path: Path,
    energy: tuple[EnergyReading, ...],
    usage: ResourceUsage | None,
) -> TransferRecord:
    return TransferRecord(
        # The rows of a transfer have the same ids however often they are built.
        id=uuid5(identity.transfer_id, moved.chunk),
        transfer_id=identity.transfer_id,
        started_at=moved.started_at,
        ended_at=max(moved.ended_at, moved.started_at + LEAST_DURATION),
        source=identity.source,
        destination=identity.destination,
        mover=identity.mover,
        protocol=identity.protocol,
        direction=identity.direction,
        store=identity.store,
        network=identity.network,
        dataset=moved.dataset,
        parameters=moved.parameters,
        outcome=moved.outcome,
        path=_drop_refuted_bandwidth(path, moved.outcome.throughput_bps),
        usage=usage,
        energy=energy,
        chunk=moved.chunk,
        sla=identity.sla,
    )


def _drop_refuted_bandwidth(path: Path, throughput_bps: float) -> Path:
    """Return ``path`` without a stated bandwidth that this very transfer has exceeded."""
    if path.bandwidth_bps is None or throughput_bps <= RATE_TOLERANCE * path.bandwidth_bps:
        return path
    return replace(path, bandwidth_bps=None)


def _scale_reading(reading: EnergyReading, share: float) -> EnergyReading:
    return replace(
        reading,
        total_j=share * reading.total_j,
        dynamic_j=None if reading.dynamic_j is None else share * reading.dynamic_j,
        base_w=None if reading.base_w is None else share * reading.base_w,
        tail_j=None if reading.tail_j is None else share * reading.tail_j,
        quality=EnergyQuality.ASSUMED,
    )
