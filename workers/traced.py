"""Spans of what workers do, where traces are asked for: each belongs to the request that it goes back to."""

import time
from collections.abc import Mapping, Sequence

from services.application.transfers.sessions import TransferKey
from services.application.transfers.stream_journal import Entry, EntryStream
from services.observability.tracing import TENANT, Tracing

TRACE = "trace"
"""Field of an entry: what its heartbeat belongs to."""


class TracedStream:
    """A stream of heartbeats that tells of each batch that was stored."""

    def __init__(self, stream: EntryStream, tracing: Tracing) -> None:
        self._stream = stream
        self._tracing = tracing
        self._taken_ns = 0

    def take(self, limit: int) -> Sequence[Entry]:
        self._taken_ns = time.time_ns()
        return self._stream.take(limit)

    def settle(self, entries: Sequence[Entry], journalled: Mapping[TransferKey, int]) -> None:
        self._stream.settle(entries, journalled)
        traced = [trace for entry in entries if (trace := entry.told(TRACE))]
        if traced and journalled:  # of one tenant; without any, entries that nobody can read were dropped
            told: dict[str, str | int] = {"tradewind.heartbeats": len(entries), TENANT: entries[0].told("tenant")}
            self._tracing.note_batch("journal heartbeats", self._taken_ns, of=traced, attributes=told)

    def release(self, entries: Sequence[Entry]) -> None:
        self._stream.release(entries)
