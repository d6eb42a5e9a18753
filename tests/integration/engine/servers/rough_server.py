"""A deliberately broken origin: drops, short bodies, ignored ranges, error statuses, slowness, odd framing."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.integration.engine.servers.stream_server import StreamServer, read_head

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


@dataclass
class RoughRequest:
    """One request as it came in."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    nth: int
    """How many requests for this path there were before, on any connection."""

    def span(self, size: int) -> tuple[int, int] | None:
        match = _RANGE.fullmatch(self.headers.get("range", ""))
        return (int(match[1]), min(int(match[2] or size), size - 1)) if match else None


Answer = Callable[[RoughRequest, asyncio.StreamWriter], Awaitable[bool | None]]
"""Writes an answer; returning False closes the connection."""


@dataclass(eq=False)
class RoughServer(StreamServer):
    """Answers each path by its own function, others by 404; remembers what was asked and how many connections were open
    at once.

    ``requests_per_connection`` : close after so many answers, with ``Connection: close`` on the last if ``says_so``.
    """

    answers: dict[str, Answer]
    requests_per_connection: int | None = None
    says_so: bool = True
    asked: list[RoughRequest] = field(default_factory=list)
    open_now: int = 0
    most_open: int = 0
    connections: int = 0
    _counts: Counter[str] = field(default_factory=Counter)

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_now += 1
        self.connections += 1
        self.most_open = max(self.most_open, self.open_now)
        served = 0
        try:
            while (asked := await self._read(reader)) is not None:
                served += 1
                last = served == self.requests_per_connection
                if last and self.says_so:
                    asked.headers["x-last"] = "yes"
                goes_on = await self.answers.get(asked.path, not_found)(asked, writer)
                await writer.drain()
                if goes_on is False or last:
                    break
        except ConnectionError:
            pass
        finally:
            self.open_now -= 1
            writer.transport.abort() if writer.transport.get_write_buffer_size() == 0 else writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> RoughRequest | None:
        head = await read_head(reader)
        if head is None:
            return None
        path, _, query = head.target.partition("?")
        asked = RoughRequest(head.method, path, query, head.headers, self._counts[path])
        self._counts[path] += 1
        self.asked.append(asked)
        return asked


def head(status: str, asked: RoughRequest, **fields: object) -> bytes:
    """A response head; ``Connection: close`` where the server is about to."""
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
    if "x-last" in asked.headers:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def not_found(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(head("404 Not Found", asked, Content_Length=0))


def plain(content: bytes, etag: str = '"one"') -> Answer:
    """A well-behaved file with ranges."""

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        span = asked.span(len(content))
        if span is None or asked.headers.get("if-range", etag) != etag:
            writer.write(head("200 OK", asked, Content_Length=len(content), ETag=etag) + content)
            return
        first, last = span
        where = f"bytes {first}-{last}/{len(content)}"
        length = last - first + 1
        writer.write(head("206 Partial Content", asked, Content_Length=length, Content_Range=where, ETag=etag))
        writer.write(content[first : last + 1])

    return answer


def without_ranges(content: bytes) -> Answer:
    """Always the whole file."""

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(head("200 OK", asked, Content_Length=len(content)) + content)

    return answer


def status(line: str, times: int, then: Answer | None = None, **fields: object) -> Answer:
    """An error status for the first ``times`` requests."""

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        if asked.nth < times or then is None:
            writer.write(head(line, asked, Content_Length=5, **fields) + b"sorry")
            return None
        return await then(asked, writer)

    return answer


def cut_short(content: bytes, after: int, times: int, etag: str = '"one"') -> Answer:
    """Announce the range asked for, send ``after`` bytes of it and drop the connection, the first ``times`` times.

    A range that is not longer is answered well.
    """
    whole = plain(content, etag)

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        first, last = asked.span(len(content)) or (0, len(content) - 1)
        if asked.nth >= times or last - first < after:
            return await whole(asked, writer)
        line = "206 Partial Content" if "range" in asked.headers else "200 OK"
        where = f"bytes {first}-{last}/{len(content)}"
        writer.write(head(line, asked, Content_Length=last - first + 1, Content_Range=where, ETag=etag))
        writer.write(content[first : first + after])
        return False

    return answer


def chunked(content: bytes, pieces: int = 7) -> Answer:
    """Chunked transfer coding, no length, no ranges."""

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(head("200 OK", asked, Transfer_Encoding="chunked"))
        step = len(content) // pieces + 1
        for start in range(0, len(content), step):
            piece = content[start : start + step]
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        writer.write(b"0\r\n\r\n")

    return answer


def until_close(content: bytes) -> Answer:
    """Neither length nor chunks: the end of the connection is the end of the file."""

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool:
        writer.write(head("200 OK", asked, Connection="close") + content)
        return False

    return answer


def redirect(location: str, line: str = "302 Found") -> Answer:
    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(head(line, asked, Location=location, Content_Length=0))

    return answer


def silent(times: int, then: Answer) -> Answer:
    """No answer at all, the first ``times`` times."""

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        if asked.nth < times:
            await asyncio.Event().wait()
        return await then(asked, writer)

    return answer


def gated(gate: asyncio.Event, then: Answer) -> Answer:
    """Answers only when ``gate`` opens."""

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        await gate.wait()
        return await then(asked, writer)

    return answer


def paced(content: bytes, etag: str = '"one"', *, bytes_per_s: float = 4e6, step: int = 32 * 1024) -> Answer:
    """Like `plain`, but no faster than ``bytes_per_s`` a connection."""

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        span = asked.span(len(content))
        first, last = span if span is not None else (0, len(content) - 1)
        fields: dict[str, object] = {"Content_Length": last - first + 1, "ETag": etag}
        if span is not None:
            fields["Content_Range"] = f"bytes {first}-{last}/{len(content)}"
        writer.write(head("206 Partial Content" if span else "200 OK", asked, **fields))
        for start in range(first, last + 1, step):
            writer.write(content[start : min(start + step, last + 1)])
            await writer.drain()
            await asyncio.sleep(step / bytes_per_s)

    return answer
