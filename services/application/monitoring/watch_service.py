"""What an operator watches of the service as a whole: what lies in the store and in the queues, not in one process.

Whoever asks gets what is true of all processes together, so one of them is asked, and no two count the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from services.application.logs.ports import MonthsOfLogs
from services.application.logs.retain import oldest_retained_month
from services.application.shared.ports import Clock
from tradewind.errors import Unavailable

T = TypeVar("T")

CACHE_S = 5.0
"""So long one answer serves: however often it is asked for, store and queues are looked at no more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedLog:
    """The database's log, which it keeps until whoever backs it up has written it down.

    behind_bytes : not written down yet; ``None`` where the database has dropped some of it: a gap.
    followed : whether somebody takes it now.
    """

    behind_bytes: int | None
    followed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """Of all tenants together.

    unlearned_since : when the oldest rows came that the release in force of their tenant does not know, of links that
        are due; ``None`` where there are none.
    oldest_release_at : when the one was published that is in force for longest; ``None`` where there is none.
    live_transfers : begun, not ended, and heard of a moment ago.
    days_to_export : over before today, with rows that are not in their files.
    backup : ``None`` where nobody has begun to follow the database's log.
    copied_at : when the newest copy of the whole database was made; ``None`` where it was told of none.
    """

    unlearned_since: datetime | None
    oldest_release_at: datetime | None
    live_transfers: int
    days_to_export: int
    backup: FollowedLog | None
    copied_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingEntries:
    """Of a stream on its way into the database; ``oldest_s`` : since the first of them was written, 0 of none."""

    entries: int
    oldest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedState:
    """``jobs`` : by queue, taken by no worker. ``taken_jobs`` : by a worker, and not done.

    ``memory_bytes`` : of the store of the queues. ``most_memory_bytes`` : it takes no more than that, 0 of no bound.
    """

    jobs: Mapping[str, int]
    taken_jobs: int
    streams: Mapping[str, WaitingEntries]
    memory_bytes: int
    most_memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """What was found; ``None`` where it could not be asked.

    Attributes
    ----------
    database_answers : be it too slowly to tell the rest.
    ingest_lag_s : age of the oldest rows that are due and unlearned, 0 of none.
    oldest_release_s : age of the oldest release in force; ``None`` also where there is none.
    days_to_export : ``None`` also where nothing is exported.
    months_overdue : of logs that are older than is kept, and still there; ``None`` also where all are kept.
    backup : ``None`` also where nobody follows the log.
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
    def read(self) -> StoredState | None:
        """``None`` where the database answers and takes too long to tell. Raises ``Unavailable`` : it is away."""


class QueuedStates(Protocol):
    def read(self) -> QueuedState:
        """Raises ``Unavailable`` : the queues are away."""


class ServiceWatch:
    """Reads the state at most once every ``CACHE_S``.

    Parameters
    ----------
    exports : whether logs are exported. ``log_months`` : so many are kept; ``None``: all.
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
        """The state now or a moment ago; what is away is left out, and never raises."""
        if self._last is None or self._monotonic() - self._last[0] >= CACHE_S:
            self._last = self._monotonic(), self._read()
        return self._last[1]

    def _read(self) -> ServiceState:
        queued = _unless_away(self._queued.read)
        try:
            stored, answers = self._stored.read(), True
        except Unavailable:
            stored, answers = None, False
        return ServiceState(
            database_answers=answers,
            ingest_lag_s=None if stored is None else self._age_s(stored.unlearned_since) or 0.0,
            oldest_release_s=None if stored is None else self._age_s(stored.oldest_release_at),
            live_transfers=None if stored is None else stored.live_transfers,
            days_to_export=stored.days_to_export if stored is not None and self._exports else None,
            months_overdue=None if stored is None else self._months_overdue(),
            backup=None if stored is None else stored.backup,
            copy_s=None if stored is None else self._age_s(stored.copied_at),
            queued=queued,
        )

    def _age_s(self, since: datetime | None) -> float | None:
        return None if since is None else max(0.0, (self._clock.now() - since).total_seconds())

    def _months_overdue(self) -> int | None:
        if self._log_months is None:
            return None
        kept, stored = oldest_retained_month(self._clock.now(), self._log_months), _unless_away(self._months.stored)
        return None if stored is None else sum(each.month < kept for each in stored)


def _unless_away(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except Unavailable:
        return None
