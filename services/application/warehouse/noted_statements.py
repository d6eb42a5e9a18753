"""Note in the audit log which SQL the service runs for whom.

A dashboard repeats its statements each few seconds: the same one of the same actor is noted once in ten minutes by each
process. Values of parameters are not noted.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock
from uuid import UUID

from services.application.shared.audit import Actor
from services.application.shared.unit_of_work import UnitOfWork
from services.application.warehouse.query import Query

NOTED_AGAIN_AFTER_S = 600.0
MOST_REMEMBERED = 10_000
MOST_CHARACTERS = 1_000

UnitsOfWork = Callable[[UUID, Actor], AbstractContextManager[UnitOfWork]]


class NotedStatements:
    """Statements that were noted of late.

    Parameters
    ----------
    units : opens transactions on behalf of an actor.
    monotonic : returns seconds of a clock that never goes back.
    """

    def __init__(self, units: UnitsOfWork, monotonic: Callable[[], float]) -> None:
        self._units = units
        self._monotonic = monotonic
        self._noted_s: OrderedDict[tuple[UUID, Actor, int], float] = OrderedDict()
        self._lock = Lock()

    def note(self, tenant_id: UUID, actor: Actor, query: Query) -> None:
        """Note a statement before it runs, unless it was noted of late."""
        mark, now_s = (tenant_id, actor, hash(query.sql)), self._monotonic()
        with self._lock:
            if now_s - self._noted_s.get(mark, -NOTED_AGAIN_AFTER_S) < NOTED_AGAIN_AFTER_S:
                return
        with self._units(tenant_id, actor) as uow:
            subject = query.sql.replace("\0", "\ufffd").strip()
            detail = {"characters": len(subject)} if len(subject) > MOST_CHARACTERS else {}
            uow.audit.note("query.run", subject[:MOST_CHARACTERS], format=query.format.value, **detail)
            uow.commit()
        with self._lock:
            self._noted_s[mark] = now_s
            self._noted_s.move_to_end(mark)
            while len(self._noted_s) > MOST_REMEMBERED:
                self._noted_s.popitem(last=False)
