"""What a codec made of a file that was sent, for the service's history."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from tradewind.compression.model import Speeds
from tradewind_agent.compression.packing import Work
from tradewind_agent.compression.sampling import Sample, cpu_class, measured

if TYPE_CHECKING:
    from tradewind.wire.compression import WireObservation

OBSERVED_FROM_BYTES = 64 * 1024
"""Smaller files say little of a codec."""


def observation_of(work: Work, sample: Sample | None, transfer_id: UUID, name: str) -> "WireObservation | None":
    """What one setting made of a whole file; ``None`` where several took turns, or too little was packed to tell.

    Parameters
    ----------
    name : of the file within the transfer, so that the same observation has the same id.
    """
    setting = work.main_setting
    if setting is None or sample is None or set(work.used) != {setting}:
        return None
    if work.plain_bytes < OBSERVED_FROM_BYTES or not work.pack_s > 0:
        return None
    from tradewind.wire.compression import WireObservation, WireSpeeds  # noqa: PLC0415

    speeds = Speeds(
        work.plain_bytes / work.packed_bytes,
        work.compress_bps(setting),
        measured(sample.blocks[:1], setting).decompress_bps,
    )
    return WireObservation(
        id=uuid5(transfer_id, name),
        seen_at=datetime.now(UTC),
        codec=setting.codec,
        level=setting.level,
        file_bytes=work.plain_bytes,
        kind=sample.content.kind,
        cpu_class=cpu_class(),
        probe=WireSpeeds.of(sample.probe),
        speeds=WireSpeeds.of(speeds),
    )
