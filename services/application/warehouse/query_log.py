"""Log the queries that the service runs, so that users see their own: text, time, rows, duration and how each ended.

Values of parameters are not logged. A user or key has a bounded number of queries in the log, for a bounded time.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from services.application.shared.audit import Actor
from services.application.shared.unit_of_work import UnitOfWork
from services.application.warehouse.query import Query
from tradewind.errors import TradewindError

MOST_OF_ACTOR = 1_000
"""Queries of one user or key; older ones are removed."""
RETAINED = timedelta(days=30)
MOST_CHARACTERS = 4_000
"""Of the text of a query; the rest is not stored."""
MOST_MESSAGE_CHARACTERS = 500

UnitsOfWork = Callable[[UUID, Actor], AbstractContextManager[UnitOfWork]]


class QueryOutcome(StrEnum):
    COMPLETED = "completed"
    CUT = "cut"
    """All rows up to the limit of the request were sent; there are more."""
    REFUSED = "refused"
    """The database refused the statement; the message says why."""
    STOPPED = "stopped"
    """The time limit was reached."""
    TOO_LARGE = "too_large"
    """A limit of rows, of bytes, or of one row was reached."""
    CANCELLED = "cancelled"
    """The client left."""
    UNAVAILABLE = "unavailable"
    FAILED = "failed"
    """An error of the service itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEnd:
    """How a query ended; ``rows`` and ``bytes`` : sent until then. ``message`` : the error, if there was one."""

    started_at: datetime
    duration_s: float
    outcome: QueryOutcome
    rows: int
    bytes: int
    sqlstate: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedQuery:
    """A query in the log; ``sql`` : the beginning of its text, which has so many ``characters``."""

    id: int
    sql: str
    characters: int
    format: str
    end: QueryEnd


@dataclass(frozen=True, slots=True)
class QueryLog:
    """Writes the log.

    ``units`` : opens transactions on behalf of an actor.
    """

    units: UnitsOfWork

    def record(self, tenant_id: UUID, actor: Actor, query: Query, end: QueryEnd) -> None:
        """Add a query of a user or key that ended; without a database it is not logged, and its answer stands."""
        if actor.id is None:
            return
        with suppress(TradewindError), self.units(tenant_id, actor) as uow:
            uow.query_log.add(query, end, actor=actor)
            uow.commit()
