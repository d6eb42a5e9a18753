"""Traces of one command, where the environment names a receiver and the extra ``tracing`` is installed."""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
TIMEOUTS = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
TIMEOUT_S = 2
"""An unreachable receiver may not delay the end of a command for longer."""


def is_tracing_requested(environment: Mapping[str, str]) -> bool:
    """Return whether the command is to be traced.

    It is not where the libraries are missing: the variables may be meant for other programs of this host.
    """
    return any(environment.get(name) for name in ENDPOINTS) and find_spec("opentelemetry.sdk") is not None


@contextmanager
def trace_command(command: str) -> Iterator[None]:
    """Record a span around a command; it omits the arguments, since addresses may hold passwords."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    library = logging.getLogger("opentelemetry")
    library.addHandler(logging.NullHandler())
    library.propagate = False  # the terminal is the command's
    timeout_s = None if any(os.environ.get(name) for name in TIMEOUTS) else TIMEOUT_S
    named = os.environ.get("OTEL_SERVICE_NAME") or "tradewind-agent"
    provider = TracerProvider(resource=Resource.create({"service.name": named}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=timeout_s)))
    trace.set_tracer_provider(provider)
    try:
        with provider.get_tracer("tradewind-agent").start_as_current_span(
            f"tradewind {command}", record_exception=False, set_status_on_exception=False
        ):
            yield
    finally:
        provider.shutdown()
