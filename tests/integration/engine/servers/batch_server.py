"""A server that deals with all requests of one read together, and may forget or mix them as small servers do."""

import asyncio
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.integration.engine.servers.stream_server import StreamServer

_REQUEST = re.compile(rb"(\w+) (\S+) HTTP/1\.1\r\n(.*?)\r\n\r\n", re.DOTALL)
_RANGE = re.compile(rb"range: bytes=(\d+)-(\d+)", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass
class BatchRequest:
    """One request of a batch."""

    method: str
    path: str
    span: tuple[int, int] | None
    body: bytes


Policy = Callable[[Sequence[BatchRequest]], Sequence[BatchRequest | None]]
"""Which of the requests that came in one read are answered, in which order; ``None`` closes the connection."""


@dataclass(eq=False)
class BatchServer(StreamServer):
    """Serves ``files`` and takes uploads into ``stored``, as ``policy`` has it.

    Attributes
    ----------
    largest_batch : requests that came in one read.
    requests : paths requested, those forgotten too.
    """

    files: Mapping[str, bytes]
    policy: Policy
    does_ranges: bool = True
    has_etags: bool = True
    stored: dict[str, bytes] = field(default_factory=dict)
    largest_batch: int = 0
    requests: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            unread = b""
            while data := await reader.read(1 << 20):
                batch, unread = self._parse(unread + data)
                if not batch:
                    continue
                self.largest_batch = max(self.largest_batch, len(batch))
                self.requests += [request.path for request in batch]
                await asyncio.sleep(0)  # the next ones come together while this batch is worked on
                answers = self.policy(batch)
                writer.write(b"".join(self._answer(request) for request in answers if request is not None))
                await writer.drain()
                if None in answers:
                    return
        except ConnectionError:
            pass
        finally:
            writer.transport.abort() if not writer.transport.get_write_buffer_size() else writer.close()

    def _parse(self, data: bytes) -> tuple[list[BatchRequest], bytes]:
        """Return the complete requests, and the beginning of one that has not come in full."""
        found, at = [], 0
        while (match := _REQUEST.match(data, at)) is not None:
            length = _LENGTH.search(match[3])
            end = match.end() + (int(length[1]) if length else 0)
            if end > len(data):
                break
            at, body = end, data[match.end() : end]
            ranged = _RANGE.search(match[3]) if self.does_ranges else None
            span = (int(ranged[1]), int(ranged[2])) if ranged else None
            found.append(BatchRequest(match[1].decode(), match[2].decode(), span, body))
        return found, data[at:]

    def _answer(self, request: BatchRequest) -> bytes:
        if request.method == "PUT":
            self.stored[request.path] = request.body
            return b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
        content = self.files.get(request.path)
        if content is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        status = b"200 OK"
        if self.has_etags:
            status += b'\r\nETag: "%d"' % zlib.crc32(content)
        if request.span is not None:
            first, last = request.span
            status = status.replace(
                b"200 OK", b"206 Partial Content\r\nContent-Range: bytes %d-%d/%d" % (first, last, len(content))
            )
            content = content[first : last + 1]
        return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(content), content)


def in_order(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    """As it should be."""
    return batch


def only_first(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    return batch[:1]


def only_last(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    return batch[-1:]


def without_every_second(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    return batch[::2]


def backwards(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    return batch[::-1]


def first_twice(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    return [batch[0], *batch] if len(batch) > 1 else batch


def every_one_twice(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    """Also the one that comes alone."""
    return [request for request in batch for _ in range(2)]


def last_twice(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    return [*batch, batch[-1]]


def first_and_third_swapped(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    return [batch[2], batch[1], batch[0], *batch[3:]] if len(batch) > 2 else batch


def first_instead_of_all(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    return batch[:1] * len(batch)


def closing_after_first(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest | None]:
    return [batch[0], None] if len(batch) > 1 else batch


def no_more_than_three(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    """A buffer that is too short for more."""
    return batch[:3]


def nothing_of_several(batch: Sequence[BatchRequest]) -> Sequence[BatchRequest]:
    return batch if len(batch) == 1 else []
