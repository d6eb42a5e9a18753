"""A plan within the share that the service has granted: of what the user has set, too, nothing goes beyond it."""

from collections.abc import Sequence

from tradewind.parameters import Caps
from tradewind.recommendation import ChunkPlan
from tradewind.tuning.limits import Limits, fitted
from tradewind.wire.heartbeats import GrantedShare, WantedShare

UNBOUNDED_FILES = 2**31
"""The share limits files at once, not how many there are."""


def share_to_caps(share: GrantedShare) -> Caps:
    """The share as caps; what is granted is at least one."""
    return Caps(
        concurrency=None if share.concurrency is None else max(share.concurrency, 1),
        streams=None if share.streams is None else max(share.streams, 1),
    )


def count_share(plan: Sequence[ChunkPlan]) -> WantedShare:
    """What ``plan`` uses of a share."""
    settings = [chunk.parameters for chunk in plan]
    return WantedShare(
        concurrency=sum(each.concurrency or 1 for each in settings), streams=sum(each.streams for each in settings)
    )


def cut_to_share(plan: Sequence[ChunkPlan], share: Caps) -> tuple[ChunkPlan, ...]:
    """``plan`` cut to the share: streams a file are given up before files at once.

    Of more chunks than channels the ones of large files are left out; their files join the last one kept.
    """
    if share.channels is None or not plan:
        return tuple(plan)
    kept = tuple(plan)[: share.channels]
    kept = (*kept[:-1], kept[-1]._replace(max_file_bytes=plan[-1].max_file_bytes))
    settings = fitted([chunk.parameters for chunk in kept], Limits(share, (UNBOUNDED_FILES,) * len(kept)))
    return tuple(chunk._replace(parameters=each) for chunk, each in zip(kept, settings, strict=True))
