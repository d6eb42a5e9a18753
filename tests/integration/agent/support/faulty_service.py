"""A small HTTP service for what a good one does not do on request: refuse, stall, break off, forget to answer.

It keeps uploaded batches by their idempotency key, as the real one does, and answers 422 with the receipt when it
accepts no row of one.
"""

import json
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

import zstandard

STORE = "store"
DROP = "drop the connection unanswered"
STORE_AND_DROP = "store, then drop the connection unanswered"
CUT = "answer half of a body"


class FaultyService:
    """Answers requests by the ``faults`` in turn, and well when there are none left."""

    def __init__(self) -> None:
        self.faults: deque[object] = deque()
        self.batches: dict[str, bytes] = {}
        self.refused_rows: set[int] = set()
        self.observations: list[object] = []
        self.uploads = 0
        self.arrived = threading.Condition()
        self.url = ""

    @property
    def rows(self) -> list[bytes]:
        """Every row that came, batch by batch."""
        return [line for content in self.batches.values() for line in content.splitlines()]

    def store(self, key: str, content: bytes) -> dict[str, object]:
        with self.arrived:
            self.uploads += 1
            duplicate = key in self.batches
            assert self.batches.setdefault(key, content) == content, "one key, two contents"
            self.arrived.notify_all()
        rows = range(1, content.count(b"\n") + 1)
        rejections = [
            {"row": row, "field": "source", "reason": "is refused"} for row in rows if row in self.refused_rows
        ]
        return {
            "batch_id": str(uuid4()),
            "accepted": len(rows) - len(rejections),
            "rejected": len(rejections),
            "rejections": rejections,
            "duplicate": duplicate,
        }

    def wait_for_rows(self, count: int, timeout_s: float = 30.0) -> None:
        """Until that many rows are stored."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.rows) >= count, timeout_s), f"{len(self.rows)} rows came"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: FaultyService

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fault = self.service.faults.popleft() if self.service.faults else STORE
        if fault == DROP:
            self._drop()
        elif isinstance(fault, tuple):
            status, headers, *more = fault
            document = {"title": "fault", "status": status, "detail": "as told"}
            self._answer(status, document | (more[0] if more else {}), headers)
        elif self.path == "/v1/compression/observations":
            self.service.observations += json.loads(body)["observations"]
            self._answer(200, {"kept": len(self.service.observations)}, {})
        elif self.path != "/v1/logs":
            self._answer(404, {"title": "Not found", "status": 404, "detail": "not here"}, {})
        else:
            content = zstandard.ZstdDecompressor().stream_reader(body).read()
            receipt = self.service.store(self.headers["Idempotency-Key"], content)
            if fault == STORE_AND_DROP:
                self._drop()
            else:
                self._answer(201 if receipt["accepted"] else 422, receipt, {}, cut=fault == CUT)

    def do_GET(self) -> None:
        if self.service.faults:
            status, headers = self.service.faults.popleft()
            self._answer(status, {"title": "fault", "status": status, "detail": "as told"}, headers)
        else:
            self._answer(200, {"status": "ok"} if self.path == "/healthz" else [], {})

    def _answer(self, status: int, document: object, headers: dict[str, str], *, cut: bool = False) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body)), "Content-Type": "application/json"} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class's name
        """Say nothing."""


@contextmanager
def faulty_service(port: int = 0) -> Iterator[FaultyService]:
    service = FaultyService()
    handler = type("Handler", (_Handler,), {"service": service})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = False
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
