"""The state of the entire service for operators: what the store and the queues contain, not one process.

The state is of all processes together, so that only one process is queried and nothing is counted twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from services.application.logs.ports import MonthsOfLogs
from services.application.logs.retain import find_oldest_retained_month
from services.application.shared.ports import Clock
from tradewind.errors import Unavailable

T = TypeVar("T")

CACHE_S = 5.0
"""Time for which a state is reused; store and queues are not read more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedLog:
    """The database's write-ahead log, which it retains until the backup has stored it.

    behind_bytes : not stored yet; ``None`` where the database has dropped some of it: a gap.
    followed : whether a backup reads it now.
    """

    behind_bytes: int | None
    followed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """The state of the database, over all tenants.

    unlearned_since : arrival of the oldest rows that are not in the current release of their tenant, of links that are
        due; ``None`` where there are none.
    oldest_release_at : publication of the oldest current release; ``None`` where there is none.
    live_transfers : started, not ended, and with a recent heartbeat.
    days_to_export : past days with rows that are not in their files.
    backup : ``None`` where no backup follows the write-ahead log.
    copied_at : time of the newest copy of the entire database; ``None`` where there is none.
    """

    unlearned_since: datetime | None
    oldest_release_at: datetime | None
    live_transfers: int
    days_to_export: int
    backup: FollowedLog | None
    copied_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingEntries:
    """Entries of a stream that are not in the database yet; ``oldest_s`` : age of the oldest, 0 without entries."""

    entries: int
    oldest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedState:
    """The state of the queues.

    ``jobs`` : by queue, not taken by a worker. ``taken_jobs`` : taken by a worker and not done. ``memory_bytes`` : of
    the store of the queues. ``most_memory_bytes`` : its limit, 0 without one.
    """

    jobs: Mapping[str, int]
    taken_jobs: int
    streams: Mapping[str, WaitingEntries]
    memory_bytes: int
    most_memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """The state of the service; values are ``None`` where they could not be read.

    Attributes
    ----------
    database_answers : perhaps too slowly to read the rest.
    ingest_lag_s : age of the oldest rows that are due and not learned, 0 without any.
    oldest_release_s : age of the oldest current release; ``None`` also where there is none.
    days_to_export : ``None`` also where nothing is exported.
    months_overdue : months of logs that are due and not dropped; ``None`` also without retention.
    backup : ``None`` also where no backup follows the log.
    copy_s : age of the newest copy of the database; ``None`` also where there is none.
    """

    database_answers: bool
    ingest_lag_s: float | None
    oldest_release_s: float | None
    live_transfers: int | None
    days_to_export: int | None
    months_overdue: int | None
    backup: FollowedLog | None
    copy_s: float | None
    queued: QueuedState | None


class StoredStates(Protocol):
    """Reads the state of the database; a port because the application may not import persistence."""

    def read(self) -> StoredState | None:
        """Return ``None`` where the database answers too slowly; raise ``Unavailable`` where it is unreachable."""


class QueuedStates(Protocol):
    """Reads the state of the queues; a port because `services.queue` implements it."""

    def read(self) -> QueuedState:
        """Return the state; raise ``Unavailable`` where the queues are unreachable."""


class ServiceWatch:
    """Reads the state at most once every ``CACHE_S``.

    Parameters
    ----------
    exports : whether logs are exported. ``log_months`` : retained months; ``None`` for all.
    """

    def __init__(
        self,
        stored: StoredStates,
        queued: QueuedStates,
        months: MonthsOfLogs,
        *,
        clock: Clock,
        monotonic: Callable[[], float],
        exports: bool,
        log_months: int | None,
    ) -> None:
        self._stored = stored
        self._queued = queued
        self._months = months
        self._clock = clock
        self._monotonic = monotonic
        self._exports = exports
        self._log_months = log_months
        self._last: tuple[float, ServiceState] | None = None

    def read(self) -> ServiceState:
        """Return a state at most ``CACHE_S`` old; unreachable parts are ``None``, and nothing is raised."""
        if self._last is None or self._monotonic() - self._last[0] >= CACHE_S:
            self._last = self._monotonic(), self._read()
        return self._last[1]

    def _read(self) -> ServiceState:
        queued = _read_if_reachable(self._queued.read)
        try:
            stored, answers = self._stored.read(), True
        except Unavailable:
            stored, answers = None, False
        return ServiceState(
            database_answers=answers,
            ingest_lag_s=None if stored is None else self._compute_age_s(stored.unlearned_since) or 0.0,
            oldest_release_s=None if stored is None else self._compute_age_s(stored.oldest_release_at),
            live_transfers=None if stored is None else stored.live_transfers,
            days_to_export=stored.days_to_export if stored is not None and self._exports else None,
            months_overdue=None if stored is None else self._count_months_overdue(),
            backup=None if stored is None else stored.backup,
            copy_s=None if stored is None else self._compute_age_s(stored.copied_at),
            queued=queued,
        )

    def _compute_age_s(self, since: datetime | None) -> float | None:
        return None if since is None else max(0.0, (self._clock.now() - since).total_seconds())

    def _count_months_overdue(self) -> int | None:
        if self._log_months is None:
            return None
        oldest, stored = (
            find_oldest_retained_month(self._clock.now(), self._log_months),
            _read_if_reachable(self._months.list_stored),
        )
        return None if stored is None else sum(month.month < oldest for month in stored)


def _read_if_reachable(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except Unavailable:
        return None
