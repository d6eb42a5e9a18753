"""One request by itself, with the entire answer in memory: index pages and queries about uploads."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from time import monotonic

from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.http.connection import Connection, ReceiveBuffer
from tradewind_agent.engine.http.dial import dial
from tradewind_agent.engine.http.exchange import Payload, ReceiveGate
from tradewind_agent.engine.http.http1 import REDIRECTS, RequestHead, ResponseHead
from tradewind_agent.engine.http.rate_limit import RateLimit
from tradewind_agent.engine.http.request_head import make_request_head
from tradewind_agent.engine.http.retry import is_retryable_status, make_refusal
from tradewind_agent.engine.http.sending.document import Document
from tradewind_agent.engine.http.tcp_info import TcpInfo
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import FileFault, RefusedByServer

_OK = 200
_RECEIVE_BYTES = 64 * 1024
LONGEST_BODY_BYTES = 64 * 1024 * 1024
"""An index of some 500,000 files; longer ones are refused rather than filling the memory."""


OnConnection = Callable[[Origin, TcpInfo], None]
"""Called with the origin and the kernel's values of a connection when its answer is complete."""


@dataclass(frozen=True, slots=True)
class FetchedAnswer:
    """A complete answer and the URL that gave it, after redirects."""

    url: Url
    head: ResponseHead
    body: bytes

    @property
    def stated_bytes(self) -> int | None:
        """Return the size of the file that this answer to HEAD states.

        ``None`` where it states none, that of an encoded answer, or 0, which programs answer that do not know.
        """
        return self.head.content_length or None if self.head.status == _OK and not self.head.codings else None


_LONGEST_IDLE_S, _LONGEST_UNANSWERED_S = 0.25, 1.0
"""Time after which an idle connection is closed, and for which another may wait while it is used again."""


class ReusableConnections:
    """Idle connections by origin; each serves one request at a time. `close` ends them.

    There are never more than requests were made at once. Some servers serve few connections, and others after those are
    closed: one that nobody takes is closed soon, as is one whose origin leaves another connection without an answer.
    """

    def __init__(self) -> None:
        self._idle: dict[Origin, list[Connection]] = {}
        self._unanswered: dict[Origin, dict[object, float]] = {}  # requests on new connections, since when

    @contextmanager
    def wait_for_answer(self, origin: Origin) -> Iterator[None]:
        """Note that a request waits on a new connection."""
        waiting, request = self._unanswered.setdefault(origin, {}), object()
        waiting[request] = monotonic()
        try:
            yield
        finally:
            del waiting[request]

    def may_store(self, origin: Origin, connection: Connection) -> bool:
        """Return whether a connection that is done is of use for other requests, and keeps none from being served."""
        oldest_s = min(self._unanswered.get(origin, {}).values(), default=monotonic())
        return connection.is_open and not connection.in_flight and monotonic() - oldest_s <= _LONGEST_UNANSWERED_S

    def take(self, origin: Origin) -> Connection | None:
        """Return the idle connection that was used last, as long as the server has not closed it."""
        idle = self._idle.get(origin, [])
        while idle:
            connection = idle.pop()
            if connection.is_open:
                return connection
        return None

    def store(self, origin: Origin, connection: Connection) -> None:
        """Hold a connection for the next request."""
        self._idle.setdefault(origin, []).append(connection)
        answered = connection.answered

        def close_unused() -> None:
            if connection.answered == answered and connection in (idle := self._idle.get(origin, [])):
                idle.remove(connection)
                connection.abort()
                connection.closed.add_done_callback(lambda _: connection.buffer.resize(0))

        asyncio.get_running_loop().call_later(_LONGEST_IDLE_S, close_unused)

    async def close(self) -> None:
        """Close all of them."""
        for idle in self._idle.values():
            for connection in idle:
                connection.abort()
                await connection.closed
                connection.buffer.resize(0)
        self._idle.clear()


async def fetch(
    url: Url,
    options: EngineOptions,
    headers: Mapping[str, str],
    *,
    method: str = "GET",
    on_connection: OnConnection | None = None,
    most_bytes: int = LONGEST_BODY_BYTES,
    body: bytes = b"",
    reusable: ReusableConnections | None = None,
) -> FetchedAnswer:
    """Send the request until there is an answer that is neither a redirect nor a temporary error.

    ``most_bytes`` : of the answer. ``body`` : of the request. ``reusable`` : connections that are used again.

    Raises
    ------
    FileFault : no answer after the tries that ``options.retry`` allows, or too many redirects.
    """
    tries = redirects = 0
    length = {"Content-Length": str(len(body))} if body else {}
    fields = {**({"Connection": "close"} if reusable is None else {}), **headers, **length}
    while True:
        try:
            make_exchange = partial(_SingleExchange, make_request_head(method, url, options, fields), most_bytes, body)
            answer = await _send_over_idle(url, make_exchange(), reusable, on_connection)
            answer = answer or await _send_once(url, options, make_exchange(), reusable, on_connection)
            if is_retryable_status(answer.head.status):
                raise make_refusal(answer.head, options.retry)
        except FileFault as fault:
            tries += 1
            if not fault.retryable or tries >= options.retry.most_tries:
                raise
            await asyncio.sleep(options.retry.wait_s(tries, options.rng, fault.retry_after_s))
            continue
        if answer.head.set_cookies:
            options.cookies.store(url, answer.head.set_cookies)
        if answer.head.status not in REDIRECTS or "location" not in answer.head.headers:
            return answer
        if options.hooks.has_signer(url.origin):
            return answer  # a store redirects to another region, where this signature is not good
        redirects += 1
        if redirects > options.most_redirects:
            raise RefusedByServer(f"more than {options.most_redirects} redirects", retryable=False)
        url = url.join(answer.head.location)


async def _send_once(
    url: Url,
    options: EngineOptions,
    single: "_SingleExchange",
    reusable: ReusableConnections | None,
    on_connection: OnConnection | None,
) -> FetchedAnswer:
    unlimited = RateLimit(None, asyncio.get_running_loop())
    connection = await dial(
        url.origin,
        lambda: Connection(_OWNER, ReceiveBuffer(_RECEIVE_BYTES), unlimited, options.patience),
        options,
    )
    with nullcontext() if reusable is None else reusable.wait_for_answer(url.origin):
        return await _converse(url, connection, single, reusable, on_connection)


async def _send_over_idle(
    url: Url, single: "_SingleExchange", reusable: ReusableConnections | None, on_connection: OnConnection | None
) -> FetchedAnswer | None:
    """Return the answer over an idle connection; nothing without one, or where the server has just closed it."""
    connection = None if reusable is None else reusable.take(url.origin)
    if connection is None:
        return None
    try:
        return await _converse(url, connection, single, reusable, on_connection)
    except _ClosedWhileIdle:
        return None


async def _converse(
    url: Url,
    connection: Connection,
    single: "_SingleExchange",
    reusable: ReusableConnections | None,
    on_connection: OnConnection | None,
) -> FetchedAnswer:
    connection.send(single)
    is_done = False
    try:
        await single.complete
        is_done = True
        if on_connection is not None:
            on_connection(url.origin, connection.sample_tcp_info())
    finally:
        if is_done and reusable is not None and reusable.may_store(url.origin, connection):
            reusable.store(url.origin, connection)
        else:
            connection.abort()
            await connection.closed
            connection.buffer.resize(0)  # Python looks for cycles rarely here
    assert single.head is not None
    return FetchedAnswer(url, single.head, single.take_body())


class _ClosedWhileIdle(FileFault):
    """The server has closed a connection without an answer to a request that may have crossed that."""


class _Owner:
    """The owner of connections whose exchanges are waited for one by one."""

    def on_answered(self, connection: Connection, head: ResponseHead) -> None:
        """Do nothing: there is only one exchange."""

    def on_closed(self, connection: Connection, last_info: TcpInfo) -> None:
        """Do nothing: the exchange knows already."""

    def on_defect(self, error: Exception) -> None:
        """Raise a defect in the event loop, which reports it."""
        raise error


_OWNER = _Owner()


class _SingleExchange:
    """A request that somebody waits for."""

    receive_gate: ReceiveGate | None = None

    def __init__(self, request: RequestHead, most_bytes: int, body: bytes) -> None:
        self.request = request
        self.payload: Payload | None = Document(body) if body else None
        self._most_bytes = most_bytes
        self.head: ResponseHead | None = None
        self.body = bytearray()
        self.complete: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_head(self, head: ResponseHead) -> None:
        self.head = head

    def on_data(self, data: memoryview) -> None:
        self.body += data
        if len(self.body) > self._most_bytes:
            raise RefusedByServer(f"an answer of more than {self._most_bytes} bytes", retryable=False)

    def take_body(self) -> bytes:
        """Return the body, and hold it no longer: the connection may outlive the use of a long index."""
        body, self.body = bytes(self.body), bytearray()
        return body

    def on_end(self) -> None:
        if not self.complete.done():
            self.complete.set_result(None)

    def on_lost(self, fault: FileFault | None) -> None:
        if not self.complete.done():
            self.complete.set_exception(fault or _ClosedWhileIdle("the connection was closed"))
