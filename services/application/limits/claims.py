"""What a transfer uses and requests of shared caps, and its plan within the share that it was granted."""

from dataclasses import replace

from services.application.transfers.sessions import Share
from tradewind.parameters import Caps
from tradewind.recommendation import ChunkPlan
from tradewind.tuning import Basis, Decision
from tradewind.wire.heartbeats import Heartbeat

GROWTH = 2
"""Streams may double within a tick (the controller's trust region), so twice the streams in use are claimed."""


def scale_to_share(basis: Basis, share: Share) -> Basis:
    """Return the basis within the caps of its request and the granted share."""
    if share.concurrency is None and share.streams is None:
        return basis
    granted = Caps(concurrency=_at_least_one(share.concurrency), streams=_at_least_one(share.streams))
    return replace(basis, caps=basis.caps.tighten(granted))


def _at_least_one(share: int | None) -> int | None:
    return None if share is None else max(share, 1)


def fits_share(chunks: tuple[ChunkPlan, ...], share: Share) -> bool:
    """Return whether the plan of all chunks together stays within the share."""
    files, streams = _compute_total(chunks)
    return files <= (share.concurrency or files) and streams <= (share.streams or streams)


def _compute_total(chunks: tuple[ChunkPlan, ...]) -> tuple[int, int]:
    """Return files and streams at once."""
    return (
        sum(chunk.parameters.concurrency or 1 for chunk in chunks),
        sum(chunk.parameters.streams for chunk in chunks),
    )


def count_used(beat: Heartbeat) -> tuple[int, int]:
    """Return files and streams in use; none before the first byte, nor of a finished chunk."""
    if beat.sequence == 0:
        return 0, 0
    settings = [chunk.parameters for chunk in beat.chunks if chunk.remaining_bytes] or [beat.parameters]
    return (
        sum(setting.concurrency or 1 for setting in settings),
        sum((setting.concurrency or 1) * (setting.parallelism or 1) for setting in settings),
    )


def count_requested(beat: Heartbeat, decision: Decision, caps: Caps) -> tuple[int, int]:
    """Return files and streams that the transfer may use until its next heartbeat."""
    files, streams = _compute_total(decision.chunks)
    if beat.sequence:
        files, streams = min(GROWTH * files, max(beat.remaining_files, 1)), GROWTH * streams
    files, streams = min(files, caps.concurrency or files), min(streams, caps.streams or streams)
    if beat.wanted is None:
        return files, streams
    return max(files, beat.wanted.concurrency), max(streams, beat.wanted.streams)
