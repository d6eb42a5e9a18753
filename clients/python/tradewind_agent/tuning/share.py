"""Cut a plan to the share that the service has granted; the user's own settings are cut, too."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tradewind.parameters import Caps
from tradewind.recommendation import ChunkPlan
from tradewind.tuning.limits import SettingLimits, fit_to_limits

if TYPE_CHECKING:
    from tradewind.wire.heartbeats import GrantedShare

UNBOUNDED_FILES = 2**31
"""The share limits files at once, not how many there are."""


class ShareOfUser(NamedTuple):
    """Files and streams at once that the user's settings need; ``is_all`` if the service decides nothing else."""

    concurrency: int
    streams: int
    is_all: bool


def share_to_caps(share: "GrantedShare") -> Caps:
    """Convert the share to caps, which are at least one."""
    return Caps(
        concurrency=None if share.concurrency is None else max(share.concurrency, 1),
        streams=None if share.streams is None else max(share.streams, 1),
    )


def count_share(plan: Sequence[ChunkPlan], *, is_all: bool) -> ShareOfUser:
    """Return the share that ``plan`` uses."""
    return ShareOfUser(
        concurrency=sum(chunk.parameters.concurrency or 1 for chunk in plan),
        streams=sum(chunk.parameters.streams for chunk in plan),
        is_all=is_all,
    )


def cut_to_share(plan: Sequence[ChunkPlan], share: Caps) -> tuple[ChunkPlan, ...]:
    """Return ``plan`` cut to the share: streams per file are reduced before files at once.

    If there are more chunks than channels, those of large files are dropped; their files join the last chunk left.
    """
    if share.channels is None or not plan:
        return tuple(plan)
    chunks = tuple(plan)[: share.channels]
    chunks = (*chunks[:-1], chunks[-1]._replace(max_file_bytes=plan[-1].max_file_bytes))
    settings = fit_to_limits(
        [chunk.parameters for chunk in chunks], SettingLimits(share, (UNBOUNDED_FILES,) * len(chunks))
    )
    return tuple(chunk._replace(parameters=setting) for chunk, setting in zip(chunks, settings, strict=True))
