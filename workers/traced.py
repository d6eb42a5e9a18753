"""Spans of what workers do, where tracing is set up; each belongs to the request that caused it."""

import time
from collections.abc import Mapping, Sequence

from services.application.transfers.sessions import TransferKey
from services.application.transfers.stream_consumer import EntryStream, StreamEntry
from services.observability.tracing import TENANT, Tracing

TRACE = "trace"
"""Field of an entry: the trace of its heartbeat."""


class TracedStream:
    """A stream of heartbeats that records a span for each stored batch."""

    def __init__(self, stream: EntryStream, tracing: Tracing) -> None:
        self._stream = stream
        self._tracing = tracing
        self._taken_ns = 0

    def take(self, limit: int) -> Sequence[StreamEntry]:
        self._taken_ns = time.time_ns()
        return self._stream.take(limit)

    def acknowledge(self, entries: Sequence[StreamEntry], journalled: Mapping[TransferKey, int]) -> None:
        self._stream.acknowledge(entries, journalled)
        traced = [trace for entry in entries if (trace := entry.decode(TRACE))]
        if (
            traced and journalled
        ):  # a batch is of one tenant; without ``journalled`` the entries were unreadable and dropped
            attributes: dict[str, str | int] = {
                "tradewind.heartbeats": len(entries),
                TENANT: entries[0].decode("tenant"),
            }
            self._tracing.note_batch("journal heartbeats", self._taken_ns, of=traced, attributes=attributes)

    def release(self, entries: Sequence[StreamEntry]) -> None:
        self._stream.release(entries)
