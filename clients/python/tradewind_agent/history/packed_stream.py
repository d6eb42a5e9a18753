"""Read compressed logs as their content; the first bytes show the format."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Protocol, cast

import zstandard

from tradewind.errors import InvalidValue

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAGIC_BYTES = 6
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError, lzma.LZMAError)
"""What is raised where packed data are damaged or end before their end."""

PACKINGS = "gzip, zstd, bzip2 and xz"
"""Names of the formats, for messages."""

ARCHIVE_BYTES = 512
"""Of a beginning, by which archives are recognised."""

_GZIP = b"\x1f\x8b"
_PIECE_BYTES = 1024
"""Taken at once: in three bytes there may be a block of 128 KiB, so that no more than 44 MB come of it."""


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


_UNPACKERS: tuple[tuple[bytes, Callable[[], _Unpacker]], ...] = (
    (b"\x28\xb5\x2f\xfd", lambda: zstandard.ZstdDecompressor().decompressobj()),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\x00", lzma.LZMADecompressor),
)


def is_packed(beginning: bytes) -> bool:
    """Return whether a file that begins so is compressed."""
    return beginning.startswith((_GZIP, *(magic for magic, _ in _UNPACKERS)))


def reject_archive(beginning: bytes) -> None:
    """Refuse content that is an archive of files, or that is compressed still.

    Raises
    ------
    InvalidValue : says what it is.
    """
    if beginning.startswith((b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c", b"Rar!")) or beginning[257:262] == b"ustar":
        raise InvalidValue("file", "is an archive of files (tar, zip, 7z or rar); unpack it, and name the logs in it")
    if is_packed(beginning):
        raise InvalidValue("file", "is compressed more than once; unpack it")
    if beginning.startswith((b"\x5d\x00\x00", b"LZIP", b"\x04\x22\x4d\x18", b"\x1f\x9d")):
        raise InvalidValue("file", f"is compressed in a way that is not read; {PACKINGS} are")


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
        return
    for magic, make_unpacker in _UNPACKERS:
        if beginning.startswith(magic):
            yield io.BufferedReader(_PackedFrames(stream, make_unpacker))
            return
    yield stream


class _PackedFrames(io.RawIOBase):
    """Frames one after another; unlike the readers of the libraries it detects a frame that is cut off."""

    def __init__(self, packed: IO[bytes], make_unpacker: Callable[[], _Unpacker]) -> None:
        self._packed = packed
        self._make_unpacker = make_unpacker
        self._frame: _Unpacker | None = None
        self._left = b""
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: "WriteableBuffer") -> int:
        """Read the next bytes into ``target``; raise `EOFError` at an end within a frame, or where it is damaged."""
        while not self._plain:
            piece = self._left or self._packed.read(_PIECE_BYTES)
            if not piece:
                if self._frame is not None:
                    raise EOFError("a frame ends before its end")
                return 0
            frame = self._frame or self._make_unpacker()
            self._plain = memoryview(_unpack(frame, piece))
            self._left = frame.unused_data if frame.eof else b""
            self._frame = None if frame.eof else frame
        into = memoryview(target).cast("B")
        count = min(len(into), len(self._plain))
        into[:count], self._plain = self._plain[:count], self._plain[count:]
        return count


def _unpack(frame: _Unpacker, piece: bytes) -> bytes:
    try:
        return frame.decompress(piece)
    except OSError as damaged:  # so bzip2 says it, as the system does of a disk
        raise EOFError(str(damaged)) from None


def unpack_beginning(beginning: bytes, most_bytes: int) -> bytes:
    """Return the content of a file that begins so, as far as it can be unpacked; empty if it is damaged."""
    with open_unpacked(io.BytesIO(beginning), beginning) as stream:
        try:
            return cast("io.BufferedIOBase", stream).read1(most_bytes)
        except BROKEN:
            return b""
