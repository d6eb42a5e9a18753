"""One HTTP/1.1 connection: requests are read ahead, answered in order, one at a time."""

import asyncio
import contextlib
import logging
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import cast

from tradewind.units import KIB
from tradewind_agent.serve.body import BodyCutOff, RequestBody
from tradewind_agent.serve.counters import Counters
from tradewind_agent.serve.messages import (
    FileSpan,
    PackedSpan,
    ReceivedRequest,
    RequestRefused,
    Response,
    format_http_date,
)
from tradewind_agent.serve.open_connections import OpenConnections
from tradewind_agent.serve.options import AccessEntry, ServeOptions
from tradewind_agent.serve.outbox import Outbox, PeerGone
from tradewind_agent.serve.reader import RequestReader
from tradewind_agent.serve.resource_requests import ResourceHold
from tradewind_agent.serve.transfer_meters import TransferMeters
from tradewind_agent.session.transfer_naming import TRANSFER_HEADER

DRAIN_UP_TO_BYTES = 256 * KIB  # an unread body up to this size is read and dropped to keep the connection
LINGER_S = 2.0  # how long a closed connection keeps reading, so that a reset does not overtake the answer

TRANSFER_FIELD = TRANSFER_HEADER.lower()

Handler = Callable[[ReceivedRequest], Awaitable[Response]]
_LOG = logging.getLogger(__name__)


class ServerConnection(asyncio.Protocol):
    """A client's connection; ``handler`` turns a request into a response and raises ``RequestRefused``.

    ``deadline_s`` is when the server may drop it: it moves whenever the peer does something, and is never while the
    server itself works. ``has_served`` : whether a request of it was not refused.
    """

    def __init__(
        self,
        handler: Handler,
        options: ServeOptions,
        counters: Counters,
        connections: OpenConnections,
        *,
        meters: TransferMeters | None,
        hold_resources: ResourceHold,
        wall_clock: Callable[[], float],
    ) -> None:
        self._handler, self._options, self._counters = handler, options, counters
        self._connections = connections
        self._meters, self._hold_resources, self._wall_clock = meters, hold_resources, wall_clock
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._outbox: Outbox
        self._task: asyncio.Task[None]
        self._peer = ""
        self._queue: deque[ReceivedRequest] = deque()
        self._wake = asyncio.Event()
        self._pauses = 0
        self._is_busy = self._is_gone = self._is_eof = self._is_stopping = self._is_discarding = False
        self.has_served = False
        self._fatal_refusal: RequestRefused | None = None
        self.deadline_s = float("inf")
        self._reader = RequestReader(
            max_head_bytes=options.limits.max_head_bytes,
            deliver=self._enqueue,
            make_body=self._make_body,
            clock=self._loop.time,
        )

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._outbox = Outbox(
            self._transport,
            by_kernel=self._options.sendfile and self._options.tls is None,
            on_progress=lambda: self._extend_deadline(self._options.limits.stall_timeout_s),
        )
        address = transport.get_extra_info("peername")
        self._peer = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else str(address)
        self._counters.connections += 1
        if self._connections.is_closed:  # pools and folder of the server are gone, or about to go
            self._is_discarding = True
            self._transport.abort()
            return
        is_full = len(self._connections) >= self._options.limits.max_connections
        if is_full and not self._connections.drop_idle():
            self._counters.refused_connections += 1
            self._fatal_refusal = RequestRefused(
                HTTPStatus.SERVICE_UNAVAILABLE, "too many connections; try again", ("Retry-After", "1")
            )
        self._connections.add(self)
        self._counters.open_connections += 1
        self._extend_deadline(self._options.limits.idle_timeout_s)
        self._task = self._loop.create_task(self._run())

    def data_received(self, data: bytes) -> None:
        if self._is_discarding or self._fatal_refusal is not None:
            return
        was_in_head, had_body = self._reader.in_head, self._reader.body is not None
        try:
            self._reader.feed(data)
        except RequestRefused as error:
            self._fatal_refusal = error
            self._cut_off_body("what follows is not HTTP")
            self._wake.set()
        if self._reader.body is not None:
            self._extend_deadline(self._options.limits.stall_timeout_s)
        elif had_body and self._is_busy:
            self._extend_deadline(float("inf"))
        elif self._reader.in_head and not was_in_head and not self._is_busy:
            # Counted from the first byte of the head: a trickle does not extend it.
            self._extend_deadline(self._options.limits.head_timeout_s)

    def eof_received(self) -> bool:
        self._is_eof = True
        self._cut_off_body("the client stopped sending")
        self._wake.set()
        return self._options.tls is None  # over plain TCP, requests already received can still be answered

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_gone = True
        self._outbox.lose_peer()
        self._cut_off_body(str(exc or "the client closed the connection"))
        self._wake.set()

    def pause_writing(self) -> None:
        self._outbox.pause()

    def resume_writing(self) -> None:
        self._outbox.resume()

    # Called by the server

    def stop(self) -> None:
        """Close once the request under way is answered; at once when idle."""
        self._is_stopping = True
        self._wake.set()

    def abort(self) -> None:
        """Drop the connection now."""
        if self._outbox.in_sendfile:
            self._task.cancel()  # the loop must first let go of the socket; the task then aborts the transport
        else:
            self._transport.abort()

    @property
    def is_idle(self) -> bool:
        """Return whether no request of this connection is known, in full."""
        return not (self._is_busy or self._queue or self._is_discarding or self._fatal_refusal)

    async def wait_closed(self) -> None:
        await asyncio.wait([self._task])

    # Called by the reader and the bodies

    def _enqueue(self, request: ReceivedRequest) -> None:
        self._queue.append(request)
        if len(self._queue) == self._options.limits.max_queued_requests:
            self._pause_reading()
        self._wake.set()

    def _make_body(self, declared_bytes: int | None, invited: bool) -> RequestBody:
        return RequestBody(
            declared_bytes,
            pause=self._pause_reading,
            resume=self._resume_reading,
            invite=self._invite_body if invited else None,
        )

    def _invite_body(self) -> None:
        self._outbox.flush()
        self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _cut_off_body(self, reason: str) -> None:
        if self._reader.body is not None:
            self._reader.body.cut_off(reason)

    def _pause_reading(self) -> None:
        self._pauses += 1
        if self._pauses == 1 and not self._is_gone:
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        self._pauses -= 1
        if self._pauses == 0 and not self._is_gone:
            self._transport.resume_reading()

    # The conversation

    async def _run(self) -> None:
        try:
            await self._converse()
        except RequestRefused as error:
            await self._send_final(error.build_response())
        except BodyCutOff:
            if self._fatal_refusal is not None:
                await self._send_final(self._fatal_refusal.build_response())
        except (PeerGone, ConnectionError, ssl.SSLError, asyncio.CancelledError):
            pass  # nobody is left to answer
        finally:
            self._is_discarding = True
            for request in self._queue:
                request.body.cut_off("the connection closed")
            self._queue.clear()
            if not self._transport.is_closing():
                self._transport.abort()
            self._connections.discard(self)
            self._counters.open_connections -= 1

    async def _converse(self) -> None:
        while (request := await self._wait_for_request()) is not None:
            self._is_busy = True
            self._extend_deadline(float("inf") if request.body.is_complete else self._options.limits.stall_timeout_s)
            with self._hold_resources(request, self._peer):
                keep_alive = await self._answer_metered(request)
            self._is_busy = False
            self._extend_deadline(self._options.limits.idle_timeout_s)
            if not keep_alive:
                break
        self._close()

    async def _wait_for_request(self) -> ReceivedRequest | None:
        while not self._queue:
            if self._fatal_refusal is not None:
                raise self._fatal_refusal
            if self._is_gone or self._is_eof or self._is_stopping:
                return None
            self._wake.clear()
            await self._wake.wait()
        if len(self._queue) == self._options.limits.max_queued_requests:
            self._resume_reading()
        return self._queue.popleft()

    async def _answer_metered(self, request: ReceivedRequest) -> bool:
        """Answer one request, its bytes on account of the transfer that it names."""
        if self._meters is None:
            return await self._answer(request)
        account = self._meters.start_request(request.headers.get(TRANSFER_FIELD))
        self._outbox.account = account
        request.body.charge_to(account)
        try:
            return await self._answer(request)
        finally:
            self._meters.finish_request(account)

    async def _answer(self, request: ReceivedRequest) -> bool:
        """Answer one request; whether another may follow on this connection."""
        try:
            response = await self._handler(request)
        except RequestRefused as error:
            response = error.build_response()
        except (BodyCutOff, PeerGone):
            raise
        except Exception:  # noqa: BLE001 - a failed request must not stop the server; the log has its traceback
            _LOG.exception("%s %s failed", request.method, request.target)
            response = RequestRefused(
                HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed; its log says why"
            ).build_response()
        if request.method == "HEAD":
            response = response.drop_body()
        try:
            readable = await self._skip_unread(request.body)
            keep_alive = readable and request.keep_alive and not self._is_stopping
            await self._send(response, keep_alive=keep_alive)
        finally:
            response.close()
        self._record(request, response)
        if not readable:
            await self._linger()
        return keep_alive

    async def _skip_unread(self, body: RequestBody) -> bool:
        """Read a small rest of a body that the handler left; False when the connection must close instead."""
        outstanding = body.outstanding_bytes
        if body.awaits_invitation or outstanding is None or outstanding > DRAIN_UP_TO_BYTES:
            return False
        try:
            await body.discard()
        except BodyCutOff:
            return False
        return True

    async def _send(self, response: Response, *, keep_alive: bool) -> None:
        self._outbox.hold(response.encode_head(date=format_http_date(self._wall_clock()), keep_alive=keep_alive))
        if isinstance(response.body, FileSpan):
            await self._outbox.send_file(response.body)
        elif isinstance(response.body, PackedSpan):
            await self._outbox.send_pieces(response.body)
        else:
            self._outbox.hold(response.body)
        # Answers wait for each other only while the next one is certain to follow at once.
        if self._outbox.is_full or not self._queue or self._queue[0].method not in ("GET", "HEAD"):
            self._outbox.flush()
            self._extend_deadline(self._options.limits.stall_timeout_s)
            await self._outbox.wait_drained()

    def _record(self, request: ReceivedRequest, response: Response) -> None:
        sent_bytes, received_bytes = response.body_bytes, request.body.received_bytes
        self.has_served = self.has_served or response.status < HTTPStatus.BAD_REQUEST
        self._counters.count(request.method, response.status, sent_bytes=sent_bytes, received_bytes=received_bytes)
        if self._options.observer is not None:
            self._options.observer(
                AccessEntry(
                    peer=self._peer,
                    method=request.method,
                    target=request.target,
                    status=response.status,
                    sent_bytes=sent_bytes,
                    received_bytes=received_bytes,
                    duration_s=self._loop.time() - request.arrived_s,
                )
            )

    async def _send_final(self, response: Response) -> None:
        """Answer input that cannot be understood, and close."""
        if self._is_gone or not isinstance(response.body, bytes):
            return
        self._outbox.hold(
            response.encode_head(date=format_http_date(self._wall_clock()), keep_alive=False) + response.body
        )
        self._outbox.flush()
        self._counters.count("-", response.status, sent_bytes=response.body_bytes, received_bytes=0)
        await self._linger()
        self._close()

    async def _linger(self) -> None:
        """End our direction and drop what still arrives, so that unread data does not reset the answer away."""
        self._is_discarding = True
        if self._is_gone or not self._transport.can_write_eof():
            return
        while self._pauses > 0:
            self._resume_reading()
        with contextlib.suppress(OSError):  # it has gone meanwhile
            self._transport.write_eof()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while not (self._is_gone or self._is_eof):
                    self._wake.clear()
                    await self._wake.wait()

    def _close(self) -> None:
        self._outbox.flush()
        self._transport.close()

    def _extend_deadline(self, seconds: float) -> None:
        self.deadline_s = self._loop.time() + seconds
