"""Logs that are packed on disk: read as what they hold, told by their first bytes."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

import zstandard

MAGIC_BYTES = 4
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)
"""What is raised where packed data are damaged or end before their end."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


@contextmanager
def unpacked(stream: IO[bytes], beginning: bytes) -> Iterator[IO[bytes]]:
    """What a stream that begins so holds; itself where it is not packed. It stays open.

    Parameters
    ----------
    beginning : `MAGIC_BYTES` of the stream at least, which are still to be read from it.
    """
    if beginning.startswith(_GZIP):
        with gzip.GzipFile(fileobj=stream) as inner:
            yield cast("IO[bytes]", inner)
    elif beginning.startswith(_ZSTD):
        decompressor = zstandard.ZstdDecompressor()
        with decompressor.stream_reader(stream, read_across_frames=True, closefd=False) as inner:
            yield inner
    else:
        yield stream


def unpacked_beginning(beginning: bytes, most_bytes: int) -> bytes:
    """What a file that begins so holds, as far as that tells; nothing where it is damaged."""
    with unpacked(io.BytesIO(beginning), beginning) as stream:
        try:
            return cast("io.BufferedIOBase", stream).read1(most_bytes)
        except BROKEN:
            return b""
