"""Requests as handlers see them, responses as they return them, and refusals."""

import json
import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus

from tradewind_agent.serve.body import RequestBody

Header = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class ReceivedRequest:
    """One request; ``headers`` has lower-case names, repeated fields joined by commas."""

    method: str
    target: str
    headers: Mapping[str, str]
    http_minor: int
    keep_alive: bool
    body: RequestBody
    arrived_s: float


@dataclass(slots=True)
class FileSpan:
    """``count`` bytes of an open file from ``offset`` on; the owner of the response closes it.

    ``status`` : of the file when its tag and length were read; ``None`` where it does not matter.
    """

    descriptor: int
    offset: int
    count: int
    status: os.stat_result | None = None

    @property
    def has_changed(self) -> bool:
        """Return whether bytes may be others than those of the answer's tag; one that only grew has the same there."""
        if self.status is None:
            return False
        now = os.fstat(self.descriptor)
        return now.st_mtime_ns != self.status.st_mtime_ns and now.st_size <= self.status.st_size

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


@dataclass(slots=True)
class PackedSpan:
    """An open file, packed piece by piece as it is sent, so that its length is unknown in advance.

    ``on_close`` : called once, when nothing more is packed. ``sent_bytes`` : of the pieces that have gone.
    """

    descriptor: int
    pieces: Generator[bytes]
    on_close: Callable[[], None]
    sent_bytes: int = 0

    def close(self) -> None:
        """Close without waiting: threads that still pack blocks finish by themselves."""
        if self.descriptor >= 0:
            self.pieces.close()
            os.close(self.descriptor)
            self.descriptor = -1
            self.on_close()


@dataclass(slots=True)
class Response:
    """Status, fields and body; Content-Length is the body's unless ``content_length`` says otherwise (HEAD)."""

    status: int
    headers: list[Header] = field(default_factory=list)
    body: bytes | FileSpan | PackedSpan = b""
    content_length: int | None = None

    @property
    def body_bytes(self) -> int:
        if isinstance(self.body, PackedSpan):
            return self.body.sent_bytes
        return self.body.count if isinstance(self.body, FileSpan) else len(self.body)

    def drop_body(self) -> "Response":
        """Return the same answer to HEAD: every field, no body."""
        length = self.body_bytes
        self.close()
        return Response(self.status, self.headers, b"", length)

    def close(self) -> None:
        """Close the file, if the body is one."""
        if isinstance(self.body, FileSpan | PackedSpan):
            self.body.close()

    def encode_head(self, *, date: str, keep_alive: bool) -> bytes:
        """Return the status line and header fields, ready to send."""
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}", f"Date: {date}", "Server: tradewind"]
        lines.append("X-Content-Type-Options: nosniff")  # an uploaded file is never run as what it is not
        lines += [f"{name}: {value}" for name, value in self.headers]
        if isinstance(self.body, PackedSpan):
            lines.append("Transfer-Encoding: chunked")
        elif self.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            length = self.body_bytes if self.content_length is None else self.content_length
            lines.append(f"Content-Length: {length}")
        lines.append("Connection: keep-alive" if keep_alive else "Connection: close")
        return "\r\n".join([*lines, "\r\n"]).encode("latin-1")


class RequestRefused(Exception):
    """A request that is answered with an error status; ``detail`` says what was wrong and what to do."""

    def __init__(self, status: HTTPStatus, detail: str, *headers: Header) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers

    def build_response(self) -> Response:
        """Return the refusal as a problem (RFC 9457)."""
        problem = {"title": self.status.phrase, "status": self.status.value, "detail": self.detail}
        return build_json_response(self.status, problem, *self.headers, content_type="application/problem+json")


def build_json_response(
    status: int, value: object, *headers: Header, content_type: str = "application/json"
) -> Response:
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n"
    return Response(status, [("Content-Type", content_type), *headers], body)


def format_http_date(time_s: float) -> str:
    """Return the POSIX seconds as an HTTP date; fractions are cut off."""
    return formatdate(int(time_s), usegmt=True)
