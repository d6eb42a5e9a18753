"""Spans around calls to the service, for a program that traces itself with OpenTelemetry; imported in no other.

A span names the call and its result. Of an address it shows the parts that are no ids, and the id of the transfer.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from opentelemetry import context, propagate, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

TRANSFER = "tradewind.transfer_id"
_TRANSFER = re.compile(r"/v1/transfers/([^/]+)/")
_ID = re.compile(r"/[0-9a-f]{8}-[0-9a-f-]{27}(?=/|$)")
FAILED = 400


class CallTraces:
    """Calls of one client. One made in a thread of its own belongs to what went on when the client was made."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("tradewind-agent")
        self._parent_context = context.get_current()

    @contextmanager
    def call(self, method: str, path: str) -> Iterator["TracedCall"]:
        """Record a span of one request."""
        inside = trace.get_current_span().get_span_context().is_valid
        name = f"{method} {_ID.sub('/{id}', path)}"
        with self._tracer.start_as_current_span(
            name,
            context=None if inside else self._parent_context,
            kind=SpanKind.CLIENT,
            attributes={"http.request.method": method},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            if of_transfer := _TRANSFER.match(path):
                span.set_attribute(TRANSFER, of_transfer[1])
            try:
                yield TracedCall(span)
            except Exception as error:
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(Status(StatusCode.ERROR))
                raise


class TracedCall:
    """A request that goes on."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self.headers: dict[str, str] = {}
        """That the request is to carry."""
        propagate.inject(self.headers)

    def record_answer(self, response: httpx.Response) -> None:
        self._span.set_attribute("http.response.status_code", response.status_code)
        if response.status_code >= FAILED:
            self._span.set_status(Status(StatusCode.ERROR))
