"""Traces by OpenTelemetry where the environment names a receiver; otherwise nothing of it is imported.

All else is OpenTelemetry's own: ``OTEL_SERVICE_NAME``, ``OTEL_TRACES_SAMPLER``, ``OTEL_EXPORTER_OTLP_HEADERS``, … Spans
hold routes, statuses and ids, never headers, addresses with their queries, or bodies: these hold secrets.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from structlog.typing import FilteringBoundLogger

from services.observability.telemetry import Event
from tradewind.errors import InvalidValue

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, SpanKind

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"
SERVICE_NAME = "OTEL_SERVICE_NAME"
LIBRARY_LOG = "opentelemetry"

CARRIED = ("traceparent", "tracestate")
"""Headers of requests and jobs that name their trace (W3C Trace Context)."""

MOST_LINKS = 128
"""Links of one span; the library drops more."""

TENANT, TRANSFER, REQUEST = "tradewind.tenant_id", "tradewind.transfer_id", "tradewind.request_id"
"""Attributes, as in log lines."""


class Tracing:
    """Spans of one process."""

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 -- see above
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

        self._kinds = SpanKind
        self._provider = provider
        self._tracer = provider.get_tracer("tradewind")
        self._propagator = TraceContextTextMapPropagator()

    def open_server_span(
        self, name: str, *, of: Mapping[str, str], attributes: Mapping[str, str | int]
    ) -> AbstractContextManager["Span"]:
        """Return a span of answering a request, in the trace that ``of`` carries."""
        return self._open_span(name, self._kinds.SERVER, of, attributes)

    def open_consumer_span(
        self, name: str, *, of: Mapping[str, str], attributes: Mapping[str, str | int]
    ) -> AbstractContextManager["Span"]:
        """Return a span of doing a job, in the trace that ``of`` carries."""
        return self._open_span(name, self._kinds.CONSUMER, of, attributes)

    @contextmanager
    def _open_span(
        self, name: str, kind: "SpanKind", of: Mapping[str, str], attributes: Mapping[str, str | int]
    ) -> Iterator["Span"]:
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415

        with self._tracer.start_as_current_span(
            name,
            context=self._extract_context(of),
            kind=kind,
            attributes=attributes,
            record_exception=False,  # its message may hold what was sent
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(Status(StatusCode.ERROR))
                raise

    def build_headers(self) -> dict[str, str]:
        """Return the headers that a request or job of the current span carries."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier

    def note_batch(self, name: str, started_ns: int, *, of: Sequence[str], attributes: Mapping[str, str | int]) -> None:
        """Record a span, from ``started_ns`` (of the epoch) to now, of work for several traces: in the first, linked to
        the rest.

        ``of`` : the ``traceparent`` of each.
        """
        from opentelemetry.trace import Link, get_current_span  # noqa: PLC0415

        contexts = [self._extract_context({"traceparent": each}) for each in dict.fromkeys(of)]
        if not contexts:
            return
        links = [Link(get_current_span(each).get_span_context()) for each in contexts[1 : MOST_LINKS + 1]]
        span = self._tracer.start_span(
            name, contexts[0], self._kinds.CONSUMER, attributes=attributes, links=links, start_time=started_ns
        )
        span.end()

    def close(self) -> None:
        """Send what was not sent yet."""
        self._provider.shutdown()

    def _extract_context(self, carrier: Mapping[str, str]) -> "Context":
        return self._propagator.extract(carrier)


def check_tracing(environment: Mapping[str, str]) -> bool:
    """Return whether traces are configured.

    Raises
    ------
    InvalidValue : they are, over another protocol or without the libraries.
    """
    endpoint = next((name for name in ENDPOINTS if environment.get(name)), None)
    disabled = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if endpoint is None or disabled or environment.get("OTEL_TRACES_EXPORTER") == "none":
        return False
    protocol = next((name for name in PROTOCOLS if environment.get(name)), None)
    if protocol is not None and environment[protocol] != SPOKEN:
        raise InvalidValue(protocol, f"must be {SPOKEN}: nothing else is spoken here")
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        raise InvalidValue(endpoint, "needs the extra tradewind-server[tracing], which is not installed")
    return True


def create_tracing(
    environment: Mapping[str, str], *, service: str, log: FilteringBoundLogger, trusted: bool
) -> Tracing | None:
    """Return traces as the environment configures them, if it does.

    Parameters
    ----------
    service : the name of what is traced, unless the environment gives another.
    log : receives traces that could not be sent.
    trusted : whether only processes of the service name the trace of spans, so that their flags are followed.

    Raises
    ------
    InvalidValue : traces are configured over another protocol, or without the libraries.
    """
    if not check_tracing(environment):
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    _log_failures(log)
    provider = TracerProvider(
        resource=Resource.create({"service.name": environment.get(SERVICE_NAME) or service}), shutdown_on_exit=False
    )
    if not trusted:
        from services.observability.trace_share import OwnShare  # noqa: PLC0415

        provider.sampler = OwnShare(provider.sampler)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)


class _Failures(logging.Handler):
    """A handler that logs the library's own complaints."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.warning(Event.TRACES_NOT_SENT, reason=record.getMessage())


def _log_failures(log: FilteringBoundLogger) -> None:
    library = logging.getLogger(LIBRARY_LOG)
    library.propagate = False
    library.handlers = [_Failures(log)]
