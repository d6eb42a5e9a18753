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

    def blocks(self, data: bytes) -> Sequence[Block]:
        """The blocks that are complete with ``data``, each to be given to `plain` in turn.

        Raises
        ------
        CannotUnpack : the stream is damaged.
        """
        return self._reader.feed(data)

    def plain(self, block: Block) -> bytes:
        """The plain bytes of a block.

        Raises
        ------
        CannotUnpack : it is damaged.
        CodecMissing : its codec is not on this host.
        """
        begun_s = time.perf_counter()
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
            self.unpack_s += time.perf_counter() - begun_s
        return plain

    @property
    def note(self) -> str:
        """What the sender tells of the file, once the stream is over."""
        return self._reader.note

    def end(self) -> str:
        """The digest of all plain bytes, in hex, once the stream is over.

        Raises
        ------
        CannotUnpack : it was cut, or what came out is not what went in.
        """
        if self._reader.ended() != self._digest.digest():
            raise UnpackFailed("what was unpacked is not what was packed: the sums differ")
        return self._digest.hexdigest()
