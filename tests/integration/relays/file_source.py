"""A web server of files that may change, drop, hide lengths or name no version, as a test has it."""

import asyncio
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import md5, sha256

from tests.integration.engine.servers.stream_server import RequestHead, StreamServer, read_head

_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


@dataclass(frozen=True)
class Turn:
    """How one request is answered.

    ``sent_bytes`` : of the body, before the connection drops; ``None`` sends all. ``status`` : an error instead.
    """

    sent_bytes: int | None = None
    status: str | None = None


@dataclass(eq=False)
class FileSource(StreamServer):
    """Serves ``files`` by path.

    Attributes
    ----------
    turn : how a request is answered; it is called with the head and a count of requests, and may change the files.
    has_ranges, has_tags, has_lengths, states_sums : what the server can do.
    wrong_sum : stated for each file in place of its own.
    media_type : of all files.
    """

    files: dict[str, bytes]
    turn: Callable[[RequestHead, int], Turn] = lambda _head, _count: Turn()
    has_ranges: bool = True
    has_tags: bool = True
    has_lengths: bool = True
    states_sums: bool = False
    wrong_sum: bool = False
    media_type: str = "application/x-relayed"
    requests: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await read_head(reader)) is not None:
                self.requests.append(f"{head.method} {head.headers.get('range', '')}".strip())
                turn = self.turn(head, len(self.requests))
                if not await self._answer(head, turn, writer):
                    break
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, head: RequestHead, turn: Turn, writer: asyncio.StreamWriter) -> bool:
        """Answer, and return whether the connection goes on."""
        content = self.files.get(head.target)
        if turn.status is not None or content is None:
            writer.write(f"HTTP/1.1 {turn.status or '404 Not Found'}\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            return True
        fields = {"Content-Type": self.media_type}
        if self.has_tags:
            fields["ETag"] = f'"v-{md5(content).hexdigest()[:8]}"'
        if self.states_sums or self.wrong_sum:
            digest = sha256(content + b"!" * self.wrong_sum).digest()
            fields["Repr-Digest"] = f"sha-256=:{b64encode(digest).decode()}:"
        status, body = "200 OK", content
        asked = _RANGE.fullmatch(head.headers.get("range", "")) if self.has_ranges else None
        if asked is not None and content:
            first, last = int(asked[1]), min(int(asked[2]), len(content) - 1)
            status, body = "206 Partial Content", content[first : last + 1]
            fields["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        if self.has_lengths:
            fields["Content-Length"] = str(len(body))
        else:
            fields["Connection"] = "close"
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode())
        if head.method != "HEAD":
            writer.write(body[: turn.sent_bytes])
        await writer.drain()
        if not self.has_lengths:
            writer.close()
            await writer.wait_closed()
        return turn.sent_bytes is None and self.has_lengths
