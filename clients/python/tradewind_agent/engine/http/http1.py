"""Heads of HTTP/1.1 requests and responses, as bytes and as values.

Responses are read as leniently as curl and wget read them (RFC 9112 §2.2, §5.2, §6.3), since files lie on servers that
nobody will correct. What would leave the length of a body in doubt is refused.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple, Self

from tradewind_agent.errors import MalformedResponse

_CONTENT_RANGE = re.compile(r"bytes\s+(?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18}|\*)", re.IGNORECASE)
FULL_ANSWERS = frozenset({200, 203})
"""Statuses of the entire file; 203 where a proxy may have changed it (RFC 9110 §15.3.4)."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_BODILESS = frozenset({204, 304})
_BLANKS = " \t\r"
"""Around a value. Others that Python knows are bytes of UTF-8 here."""

_NO_CODINGS = frozenset({"", "identity", "none", "binary", "7bit", "8bit", "utf-8", "aws-chunked"})
"""What servers write into Content-Encoding of bytes that are not encoded; the last one stays on objects that clients of
S3 have sent in chunks."""

_SEVERAL_PARTS = "multipart/byteranges"
_LENGTH = re.compile(r"[0-9]{1,18}")
"""Of a body or a file; more digits are no size that a file can have."""

_STATUS_LINE = re.compile(r"HTTP/(1\.[01]) +(\d{3})(?: .*)?")


class RequestHead(NamedTuple):
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


class ContentRange(NamedTuple):
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


class ResponseHead(NamedTuple):
    """Status and headers; names in lower case, repeated headers joined by a comma.

    Parameters
    ----------
    set_cookies : the values of the Set-Cookie headers, which contain commas.
    """

    status: int
    headers: Mapping[str, str]
    keep_alive: bool
    set_cookies: tuple[str, ...] = ()

    @classmethod
    def parse(cls, block: bytes) -> Self:
        """Read a head, from its status line to the blank line behind it.

        Lines may end without a carriage return or go on in the next one; the same length may be stated twice. Chunks
        count where a length is stated with them.

        Raises
        ------
        MalformedResponse : not HTTP/1.x, two different lengths, or a transfer coding that was not asked for.
        """
        first, *lines = block.decode("latin-1").rstrip("\r\n").split("\n")
        match = _STATUS_LINE.fullmatch(first.rstrip("\r"))
        if match is None:
            raise MalformedResponse(f"the answer is not HTTP/1.1: it begins with {first[:40]!r}")
        version, status = match.groups()
        headers: dict[str, str] = {}
        cookies: list[str] = []
        key = ""
        for line in lines:
            if line[:1] in (" ", "\t") and key:
                headers[key] = f"{headers[key]} {line.strip(_BLANKS)}"
                continue
            name, colon, value = line.partition(":")
            key, text = name.strip().lower(), value.strip(_BLANKS)
            if not colon:
                key = ""
            elif key == "set-cookie":
                cookies.append(text)
                key = ""
            else:
                headers[key] = f"{headers[key]}, {text}" if key in headers else text
        _settle_length(headers)
        connection = headers.get("connection", "").lower()
        keep_alive = "close" not in connection if version == "1.1" else "keep-alive" in connection
        head = cls(int(status), headers, keep_alive, tuple(cookies))
        return head._replace(keep_alive=False) if head.until_close else head

    @property
    def status_line(self) -> str:
        """Return the status with its phrase, such as ``404 Not Found``."""
        phrase = _PHRASES.get(self.status)
        return f"{self.status} {phrase}" if phrase else str(self.status)

    @property
    def content_length(self) -> int | None:
        text = self.headers.get("content-length")
        return None if text is None else int(text)

    @property
    def is_chunked(self) -> bool:
        return "transfer-encoding" in self.headers

    @property
    def is_bodiless(self) -> bool:
        """Return whether no body follows, whatever the head says."""
        return self.status in _BODILESS

    @property
    def content_range(self) -> ContentRange | None:
        """Return the part that the body is; ``None`` too where it holds several, each with a head of its own."""
        text = self.headers.get("content-range")
        if text is None or self.headers.get("content-type", "").lower().startswith(_SEVERAL_PARTS):
            return None
        return ContentRange.parse(text)

    @property
    def codings(self) -> str:
        """Return the content codings of the body in lower case, empty where its bytes are those of the file."""
        text = self.headers.get("content-encoding")
        if text is None:
            return ""
        named = (each.strip().lower() for each in text.split(","))
        return ", ".join(each for each in named if each not in _NO_CODINGS)

    @property
    def location(self) -> str:
        """Return where a redirect leads, empty where it does not say.

        Bytes that are not ASCII are those of the address, as browsers read them; UTF-8 or not, they are escaped later.
        """
        return self.headers.get("location", "").encode("latin-1").decode("utf-8", errors="surrogateescape")

    @property
    def until_close(self) -> bool:
        """Return whether the end of the connection is the end of the body."""
        return not (self.is_bodiless or "content-length" in self.headers or self.is_chunked)


def _settle_length(headers: dict[str, str]) -> None:
    """Leave one header that says where the body ends, and remove those that it outweighs."""
    coding = headers.get("transfer-encoding", "").lower()
    codings = {text.strip() for text in coding.split(",")} - {"", "identity"}
    if not codings:
        headers.pop("transfer-encoding", None)
    elif codings == {"chunked"}:  # stated twice too, by a server and a proxy: nobody chunks chunks (RFC 9112 §7.1)
        headers.pop("content-length", None)
    else:
        raise MalformedResponse(f"the body is sent as {coding!r}, which was not asked for", retryable=False)
    stated = {text.strip() for text in headers.get("content-length", "").split(",")} - {""}
    if len(stated) > 1:
        raise MalformedResponse(f"the answer is not HTTP/1.1: it states several lengths, {', '.join(sorted(stated))}")
    headers.pop("content-length", None)
    for text in stated:
        if _LENGTH.fullmatch(text) is None:
            raise MalformedResponse(f"the answer is not HTTP/1.1: its length is {text[:40]!r}")
        headers["content-length"] = text
