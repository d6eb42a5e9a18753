"""Middleware around every request: its id, security headers for browsers, size limits, and timing."""

import os
import re
import time
from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import urlsplit

from prometheus_client import Counter, Histogram
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, clear_contextvars

from services.application.shared.jobs import REQUEST_ID
from services.observability.telemetry import Metrics
from tradewind.units import KIB, MIB

MAX_JSON_BYTES = MIB
MAX_COMPLETION_BYTES = 4 * MIB
"""Limit of a completion, which holds many heartbeats at most in several requests. A process answers nobody else while
it reads one.
"""

MAX_HEARTBEAT_BYTES = 64 * KIB
"""Several times the largest; hundreds of thousands wait for the journal at once when no worker takes them."""

MAX_HAR_BYTES = 20 * MIB
"""Limit of a browser's log as it is sent: as many entries as are analysed, of 1 kB each.

An agent sends some 800 bytes of one, without what is not analysed.
"""

MAX_PRICE_FILE_BYTES = 8 * MIB
"""Limit of a file of prices: some fifty thousand tiers, with their names."""

PRICE_FILES = "/prices.csv"
COMPLETIONS, HEARTBEATS, HARS = "/complete", "/heartbeats", "/v1/connections/analyse"
STREAMED_ROUTES = frozenset({"/v1/logs"})
"""Routes that stream their body and apply a limit of their own."""

REQUEST_ID_HEADER = b"x-request-id"
_RANDOM_BYTES = 16
_WELL_FORMED = re.compile(rb"[A-Za-z0-9._-]{1,64}")


AGAINST_BROWSERS = (
    # No answer is a page unless it says so: it loads nothing, no other page may frame it, and nobody may cache it.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""Headers of answers that do not set their own."""

TEMPORARY_REDIRECT = HTTPStatus.TEMPORARY_REDIRECT
"""Status of the framework's own redirects alone, from a path with a slash at its end to the one without."""

ONLY_BY_TLS = (b"strict-transport-security", b"max-age=31536000")
"""Header of answers by TLS, a proxy's included: a browser that has used TLS once uses it for a year."""


def add_security_headers(headers: Iterable[tuple[bytes, bytes]], scheme: str) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with the security headers for browsers."""
    protected = list(headers)
    names = {name for name, _ in protected}
    protected += [each for each in AGAINST_BROWSERS if each[0] not in names]
    if scheme == "https":
        protected.append(ONLY_BY_TLS)
    return protected


def _drop_origin(header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """Return a redirect to the same host as a path: the framework takes the host from the request, whatever it is."""
    name, value = header
    if name != b"location":
        return header
    target = urlsplit(value)
    return name, b"/" + target.path.lstrip(b"/") + (b"?" + target.query if target.query else b"")


class RequestIdMiddleware:
    """Gives each request an id, in its answer and in every log line that it leads to; a caller may supply the id.

    It also adds the security headers, because it touches each answer's headers anyway.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = b""
        for field, value in scope["headers"]:
            if field == REQUEST_ID_HEADER and _WELL_FORMED.fullmatch(value):
                name = value
        name = name or os.urandom(_RANDOM_BYTES).hex().encode()
        # Not reset at the end: unexpected errors are logged further out, and a server runs each request in its
        # own context.
        clear_contextvars()
        bind_contextvars(**{REQUEST_ID: name.decode()})

        async def send_with_name(message: Message) -> None:
            if message["type"] == "http.response.start":
                if message["status"] == TEMPORARY_REDIRECT:
                    message["headers"] = [_drop_origin(each) for each in message.get("headers", ())]
                message["headers"] = add_security_headers(message.get("headers", ()), scope["scheme"])
                message["headers"].append((REQUEST_ID_HEADER, name))
            await send(message)

        await self._app(scope, receive, send_with_name)


class BodyLimit:
    """Refuses bodies that are too large to be read in one piece."""

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_JSON_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"} or scope["path"] in STREAMED_ROUTES:
            await self._app(scope, receive, send)
            return
        most = self._find_most_bytes(scope["path"])
        received = 0

        async def receive_limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise HTTPException(413, f"a request may have {most} bytes")
            return message

        await self._app(scope, receive_limited, send)

    def _find_most_bytes(self, path: str) -> int:
        if path.endswith(COMPLETIONS):
            return MAX_COMPLETION_BYTES
        if path.endswith(PRICE_FILES):
            return MAX_PRICE_FILE_BYTES
        if path == HARS:
            return MAX_HAR_BYTES
        return min(MAX_HEARTBEAT_BYTES, self._max_bytes) if path.endswith(HEARTBEATS) else self._max_bytes


class MetricsMiddleware:
    """Counts answers and their time by route; the route is a template, so that labels stay few."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_s = time.perf_counter()
        status = 500

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note_status)
        finally:
            route = getattr(scope.get("route"), "path", "unmatched")
            answers, seconds = self._find_metrics(scope["method"], route, status)
            answers.inc()
            seconds.observe(time.perf_counter() - started_s)

    def _find_metrics(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        """Return the two metrics of these labels from a cache: looking them up each time would take longer than
        counting.
        """
        found = self._known.get((method, route, status))
        if found is None:
            found = self._known[method, route, status] = (
                self._metrics.requests.labels(method, route, status),
                self._metrics.request_seconds.labels(method, route),
            )
        return found
