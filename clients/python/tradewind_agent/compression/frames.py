"""A packed file on the wire: blocks, each packed by itself, then an end with the digest of the file.

A block's head is 18 bytes, big-endian: the codec (0: as it is), the level, plain bytes, packed bytes, CRC-32 of what is
plain, microseconds that it took one core; then the packed bytes. The end is a head of codec 255 with no plain bytes,
then the SHA-256 of all plain bytes before it and, for a history, the sample of the file that was taken by its sender.
So the codec and its level may change from block to block, each block can be written as soon as it has come, and a
stream that was cut differs from a finished one.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tradewind.compression.codecs import CODEC_LEVELS, Codec, CodecSetting
from tradewind.compression.model import MAX_BLOCK_BYTES
from tradewind_agent.compression.codecs import UnpackFailed

_HEAD = struct.Struct(">BBIIII")
_DIGEST_BYTES = 32
_MOST_REASON_BYTES, _MOST_NOTE_BYTES = 1000, 500
_RAW, _FAILED, _END = 0, 254, 255
_NUMBER = MappingProxyType({codec: number for number, codec in enumerate(Codec, 1)})
_CODEC = MappingProxyType({number: codec for codec, number in _NUMBER.items()})
_MOST_PACKED_BYTES = 2 * MAX_BLOCK_BYTES
_MICROSECONDS, _MOST_MICROSECONDS = 10**6, 2**32 - 1


@dataclass(frozen=True, slots=True)
class Block:
    """A block. ``setting`` : ``None`` if it is not packed; ``pack_s`` : time of one core to sum and pack it."""

    setting: CodecSetting | None
    plain_bytes: int
    plain_crc: int
    packed: bytes
    pack_s: float = 0.0


def encode_block(block: Block) -> bytes:
    codec, level = (_RAW, 0) if block.setting is None else (_NUMBER[block.setting.codec], block.setting.level)
    microseconds = min(round(block.pack_s * _MICROSECONDS), _MOST_MICROSECONDS)
    return _HEAD.pack(codec, level, block.plain_bytes, len(block.packed), block.plain_crc, microseconds) + block.packed


def encode_end(sha256: bytes, note: str = "") -> bytes:
    encoded = note.encode()[:_MOST_NOTE_BYTES]
    return _HEAD.pack(_END, 0, 0, _DIGEST_BYTES + len(encoded), 0, 0) + sha256 + encoded


def encode_failure(reason: str) -> bytes:
    """Return the end of a stream whose sender cannot continue."""
    encoded = reason.encode()[:_MOST_REASON_BYTES]
    return _HEAD.pack(_FAILED, 0, 0, len(encoded), 0, 0) + encoded


class FrameReader:
    """Takes a stream as it comes apart in blocks.

    Attributes
    ----------
    sha256 : of all plain bytes, once the end was read.
    note : what the sender notes about the file, likewise; may be empty.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.sha256: bytes | None = None
        self.note = ""

    def feed(self, data: bytes) -> Sequence[Block]:
        """Return the blocks that are complete with ``data``.

        Raises
        ------
        UnpackFailed : this is no such stream, or goes on behind its end.
        """
        self._buffer += data
        blocks = []
        while (block := self._take_block()) is not None:
            blocks.append(block)
        if self.sha256 is not None and self._buffer:
            raise UnpackFailed("the packed stream goes on behind its end")
        return blocks

    def finish(self) -> bytes:
        """Return the digest of all plain bytes.

        Raises
        ------
        UnpackFailed : the stream was cut.
        """
        if self.sha256 is None:
            raise UnpackFailed("the packed stream was cut before its end")
        return self.sha256

    def _take_block(self) -> Block | None:
        if self.sha256 is not None or len(self._buffer) < _HEAD.size:
            return None
        number, level, plain_bytes, packed_bytes, plain_crc, microseconds = _HEAD.unpack_from(self._buffer)
        setting = _check_head(number, level, plain_bytes, packed_bytes)
        frame_bytes = _HEAD.size + packed_bytes
        if len(self._buffer) < frame_bytes:
            return None
        packed = bytes(memoryview(self._buffer)[_HEAD.size : frame_bytes])
        del self._buffer[:frame_bytes]
        if number == _FAILED:
            raise UnpackFailed(f"the sender gave up: {packed.decode('utf-8', 'replace')}")
        if number == _END:
            self.sha256, self.note = packed[:_DIGEST_BYTES], packed[_DIGEST_BYTES:].decode("utf-8", "replace")
            return None
        return Block(setting, plain_bytes, plain_crc, packed, microseconds / _MICROSECONDS)


def _check_head(number: int, level: int, plain_bytes: int, packed_bytes: int) -> CodecSetting | None:
    """Return the setting of a head that makes sense."""
    if number == _FAILED and plain_bytes == 0 and packed_bytes <= _MOST_REASON_BYTES:
        return None
    if number == _END and plain_bytes == 0 and 0 <= packed_bytes - _DIGEST_BYTES <= _MOST_NOTE_BYTES:
        return None
    if not 0 < plain_bytes <= MAX_BLOCK_BYTES or packed_bytes > _MOST_PACKED_BYTES:
        raise UnpackFailed("what came is no packed stream, or is damaged")
    if number == _RAW and plain_bytes == packed_bytes:
        return None
    codec = _CODEC.get(number)
    if codec is None or not CODEC_LEVELS[codec].min_level <= level <= CODEC_LEVELS[codec].max_level:
        raise UnpackFailed("a packed block is damaged, or of a codec that this version does not know")
    return CodecSetting(codec, level)
