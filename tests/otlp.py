"""A receiver of traces as OpenTelemetry sends them: protobuf over HTTP on the loopback."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

TRACES = "/v1/traces"


@dataclass(frozen=True)
class ReceivedSpan:
    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    links: tuple[str, ...]
    attributes: dict[str, str]
    failed: bool


@dataclass
class Receiver:
    """The received traces.

    ``bodies`` : the request bodies; ``spans`` : the spans in them.
    """

    address: str = ""
    bodies: list[bytes] = field(default_factory=list)
    spans: list[ReceivedSpan] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = {each.key: _read_text(each.value) for each in resource.resource.attributes}["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_read_span(service, each) for each in scope.spans]

    def named(self, name: str) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.name == name]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver in a thread."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            known = self.path == TRACES and self.headers["Content-Type"] == "application/x-protobuf"
            if known:
                receiver.take(body)
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing: the test reports what came."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


def _read_span(service: str, span: object) -> ReceivedSpan:
    return ReceivedSpan(
        service=service,
        name=span.name,  # type: ignore[attr-defined]  # made from a description
        trace_id=span.trace_id.hex(),  # type: ignore[attr-defined]
        span_id=span.span_id.hex(),  # type: ignore[attr-defined]
        parent_id=span.parent_span_id.hex(),  # type: ignore[attr-defined]
        links=tuple(link.span_id.hex() for link in span.links),  # type: ignore[attr-defined]
        attributes={each.key: _read_text(each.value) for each in span.attributes},  # made from a description
        failed=span.status.code == 2,  # type: ignore[attr-defined]
    )


def _read_text(value: AnyValue) -> str:
    return str(getattr(value, value.WhichOneof("value") or "string_value"))
