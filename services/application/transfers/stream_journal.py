"""What answers put on a stream, into the database: first committed, then acknowledged.

Whatever dies between the two makes an entry come again, which stores nothing twice.
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
"""A run ends after so many; the next one goes on."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a stream, as it was put there; ``token`` names it."""

    token: str
    heard_at: datetime
    fields: Mapping[str, bytes]

    def decode(self, field: str) -> str:
        """A field as text for people, whatever stands there."""
        return self.fields.get(field, b"").decode(errors="replace")


class EntryStream(Protocol):
    """A stream. Each entry is given to one taker, and again when that one has died."""

    def take(self, limit: int) -> Sequence[Entry]: ...

    def settle(self, entries: Sequence[Entry], journalled: Mapping[TransferKey, int]) -> None:
        """Let sessions tell what is journalled, then forget the entries."""

    def release(self, entries: Sequence[Entry]) -> None:
        """Let the next taker have what is not settled of these, whoever it is."""


class ParsedEntry(Protocol):
    """What an entry says, in the words of the domain."""

    @property
    def entry(self) -> Entry: ...
    @property
    def tenant_id(self) -> UUID: ...


ParsedT = TypeVar("ParsedT", bound=ParsedEntry)


@dataclass(frozen=True, slots=True)
class Run:
    """What became of the entries of a run."""

    stored: int = 0
    dropped: int = 0


@dataclass(frozen=True)
class StreamJournal(Generic[ParsedT]):
    """Parameters
    ----------
    on_dropped : told of each entry that cannot be stored, and why.
    """

    BATCH: ClassVar[int] = 1_000
    """Entries of a transaction at most."""

    stream: EntryStream
    on_dropped: Callable[[Entry, str], None]

    @abstractmethod
    def read(self, entry: Entry) -> ParsedT:
        """What the entry says; raises ``InvalidValue``."""

    @abstractmethod
    def store(self, tenant_id: UUID, told: Sequence[ParsedT]) -> Mapping[TransferKey, int]:
        """Store it in one transaction; up to which heartbeat each transfer is journalled, where that is asked for."""

    def run(self) -> Run:
        """Store what is in the stream, batch by batch.

        Raises
        ------
        Unavailable : the database or the stream is away; what was not acknowledged comes again.
        """
        done = Run()
        for _ in range(MAX_BATCHES):
            entries = self.stream.take(self.BATCH)
            try:
                stored = self._store(entries)
            except Unavailable:
                self.stream.release(entries)
                raise
            done = Run(done.stored + stored, done.dropped + len(entries) - stored)
            if len(entries) < self.BATCH:
                break
        return done

    def _store(self, entries: Sequence[Entry]) -> int:
        by_tenant: dict[UUID, list[ParsedT]] = {}
        dropped: list[Entry] = []
        for entry in entries:
            try:
                told = self.read(entry)
            except InvalidValue as wrong:
                self.on_dropped(entry, str(wrong))
                dropped.append(entry)
            else:
                by_tenant.setdefault(told.tenant_id, []).append(told)
        if dropped:
            self.stream.settle(dropped, {})
        return sum(self._store_of_tenant(tenant_id, told) for tenant_id, told in by_tenant.items())

    def _store_of_tenant(self, tenant_id: UUID, told: Sequence[ParsedT]) -> int:
        """Store in one transaction; what it refuses is narrowed down by halves, so that it holds up nothing else."""
        entries = [each.entry for each in told]
        try:
            journalled = self.store(tenant_id, told)
        except Exception as error:
            if isinstance(error, TradewindError) and error.retryable:
                raise
            if len(told) > 1:
                half = len(told) // 2
                return sum(self._store_of_tenant(tenant_id, part) for part in (told[:half], told[half:]))
            self.on_dropped(entries[0], repr(error))
            self.stream.settle(entries, {})
            return 0
        self.stream.settle(entries, journalled)
        return len(told)
