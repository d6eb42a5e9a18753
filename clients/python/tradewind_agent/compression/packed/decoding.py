"""Encoded answers as the plain bytes of a file: packed blocks, or a coding that any web server has."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tradewind_agent.compression.codecs import UnpackFailed
from tradewind_agent.compression.sampling import BEGINNING_BYTES
from tradewind_agent.compression.totals import PackingTotals
from tradewind_agent.compression.unpacking import Unpacker
from tradewind_agent.compression.web_codings import unpack_web_coding
from tradewind_agent.compression.wire_names import IDENTITY, PACKED_CODING
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import FetchedAnswer, fetch
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.options import EngineOptions

_OK = 200


@dataclass(slots=True, kw_only=True)
class Decoding:
    """The decoding of one answer, run by one thread.

    Parameters
    ----------
    coding : of the answer. first : position of its first plain byte. size_bytes : of the file, where it is known.
    write : stores plain bytes at a position.
    check : raises where the stored file is what the answer calls encoded; called before the first byte.

    Attributes
    ----------
    work, beginning, note : what packing came to, the first bytes, and the sender's note.
    stored_bytes : plain bytes that are written.
    """

    coding: str
    first: int
    size_bytes: int | None
    write: Callable[[int, bytes], None]
    check: Callable[[], None]
    work: PackingTotals = field(default_factory=PackingTotals)
    beginning: bytes = b""
    note: str = ""
    stored_bytes: int = 0

    def run(self, pieces: Iterator[bytes]) -> None:
        """Decode and store all pieces.

        Raises
        ------
        UnpackFailed : they are damaged, or not the file.
        StorageFailed, FileFault : they cannot be stored, or decoded.
        """
        if self.coding == PACKED_CODING:
            plain_pieces = self._unpack_blocks(pieces)
        else:
            self.check()
            plain_pieces = self._count_plain(unpack_web_coding(pieces, self.coding))
        for plain in plain_pieces:
            position = self.first + self.stored_bytes
            if self.size_bytes is not None and position + len(plain) > self.size_bytes:
                raise UnpackFailed(f"more came out than {self.size_bytes} bytes")
            self.write(position, plain)
            self.stored_bytes += len(plain)
        if self.size_bytes not in (None, self.first + self.stored_bytes):
            raise UnpackFailed(f"{self.first + self.stored_bytes} bytes came out of {self.size_bytes}")

    def _unpack_blocks(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        unpacker = Unpacker()
        for data in pieces:
            for block in unpacker.feed(data):
                before_s = unpacker.unpack_s
                plain = unpacker.unpack_block(block)
                if block.setting is not None:
                    times = {"pack_s": block.pack_s, "unpack_s": unpacker.unpack_s - before_s}
                    self.work.count_tried(block.setting, len(plain), len(block.packed), **times)
                self.beginning = self.beginning or plain[:BEGINNING_BYTES]
                self.work.count_sent(block.setting, len(plain))
                yield plain
        unpacker.end()
        self.note = unpacker.note

    def _count_plain(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for plain in pieces:
            self.work.plain_bytes += len(plain)
            yield plain


def find_coding(head: ResponseHead) -> str:
    return head.headers.get("content-encoding", IDENTITY).strip().lower() or IDENTITY


async def encodes_on_the_fly(url: Url, options: EngineOptions) -> bool:
    """Return whether a server encodes on the fly; if not, the file itself is stored encoded, and must stay so.

    Raises
    ------
    FileFault
    """
    answer: FetchedAnswer = await fetch(url, options, {"Accept-Encoding": IDENTITY}, method="HEAD")
    return answer.head.status == _OK and find_coding(answer.head) == IDENTITY


def ask_in_thread(url: Url, options: EngineOptions, loop: asyncio.AbstractEventLoop) -> bool:
    """Return the same, asked from a thread by the event loop of the transfer."""
    return asyncio.run_coroutine_threadsafe(encodes_on_the_fly(url, options), loop).result()
