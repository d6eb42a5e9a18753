"""A pool of idle connections: a probe of a file and many small files pay for one handshake."""

import selectors
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse
from threading import Lock
from typing import NamedTuple

from tradewind_agent.compression.packed.blocking_http import connect, discard_body, send_request
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import ConnectionFault

MAX_IDLE_S = 4.0
"""Longest idle time: later the server is likely to close the connection (Apache's default is 5 s)."""


class BorrowedConnection:
    """A connection in use, which is closed afterwards unless its last answer is `released`.

    The first request is repeated on a new connection where a reused one turns out to be closed, so it must be
    repeatable.
    """

    def __init__(self, url: Url, options: EngineOptions, idle: HTTPConnection | None) -> None:
        self._url, self.options = url, options
        self._is_reused = idle is not None
        self.connection = idle or connect(url, options)
        self.is_free = False

    def send_request(self, method: str, headers: dict[str, str]) -> HTTPResponse:
        """Ask without a body, and the head of the answer.

        Raises
        ------
        ConnectionFault
        """
        is_reused, self._is_reused = self._is_reused, False
        try:
            return send_request(self.connection, method, self._url, headers, self.options)
        except ConnectionFault:
            if not is_reused:
                raise
        self.connection.close()
        self.connection = connect(self._url, self.options)
        return send_request(self.connection, method, self._url, headers, self.options)

    def request_and_discard(self, method: str, headers: dict[str, str]) -> HTTPResponse:
        """Send a request and return the answer, with its body read, so that the connection is free again.

        Raises
        ------
        ConnectionFault
        """
        return discard_body(self.send_request(method, headers), method)

    def release(self, answer: HTTPResponse) -> None:
        """Mark the connection as free if ``answer`` is read completely."""
        is_read = answer.isclosed() or answer.length == 0
        self.is_free = is_read and not answer.will_close and answer.status >= HTTPStatus.OK


class _IdleConnection(NamedTuple):
    origin: Origin
    congestion_control: str | None
    since_s: float
    connection: HTTPConnection


class ConnectionPool:
    """The connections of one copy, shared by threads."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._idle: list[_IdleConnection] = []
        self._lock = Lock()

    @contextmanager
    def lend_connection(self, url: Url, options: EngineOptions) -> Iterator[BorrowedConnection]:
        """One towards the server of ``url``, for requests one after the other.

        Raises
        ------
        ConnectionFault
        """
        used = BorrowedConnection(url, options, self._take_idle(url, options))
        try:
            yield used
        except BaseException:
            used.is_free = False
            raise
        finally:
            if used.is_free:
                free = _IdleConnection(url.origin, options.congestion_control, self._clock_s(), used.connection)
                with self._lock:
                    self._idle.append(free)
            else:
                used.connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.connection.close()

    def _take_idle(self, url: Url, options: EngineOptions) -> HTTPConnection | None:
        """Return the one that was used last; those that are closed, or may be soon, are given up."""
        key = (url.origin, options.congestion_control)
        while True:
            with self._lock:
                matching = [each for each in self._idle if each[:2] == key]
                if not matching:
                    return None
                last = matching[-1]
                self._idle.remove(last)
            if self._clock_s() - last.since_s <= MAX_IDLE_S and not _is_closed(last.connection):
                return last.connection
            last.connection.close()


def _is_closed(connection: HTTPConnection) -> bool:
    """Return whether the other end has closed it, or sent bytes without a request."""
    if connection.sock is None:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))
