"""Reading of pipelined responses: received bytes in, heads and bodies out; no socket here.

Bodies go from the receive buffer to the sink as slices, without a copy.
"""

import re
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.errors import MalformedResponse

_FIRST_FINAL_STATUS = 200
_SWITCHING_PROTOCOLS = 101
_BEGIN = b"HTTP/"
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_MOST_INTERIM_ANSWERS = 100
"""Heads such as 102 Processing before the final one: a server that sends one each 20 s may take half an hour."""

_PROMPT_INTERIM_ANSWERS, _INTERIM_EACH_S = 20, 1.0
"""Such heads that may come at once, and the time for each further one: one that works sends one a second at most."""

_READ_AT_ONCE_BYTES = 4096
"""Most heads are shorter; more is copied only where one is not."""

_LONGEST_HEAD_BYTES = 256 * 1024
_LONGEST_LINE_BYTES = 16 * 1024


class ResponseSink(Protocol):
    """The receiver of events of one response after the other, in the order of the requests."""

    def on_head(self, head: ResponseHead) -> bool:
        """Take a final head (1xx never comes here); return whether a body may follow (not after HEAD)."""

    def on_data(self, data: memoryview) -> None:
        """Take body bytes, which are only valid during the call."""

    def on_end(self) -> None:
        """The response is complete."""


class ResponseReader:
    """A reader that turns received bytes into events for a sink.

    Reading stops for good with `close`, which a sink may call from within an event.

    Attributes
    ----------
    interim_answers : informational heads (1xx) since the last final one.
    """

    def __init__(self, sink: ResponseSink, monotonic_s: Callable[[], float] = monotonic) -> None:
        self._sink = sink
        self._monotonic_s = monotonic_s
        self._interim_since_s = 0.0
        self._closed = False
        self._pending = bytearray()
        self._head: ResponseHead | None = None
        self._missing_bytes: int | None = None
        self._chunks: _ChunkReader | None = None
        self.interim_answers = 0

    @property
    def is_in_head(self) -> bool:
        """Return whether a head has come in part."""
        return bool(self._pending)

    def close(self) -> None:
        self._closed = True

    def feed(self, data: memoryview) -> None:
        """Take bytes as they were received.

        Raises
        ------
        MalformedResponse : not HTTP/1.x.
        """
        while len(data) and not self._closed:
            if self._head is None:
                data = self._read_head(data)
            elif self._chunks is not None:
                data = self._chunks.feed(data)
                if self._chunks.is_complete:
                    self._finish()
            elif self._missing_bytes is None:
                self._sink.on_data(data)
                return
            else:
                part = data[: self._missing_bytes]
                self._missing_bytes -= len(part)
                self._sink.on_data(part)
                data = data[len(part) :]
                if not self._missing_bytes:
                    self._finish()

    def note_eof(self) -> None:
        """Note that the peer has closed, which ends a response without a stated length."""
        if self._head is not None and self._head.until_close and not self._closed:
            self._finish()

    def _read_head(self, data: memoryview) -> memoryview:
        """Take the bytes of a head; return those behind it."""
        old = len(self._pending)
        self._pending += data[:_READ_AT_ONCE_BYTES]
        taken = len(self._pending) - old
        if self._pending.startswith((b"\r", b"\n")):  # an empty line before a status line says nothing
            self._pending = self._pending.lstrip(b"\r\n")
            old = len(self._pending) - taken
        if self._pending[: len(_BEGIN)] != _BEGIN[: len(self._pending)]:
            raise MalformedResponse(f"the answer is not HTTP/1.1: it begins with {bytes(self._pending[:40])!r}")
        end = _END_OF_HEAD.search(self._pending, max(old - 2, 0))
        if end is None:
            if len(self._pending) > _LONGEST_HEAD_BYTES:
                raise MalformedResponse("the answer is not HTTP/1.1: its head does not end")
            return data[taken:]
        block, self._pending = bytes(self._pending[: end.end()]), bytearray()
        self._start(ResponseHead.parse(block))
        return data[end.end() - old :]

    def _start(self, head: ResponseHead) -> None:
        if head.status < _FIRST_FINAL_STATUS:
            if head.status == _SWITCHING_PROTOCOLS:
                raise MalformedResponse("the answer is not HTTP/1.1: it changes to another protocol")
            self._count_interim_answer(head)
            return
        self._head, self.interim_answers = head, 0
        has_body = self._sink.on_head(head) and not head.is_bodiless
        self._chunks = _ChunkReader(self._sink.on_data) if has_body and head.is_chunked else None
        self._missing_bytes = head.content_length if has_body else 0
        if not has_body or self._missing_bytes == 0:
            self._finish()

    def _count_interim_answer(self, head: ResponseHead) -> None:
        now_s = self._monotonic_s()
        if not self.interim_answers:
            self._interim_since_s = now_s
        self.interim_answers += 1
        due = _PROMPT_INTERIM_ANSWERS + (now_s - self._interim_since_s) / _INTERIM_EACH_S
        if self.interim_answers > min(due, _MOST_INTERIM_ANSWERS):
            raise MalformedResponse(f"{head.status_line} again and again, and no answer", retryable=False)

    def _finish(self) -> None:
        self._head = self._chunks = None
        if not self._closed:
            self._sink.on_end()


class _ChunkReader:
    """A body in chunks (RFC 9112 §7.1); extensions and trailers are ignored."""

    def __init__(self, on_data: Callable[[memoryview], None]) -> None:
        self._on_data = on_data
        self._line = bytearray()
        self._missing_bytes = 0
        self._trailer_bytes = 0
        self._is_behind_chunk = self._is_in_trailer = False
        self.is_complete = False

    def feed(self, data: memoryview) -> memoryview:
        """Take the rest of a chunk, or one line; return the bytes behind it."""
        if not self._missing_bytes:
            return self._read_line(data)
        part = data[: self._missing_bytes]
        self._missing_bytes -= len(part)
        self._is_behind_chunk = not self._missing_bytes
        self._on_data(part)
        return data[len(part) :]

    def _read_line(self, data: memoryview) -> memoryview:
        old = len(self._line)
        self._line += data[:_LONGEST_LINE_BYTES]
        end = self._line.find(b"\n", old)
        if end < 0:
            if len(self._line) >= _LONGEST_LINE_BYTES:
                raise MalformedResponse("the answer is not HTTP/1.1: the size of a chunk does not end")
            return data[:0]
        line, self._line = bytes(self._line[:end]).strip(), bytearray()
        self._take_line(line)
        return data[end + 1 - old :]

    def _take_line(self, line: bytes) -> None:
        if self._is_in_trailer:
            self.is_complete = not line
            self._trailer_bytes += len(line)
            if self._trailer_bytes > _LONGEST_HEAD_BYTES:
                raise MalformedResponse("the answer is not HTTP/1.1: its trailer does not end")
        elif self._is_behind_chunk and not line:
            self._is_behind_chunk = False
        else:
            size = line.partition(b";")[0].strip()
            if self._is_behind_chunk or _CHUNK_SIZE.fullmatch(size) is None:
                raise MalformedResponse(f"the answer is not HTTP/1.1: {line[:40]!r} is no size of a chunk")
            self._missing_bytes = int(size, 16)
            self._is_in_trailer = not self._missing_bytes
