"""A span around each request, where traces are configured."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, get_contextvars

from services.application.shared.jobs import REQUEST_ID
from services.observability.tracing import CARRIED, REQUEST, TENANT, TRANSFER, Tracing

NOT_TRACED = ("/healthz", "/readyz", "/servingz", "/metrics", "/admin/static/")
"""Requested every few seconds, or by every page."""

FAILED = 500


class TracingMiddleware:
    """Records the call, its caller, its transfer and its result in a span; the route, never the address."""

    def __init__(self, app: ASGIApp, tracing: Tracing) -> None:
        self._app = app
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(NOT_TRACED):
            await self._app(scope, receive, send)
            return
        carried = {
            name: value.decode("latin-1")
            for field, value in scope["headers"]
            if (name := field.decode("latin-1")) in CARRIED
        }
        method, status = scope["method"], FAILED

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._tracing.open_server_span(method, of=carried, attributes={"http.request.method": method}) as span:
            bind_contextvars(trace_id=f"{span.get_span_context().trace_id:032x}")
            try:
                await self._app(scope, receive, send_and_note_status)
            finally:
                route = getattr(scope.get("route"), "path", "unmatched")
                known = get_contextvars()
                span.update_name(f"{method} {route}")
                attributes = {
                    "http.route": route,
                    REQUEST: known.get(REQUEST_ID),
                    TENANT: known.get("tenant_id"),
                    TRANSFER: scope.get("path_params", {}).get("transfer_id"),
                }
                span.set_attributes({name: str(value) for name, value in attributes.items() if value is not None})
                span.set_attribute("http.response.status_code", status)
                if status >= FAILED:
                    span.set_attribute("error.type", str(status))
