"""Around every request: how much it may send, and how long it took."""

import time

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.telemetry import Metrics
from tradewind.units import MIB

MAX_JSON_BYTES = MIB
STREAMED_ROUTES = frozenset({"/v1/logs"})
"""Routes that read their body piece by piece and keep a limit of their own."""


class BodyLimit:
    """Refuses bodies that are too large to be read in one piece."""

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_JSON_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"} or scope["path"] in STREAMED_ROUTES:
            await self._app(scope, receive, send)
            return
        received = 0

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                raise HTTPException(413, f"a request may have {self._max_bytes} bytes")
            return message

        await self._app(scope, limited, send)


class Measured:
    """Counts answers and their time by route; the route is a template, so that labels stay few."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", "unmatched")
            self._metrics.requests.labels(scope["method"], route, status).inc()
            self._metrics.request_seconds.labels(scope["method"], route).observe(time.perf_counter() - began)
