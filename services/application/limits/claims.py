"""What a transfer uses and wants of the caps that it shares with others, and its plan under what it was granted."""

from dataclasses import replace

from services.application.transfers.sessions import Share
from tradewind.parameters import Caps
from tradewind.recommendation import ChunkPlan
from tradewind.tuning import Basis, Decision
from tradewind.wire.heartbeats import Heartbeat

GROWTH = 2
"""Streams may double within a tick (the controller's trust region), so that much more than in use is claimed."""


def scale_to_share(basis: Basis, share: Share) -> Basis:
    """The basis under the caps of its request and the share granted now."""
    if share.concurrency is None and share.streams is None:
        return basis
    granted = Caps(concurrency=_at_least_one(share.concurrency), streams=_at_least_one(share.streams))
    return replace(basis, caps=basis.caps.tighten(granted))


def _at_least_one(share: int | None) -> int | None:
    return None if share is None else max(share, 1)


def fits_share(chunks: tuple[ChunkPlan, ...], share: Share) -> bool:
    files, streams = _total(chunks)
    return files <= (share.concurrency or files) and streams <= (share.streams or streams)


def _total(chunks: tuple[ChunkPlan, ...]) -> tuple[int, int]:
    """Files and streams at once."""
    return (
        sum(chunk.parameters.concurrency or 1 for chunk in chunks),
        sum(chunk.parameters.streams for chunk in chunks),
    )


def count_used(beat: Heartbeat) -> tuple[int, int]:
    """Files and streams in force; none before the first byte, nor of a chunk that is done."""
    if beat.sequence == 0:
        return 0, 0
    settings = [each.parameters for each in beat.chunks if each.remaining_bytes] or [beat.parameters]
    return (
        sum(each.concurrency or 1 for each in settings),
        sum((each.concurrency or 1) * (each.parallelism or 1) for each in settings),
    )


def count_requested(beat: Heartbeat, decision: Decision, caps: Caps) -> tuple[int, int]:
    """Files and streams that the transfer may come to use until its next heartbeat."""
    files, streams = _total(decision.chunks)
    if beat.sequence:
        files, streams = min(GROWTH * files, max(beat.remaining_files, 1)), GROWTH * streams
    files, streams = min(files, caps.concurrency or files), min(streams, caps.streams or streams)
    if beat.wanted is None:
        return files, streams
    return max(files, beat.wanted.concurrency), max(streams, beat.wanted.streams)
