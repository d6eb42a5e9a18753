"""Store uploads in processes next to an answering one, which yield to it: it answers while rows are read."""

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import IO
from uuid import UUID

from services.application.logs.ingest import IngestReceipt, LogBatch, ingest_logs
from services.application.logs.lines import BodyLimits, Encoding, UploadedBody
from services.application.shared.audit import Actor
from services.application.shared.jobs import Event
from services.application.shared.ports import Outbox
from services.application.shared.yielding_processes import YieldingProcesses
from services.persistence.patience import Patience
from services.persistence.store import Store
from services.system_clock import SystemClock
from tradewind.errors import Deadlocked

AT_ONCE = 3
"""Processes for uploads; each takes 60 MB. A tenant may have two, and one of its keys one."""

ATTEMPTS = 3
"""Two batches with the same new links in opposite orders may deadlock; the one that is rolled back is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """An upload without its body."""

    tenant_id: UUID
    actor: Actor
    idempotency_key: str | None
    encoding: Encoding
    limits: BodyLimits


class UploadStorage:
    """Stores uploads; processes start when they are first needed, and connect as the application's role.

    ``outbox`` : sends what a stored upload publishes, from this process.
    """

    def __init__(self, database_url: str, patience: Patience, outbox: Outbox) -> None:
        self._place = (database_url, patience)
        self._outbox = outbox
        self._processes = YieldingProcesses(AT_ONCE)

    def store(self, body: IO[bytes], upload: Upload) -> IngestReceipt:
        """Store the rows of a body.

        Raises
        ------
        Unavailable : the process has ended; nothing is stored, or everything is, which the same upload reveals.
        TradewindError : those of `ingest_logs`.
        """
        receipt, events = self._processes.run(_store, self._place, upload, file=body)
        for event in events:
            self._outbox.send(event)
        return receipt

    def close(self) -> None:
        """End the processes."""
        self._processes.close()


class _CollectedEvents:
    """An outbox whose events another process sends."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def send(self, event: Event) -> None:
        self.events.append(event)


@cache
def _open_store(database_url: str, patience: Patience) -> tuple[Store, _CollectedEvents]:
    outbox = _CollectedEvents()
    return Store(database_url, outbox, patience), outbox


def _store(body: IO[bytes], place: tuple[str, Patience], upload: Upload) -> tuple[IngestReceipt, list[Event]]:
    store, outbox = _open_store(*place)
    outbox.events = []
    batch = LogBatch(
        tenant_id=upload.tenant_id,
        idempotency_key=upload.idempotency_key,
        body=UploadedBody(body, upload.encoding, upload.limits),
    )

    def ingest() -> IngestReceipt:
        return ingest_logs(batch, uow=store.unit_of_work(upload.tenant_id, upload.actor), clock=SystemClock())

    for _ in range(ATTEMPTS - 1):
        with suppress(Deadlocked):
            return ingest(), outbox.events
    return ingest(), outbox.events
