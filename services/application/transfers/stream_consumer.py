"""Move entries that answers put on a stream into the database: commit first, then acknowledge.

A process that dies in between makes an entry come again, which stores nothing twice.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Generic, Protocol, TypeVar
from uuid import UUID

from services.application.transfers.sessions import TransferKey
from tradewind.errors import InvalidValue, TradewindError, Unavailable

MAX_BATCHES = 100
"""Batches of one run at most; the next run continues."""


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """One entry of a stream; ``token`` identifies it."""

    token: str
    heard_at: datetime
    fields: Mapping[str, bytes]

    def decode(self, field: str) -> str:
        """Return a field as text for a message, whatever its bytes are."""
        return self.fields.get(field, b"").decode(errors="replace")


class EntryStream(Protocol):
    """A stream that gives each entry to one taker, and to another once that one has died.

    A port with two implementations: the stream in `services.queue` and `workers.traced.TracedStream`.
    """

    def take(self, limit: int) -> Sequence[StreamEntry]: ...

    def acknowledge(self, entries: Sequence[StreamEntry], journalled: Mapping[TransferKey, int]) -> None:
        """Store in the sessions what is journalled, then remove the entries."""

    def release(self, entries: Sequence[StreamEntry]) -> None:
        """Let any next taker have those of the entries that are not acknowledged."""


class ParsedEntry(Protocol):
    """A parsed entry; a port with two implementations, for heartbeats and for quotes."""

    @property
    def entry(self) -> StreamEntry: ...
    @property
    def tenant_id(self) -> UUID: ...


ParsedT = TypeVar("ParsedT", bound=ParsedEntry)


@dataclass(frozen=True, slots=True)
class ConsumerRun:
    """Counts of the entries that a run stored and dropped."""

    stored: int = 0
    dropped: int = 0


@dataclass(frozen=True)
class StreamConsumer(Generic[ParsedT]):
    """A journal that moves entries from a stream into the database; subclasses parse and store them.

    Parameters
    ----------
    on_dropped : called with each entry that cannot be stored, and the reason.
    """

    BATCH: ClassVar[int] = 1_000
    """Entries in one transaction at most."""

    stream: EntryStream
    on_dropped: Callable[[StreamEntry, str], None]

    @abstractmethod
    def read(self, entry: StreamEntry) -> ParsedT:
        """Return the parsed entry; raise ``InvalidValue``."""

    @abstractmethod
    def store(self, tenant_id: UUID, entries: Sequence[ParsedT]) -> Mapping[TransferKey, int]:
        """Store entries in one transaction; return the last journalled sequence of each transfer, if they have any."""

    def run(self) -> ConsumerRun:
        """Store what is in the stream, batch by batch.

        Raises
        ------
        Unavailable : the database or the stream is unreachable; entries that are not acknowledged come again.
        """
        done = ConsumerRun()
        for _ in range(MAX_BATCHES):
            entries = self.stream.take(self.BATCH)
            try:
                stored = self._store(entries)
            except Unavailable:
                self.stream.release(entries)
                raise
            done = ConsumerRun(done.stored + stored, done.dropped + len(entries) - stored)
            if len(entries) < self.BATCH:
                break
        return done

    def _store(self, entries: Sequence[StreamEntry]) -> int:
        by_tenant: dict[UUID, list[ParsedT]] = {}
        dropped: list[StreamEntry] = []
        for entry in entries:
            try:
                parsed = self.read(entry)
            except InvalidValue as wrong:
                self.on_dropped(entry, str(wrong))
                dropped.append(entry)
            else:
                by_tenant.setdefault(parsed.tenant_id, []).append(parsed)
        if dropped:
            self.stream.acknowledge(dropped, {})
        return sum(self._store_of_tenant(tenant_id, of_tenant) for tenant_id, of_tenant in by_tenant.items())

    def _store_of_tenant(self, tenant_id: UUID, parsed: Sequence[ParsedT]) -> int:
        """Store in one transaction; bisect a batch that fails, so that a bad entry does not block others."""
        entries = [entry.entry for entry in parsed]
        try:
            journalled = self.store(tenant_id, parsed)
        except Exception as error:
            if isinstance(error, TradewindError) and error.retryable:
                raise
            if len(parsed) > 1:
                half = len(parsed) // 2
                return sum(self._store_of_tenant(tenant_id, part) for part in (parsed[:half], parsed[half:]))
            self.on_dropped(entries[0], repr(error))
            self.stream.acknowledge(entries, {})
            return 0
        self.stream.acknowledge(entries, journalled)
        return len(parsed)
