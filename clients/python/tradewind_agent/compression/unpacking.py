"""A packed stream as the plain bytes of a file: blocks are unpacked in the order in which they come."""

import time
from collections.abc import Sequence
from hashlib import sha256
from zlib import crc32

from tradewind_agent.compression.codecs import UnpackFailed, require_codec, unpack
from tradewind_agent.compression.frames import Block, FrameReader


class Unpacker:
    """``plain_bytes`` : that came out so far; ``unpack_s`` : that unpacking took of it, and summing what came out."""

    def __init__(self) -> None:
        self._reader = FrameReader()
        self._digest = sha256()
        self.plain_bytes = 0
        self.unpack_s = 0.0

    def feed(self, data: bytes) -> Sequence[Block]:
        """Return the blocks that are complete with ``data``, each to be passed to `unpack_block` in turn.

        Raises
        ------
        UnpackFailed : the stream is damaged.
        """
        return self._reader.feed(data)

    def unpack_block(self, block: Block) -> bytes:
        """Return the plain bytes of a block.

        Raises
        ------
        UnpackFailed : it is damaged.
        CodecMissing : its codec is not on this host.
        """
        started_s = time.perf_counter()
        if block.setting is None:
            plain = block.packed
        else:
            require_codec(block.setting.codec)
            plain = unpack(block.packed, block.setting.codec, block.plain_bytes)
        if crc32(plain) != block.plain_crc:
            raise UnpackFailed("a block is damaged: its check sum is another")
        self._digest.update(plain)
        self.plain_bytes += len(plain)
        if block.setting is not None:
            self.unpack_s += time.perf_counter() - started_s
        return plain

    @property
    def note(self) -> str:
        """Return the sender's note on the file, once the stream is finished."""
        return self._reader.note

    def end(self) -> str:
        """Return the digest of all plain bytes, in hex, once the stream is over.

        Raises
        ------
        UnpackFailed : it was cut, or what came out is not what went in.
        """
        if self._reader.finish() != self._digest.digest():
            raise UnpackFailed("what was unpacked is not what was packed: the sums differ")
        return self._digest.hexdigest()
