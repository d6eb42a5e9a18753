"""HTTP/1.1 requests and responses as bytes in and events out; no socket here (parser: httptools).

A length-delimited body never passes through the parser: once the head is read, its bytes go from the receive buffer to
the sink as slices, without a copy.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol, Self

import httptools

from tradewind_agent.errors import MalformedResponse

_CONTENT_RANGE = re.compile(r"bytes\s+(?:(\d+)-(\d+)|\*)/(\d+|\*)", re.IGNORECASE)
REDIRECTS = frozenset({301, 302, 303, 307, 308})

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_BODILESS = frozenset({204, 304})
_FIRST_FINAL_STATUS = 200


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request head; a body, if any, is sent by the connection."""

    method: str
    target: str
    headers: Mapping[str, str]

    def encode(self) -> bytes:
        """Wire form. Header values come from servers too (validators), so line breaks are refused.

        Raises
        ------
        MalformedResponse : a value with a line break, which would smuggle in a header.
        """
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in self.headers.items())]
        if any("\r" in line or "\n" in line for line in lines):
            raise MalformedResponse("a header value with a line break", retryable=False)
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", errors="replace")


@dataclass(frozen=True, slots=True)
class ContentRange:
    """``Content-Range: bytes first-last/total``; a part is ``None`` where the server put an asterisk."""

    first: int | None
    last: int | None
    total: int | None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read the field; ``None`` where it is not understood."""
        match = _CONTENT_RANGE.fullmatch(text.strip())
        if match is None:
            return None
        first, last, total = match.groups()
        return cls(int(first) if first else None, int(last) if last else None, int(total) if total != "*" else None)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status and headers; names in lower case, repeated headers joined by a comma."""

    status: int
    headers: Mapping[str, str]
    keep_alive: bool

    @property
    def status_line(self) -> str:
        """Return the status with its phrase, such as ``404 Not Found``."""
        phrase = _PHRASES.get(self.status)
        return f"{self.status} {phrase}" if phrase else str(self.status)

    @property
    def content_length(self) -> int | None:
        text = self.headers.get("content-length", "")
        return int(text) if text.isascii() and text.isdigit() and "transfer-encoding" not in self.headers else None

    @property
    def content_range(self) -> ContentRange | None:
        return ContentRange.parse(self.headers.get("content-range", ""))

    @property
    def until_close(self) -> bool:
        """Return whether the end of the connection is the end of the body."""
        return self.status not in _BODILESS and not {"content-length", "transfer-encoding"} & self.headers.keys()


class ResponseSink(Protocol):
    """The receiver of events of one response after the other, in the order of the requests."""

    def on_head(self, head: ResponseHead) -> bool:
        """Take a final head (1xx never comes here); return whether a body may follow (not after HEAD)."""

    def on_data(self, data: memoryview | bytes) -> None:
        """Take body bytes; a memoryview is only valid during the call."""

    def on_end(self) -> None:
        """The response is complete."""


class ResponseReader:
    """A reader that turns received bytes into events for a sink, over any number of pipelined responses.

    Parsing stops for good with `close`, which a sink may call from within an event.
    """

    def __init__(self, sink: ResponseSink) -> None:
        self._sink = sink
        self._closed = False
        self._direct_bytes = 0
        self._start()

    def _start(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._head: ResponseHead | None = None
        self._missing_bytes: int | None = None

    def close(self) -> None:
        self._closed = True

    def feed(self, data: memoryview) -> None:
        """Take bytes as they were received.

        Raises
        ------
        MalformedResponse : not HTTP/1.x.
        """
        while len(data) and not self._closed:
            if not self._direct_bytes:
                self._parse(data)
                return
            part = data[: self._direct_bytes]
            self._direct_bytes -= len(part)
            self._sink.on_data(part)
            data = data[len(part) :]
            if not self._direct_bytes:
                self._finish()

    def eof(self) -> None:
        """Note that the peer has closed, which ends a response without a stated length."""
        if self._head is not None and self._head.until_close and not self._closed:
            self._finish()

    def _parse(self, data: memoryview) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            raise error.__context__ or error from None
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self._closed:
                raise MalformedResponse(f"the answer is not HTTP/1.1: {error}") from error
        if self._missing_bytes:
            self._direct_bytes = self._missing_bytes
            self._parser = httptools.HttpResponseParser(self)

    def _finish(self) -> None:
        self._head = None
        self._missing_bytes = None
        if not self._closed:
            self._sink.on_end()

    # Called by httptools.

    def on_message_begin(self) -> None:
        self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < _FIRST_FINAL_STATUS or self._closed:
            return
        head = ResponseHead(status, self._headers, self._parser.should_keep_alive())
        has_body = self._sink.on_head(head)
        if not has_body:  # the parser would wait for the announced body: end here and take a fresh one
            self._finish()
            self._start()
            return
        self._head = head
        self._missing_bytes = head.content_length if status not in _BODILESS else 0

    def on_body(self, body: bytes) -> None:
        if self._head is None or self._closed:
            return
        if self._missing_bytes is not None:
            self._missing_bytes -= len(body)
        self._sink.on_data(body)

    def on_message_complete(self) -> None:
        if self._head is not None:
            self._finish()
