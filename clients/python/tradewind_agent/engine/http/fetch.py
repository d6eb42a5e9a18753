"""One request by itself, with the entire answer in memory: index pages and queries about uploads."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

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


async def fetch(
    url: Url,
    options: EngineOptions,
    headers: Mapping[str, str],
    *,
    method: str = "GET",
    on_connection: OnConnection | None = None,
    most_bytes: int = LONGEST_BODY_BYTES,
    body: bytes = b"",
) -> FetchedAnswer:
    """Send the request until there is an answer that is neither a redirect nor a temporary error.

    ``most_bytes`` : of the answer. ``body`` : of the request.

    Raises
    ------
    FileFault : no answer after the tries that ``options.retry`` allows, or too many redirects.
    """
    tries = redirects = 0
    fields = {"Connection": "close", **headers, **({"Content-Length": str(len(body))} if body else {})}
    while True:
        try:
            exchange = _SingleExchange(make_request_head(method, url, options, fields), most_bytes, body)
            answer = await _send_once(url, options, exchange, on_connection)
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
    url: Url, options: EngineOptions, single: "_SingleExchange", on_connection: OnConnection | None
) -> FetchedAnswer:
    unlimited = RateLimit(None, asyncio.get_running_loop())
    connection = await dial(
        url.origin,
        lambda: Connection(single, ReceiveBuffer(_RECEIVE_BYTES), unlimited, options.patience),
        options,
    )
    connection.send(single)
    try:
        await single.complete
        if on_connection is not None:
            on_connection(url.origin, connection.sample_tcp_info())
    finally:
        connection.abort()
        await connection.closed
        connection.buffer.resize(0)  # Python looks for cycles rarely here
    assert single.head is not None
    return FetchedAnswer(url, single.head, single.take_body())


class _SingleExchange:
    """The only exchange of its connection, and the connection's owner."""

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
            self.complete.set_exception(fault or FileFault("the connection was closed"))

    def on_answered(self, connection: Connection, head: ResponseHead) -> None:
        """Do nothing: there is only one exchange."""

    def on_closed(self, connection: Connection, last_info: TcpInfo) -> None:
        """Do nothing: `complete` is set already."""

    def on_defect(self, error: Exception) -> None:
        if not self.complete.done():
            self.complete.set_exception(error)
