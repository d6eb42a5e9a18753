"""Which files need not be moved, because the destination has them already."""

import os
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from tradewind_agent.engine.local.checksums import Checksum
from tradewind_agent.engine.local.identity import states_time

CLOCKS_DIFFER_S = 900.0
"""Clocks of two hosts may differ by as much: object stores take requests of hosts whose clocks do."""

_DATES_DIFFER_S = 2.0
"""HTTP dates are whole seconds, and an answer takes a while: a smaller difference of clocks is none."""


class SkipRule(Enum):
    """Which files at the destination stay as they are."""

    EXISTING = "existing"
    NEWER = "newer"
    SAME = "same"


class SkipDecision(Enum):
    """What is to be done about a file that the destination may have."""

    SKIP = "it stays"
    COMPARE = "the bytes decide"
    SEND = "it is moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file at the destination of an upload, as its server describes it; what the server does not say is ``None``.

    Parameters
    ----------
    modified_at : to the second.
    keeps_times : the server stores the times of files that are sent; else it has those of storing them.
    content_tag : of the bytes, as object stores form it.
    clock_offset_s : how far the clock of the server is before the one of this host.
    checksum : of the bytes.
    """

    size_bytes: int | None = None
    modified_at: datetime | None = None
    content_tag: str | None = None
    checksum: Checksum | None = None
    keeps_times: bool = False
    clock_offset_s: float = 0.0

    @property
    def is_known(self) -> bool:
        """Return whether the server has said anything of the file."""
        return self.size_bytes is not None

    def has_time_of(self, source: os.stat_result) -> bool:
        """Return whether the time is that of the source."""
        return (
            self.keeps_times
            and self.modified_at is not None
            and states_time(source.st_mtime)
            and int(self.modified_at.timestamp()) == int(source.st_mtime)
        )

    def is_not_older(self, source: os.stat_result) -> bool:
        """Return whether the file is certainly not older than the source.

        A time of storing is corrected by the clock of the server. Another may have been set by the clock of this
        host, so that it is only corrected where that makes it older.
        """
        if self.modified_at is None:
            return False
        offset_s = self.clock_offset_s if abs(self.clock_offset_s) > _DATES_DIFFER_S else 0.0
        offset_s = max(offset_s, 0.0) if self.keeps_times else offset_s
        return self.has_time_of(source) or self.modified_at.timestamp() - offset_s >= source.st_mtime


def measure_clock_offset_s(date: datetime | None, now: datetime) -> float:
    """Return how far the clock of a server is before this host's, by the date of an answer; 0 without one, s."""
    return 0.0 if date is None else (date - now).total_seconds()


def judge_stored(stored: StoredFile | None, source: os.stat_result, rule: SkipRule, *, checksum: bool) -> SkipDecision:
    """Return what is to be done about a file that is to be sent.

    By `SkipRule.SAME` a file stays if it has the size of the source, and its time or one so much later that the clocks
    do not matter. A time between these says nothing, as the source may have changed after it was stored.

    Parameters
    ----------
    checksum : bytes are compared even if size and time agree.
    """
    if stored is None:
        return SkipDecision.SEND
    if rule is SkipRule.EXISTING or (rule is SkipRule.NEWER and stored.is_not_older(source)):
        return SkipDecision.SKIP
    if stored.size_bytes != source.st_size or stored.modified_at is None:
        return SkipDecision.SEND
    age_s = stored.modified_at.timestamp() - max(source.st_mtime, source.st_ctime)
    is_same = stored.has_time_of(source) or age_s >= CLOCKS_DIFFER_S
    if is_same and not checksum:
        return SkipDecision.SKIP
    return SkipDecision.SEND if stored.content_tag is None and stored.checksum is None else SkipDecision.COMPARE
