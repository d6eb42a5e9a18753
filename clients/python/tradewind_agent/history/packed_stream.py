"""Read compressed logs as their content; the first bytes show the format."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAGIC_BYTES = 4
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)
"""What is raised where packed data are damaged or end before their end."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_PIECE_BYTES = 1024
"""Taken at once: in three bytes there may be a block of 128 KiB, so that no more than 44 MB come of it."""


@contextmanager
def open_unpacked(stream: IO[bytes], beginning: bytes) -> Iterator[IO[bytes]]:
    """Yield the content of a stream that begins so, or the stream itself if it is not packed. It stays open.

    Parameters
    ----------
    beginning : `MAGIC_BYTES` of the stream at least, which are still to be read from it.
    """
    if beginning.startswith(_GZIP):
        with gzip.GzipFile(fileobj=stream) as inner:
            yield cast("IO[bytes]", inner)
    elif beginning.startswith(_ZSTD):
        yield io.BufferedReader(_ZstdFrames(stream))
    else:
        yield stream


class _ZstdFrames(io.RawIOBase):
    """Frames of zstd one after another; unlike zstandard's own reader it detects a frame that is cut off."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._left = b""
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: "WriteableBuffer") -> int:
        """Read the next bytes into ``target``; raise `EOFError` at an end within a frame."""
        while not self._plain:
            piece = self._left or self._packed.read(_PIECE_BYTES)
            if not piece:
                if self._frame is not None:
                    raise EOFError("a frame of zstd ends before its end")
                return 0
            frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
            self._plain = memoryview(frame.decompress(piece))
            self._left = frame.unused_data if frame.eof else b""
            self._frame = None if frame.eof else frame
        into = memoryview(target).cast("B")
        count = min(len(into), len(self._plain))
        into[:count], self._plain = self._plain[:count], self._plain[count:]
        return count


def unpack_beginning(beginning: bytes, most_bytes: int) -> bytes:
    """Return the content of a file that begins so, as far as it can be unpacked; empty if it is damaged."""
    with open_unpacked(io.BytesIO(beginning), beginning) as stream:
        try:
            return cast("io.BufferedIOBase", stream).read1(most_bytes)
        except BROKEN:
            return b""
