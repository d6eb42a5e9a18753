"""Connections that are kept for the next request: a look at a file and many small files pay one handshake."""

import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from threading import Lock

from tradewind_agent.compression.http import connect
from tradewind_agent.engine.address import Origin, Url
from tradewind_agent.engine.options import EngineOptions

KEPT_S = 4.0
"""Idle for longer, a connection may be about to be closed: servers keep them for 5 s at least, by default."""


@dataclass(slots=True)
class Line:
    """A connection in use, which is closed afterwards unless its last answer was `over`."""

    connection: HTTPConnection
    options: EngineOptions
    is_free: bool = False

    def over(self, answer: HTTPResponse) -> None:
        """There is nothing more to come of what was asked for last."""
        self.is_free = answer.isclosed() and not answer.will_close


class Connections:
    """Those of one copy, for threads that take turns."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._kept: list[tuple[Origin, str | None, float, HTTPConnection]] = []
        self._lock = Lock()
        self._closed = False

    @contextmanager
    def to(self, url: Url, options: EngineOptions) -> Iterator[Line]:
        """One towards the server of ``url``, for requests one after the other.

        Raises
        ------
        ConnectionFault
        """
        line = Line(self._free(url, options) or connect(url, options), options)
        try:
            yield line
        except BaseException:
            line.is_free = False
            raise
        finally:
            with self._lock:
                keep = line.is_free and not self._closed
                if keep:
                    self._kept.append((url.origin, options.congestion_control, self._clock_s(), line.connection))
            if not keep:
                line.connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed, kept, self._kept = True, self._kept, []
        for *_, connection in kept:
            connection.close()

    def _free(self, url: Url, options: EngineOptions) -> HTTPConnection | None:
        """The one that was used last; those that are closed, or may be soon, are given up."""
        with self._lock:
            alike = [each for each in self._kept if each[:2] == (url.origin, options.congestion_control)]
            self._kept = [each for each in self._kept if each not in alike]
            found: HTTPConnection | None = None
            for each in alike:
                *_, since_s, connection = each
                if self._clock_s() - since_s > KEPT_S or _is_closed(connection):
                    connection.close()
                else:
                    self._kept.append(each)
                    found = connection
            if found is not None:
                self._kept.pop()
        return found


def _is_closed(connection: HTTPConnection) -> bool:
    """By the other end, or out of step: nothing is due on a connection that was asked for nothing."""
    return connection.sock is None or bool(select.select([connection.sock], [], [], 0)[0])
