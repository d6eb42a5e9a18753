"""How a request may arrive: uvicorn's protocol with limits on long heads, slow heads and slow bodies.

The server itself bounds none of the three, and each holds a connection, and what was read of it, for ever. A request
that arrives at once, as nearly all do, costs one check and no timer.
"""

import asyncio
import time
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tradewind.units import KIB

MAX_HEAD_BYTES = 32 * KIB
"""Limit of the request line and all fields; a signed-in browser sends about one KiB. The same limit holds between two
pieces of a body, and behind the last.
"""

WINDOW_S = 30.0
ARRIVED_S = "tradewind.arrived_s"
"""Key in a request's scope: when its head was complete, by the monotonic clock."""

LEAST_BYTES = 8 * KIB
"""A head must be complete within a window, and each window of a body must bring so much: less than a modem does."""


class _HeadTooLong(Exception):
    pass


class _NotOneHost(Exception):
    pass


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 by httptools; ``window_s`` and the others are attributes so that tests need not wait."""

    window_s = WINDOW_S
    least_bytes = LEAST_BYTES
    max_head_bytes = MAX_HEAD_BYTES

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes: int | None = 0
        """Bytes of a head that is not complete; ``None`` while a body is awaited or a request is answered."""
        self._bare_bytes = 0
        """Bytes since the head or the last piece of a body: framing of chunks, and fields behind them."""
        self._is_complete = True
        """Whether every request that began has arrived completely."""
        self._window_bytes = 0
        self._window: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        super().connection_made(transport)
        self._open_window()

    def connection_lost(self, exc: Exception | None) -> None:
        self._close_window()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._window_bytes += len(data)
        if self._head_bytes is None:
            self._bare_bytes += len(data)
        else:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_too_long:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self._window is None and (not self._is_complete or self._is_idle):
            # An idle connection received something: the server has switched off its own limit for idle
            # connections, also after a mere line end, with which no request begins.
            self._open_window()

    def on_message_begin(self) -> None:
        self._is_complete = False
        if self._head_bytes is None:  # behind another request in the same data: counting begins with the next
            self._head_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_bytes is not None:  # a field behind the body is dropped, and never taken for one of the head
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._head_bytes is not None and self._head_bytes > self.max_head_bytes:  # the data may hold a body, too
            head = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            if head > self.max_head_bytes:
                raise _HeadTooLong
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() != "1.0"):  # RFC 9112, section 3.2
            raise _NotOneHost
        self._head_bytes = None
        self._bare_bytes = 0
        super().on_headers_complete()
        self.scope[ARRIVED_S] = time.monotonic()  # type: ignore[literal-required]  # ``shedding`` reads it

    def on_body(self, body: bytes) -> None:
        self._bare_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_complete = True
        self._close_window()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self._is_complete:
            self._head_bytes = 0
        super().on_response_complete()

    def _should_upgrade_to_ws(self) -> bool:
        return False  # no other protocol is spoken here

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: the request is answered by HTTP/1.1, and anybody could fill the log."""

    def send_400_response(self, msg: str) -> None:
        if self._head_bytes is not None and self._head_bytes > self.max_head_bytes:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        else:
            super().send_400_response(msg)

    @property
    def _is_too_long(self) -> bool:
        """Whether more has arrived than a head may have, or than may come between the pieces of a body and behind
        them.
        """
        if self._head_bytes is None:
            return not self._is_complete and self._bare_bytes > self.max_head_bytes
        return self._head_bytes > self.max_head_bytes

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _open_window(self) -> None:
        self._window_bytes = 0
        self._window = self.loop.call_later(self.window_s, self._end_window)

    def _close_window(self) -> None:
        if self._window is not None:
            self._window.cancel()
            self._window = None

    def _end_window(self) -> None:
        """Check at the end of a window whether the request arrives fast enough."""
        self._window = None
        if self.transport.is_closing():
            return
        head = self._head_bytes is not None
        answered = not head and self.cycle.response_complete
        waits_for_us = self.flow.read_paused
        if not waits_for_us and (head or answered or self._window_bytes < self.least_bytes):
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self._open_window()

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer, unless an answer has started, and close the connection."""
        self._close_window()
        if self.transport.is_closing():
            return
        before = self._head_bytes is not None and self._is_idle
        if before or (self._head_bytes is None and not self.cycle.response_started):
            body = f'{{"type":"about:blank","title":"{status.phrase}","status":{status.value}}}'.encode()
            head = b"content-type: application/problem+json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head % len(body) + body)
        self.transport.close()
