"""Codings that any web server may send a file in, undone as it comes."""

import zlib
from collections.abc import Callable
from typing import Any

from tradewind_agent.compression.codecs import CannotUnpack
from tradewind_agent.compression.naming import WEB_CODINGS
from tradewind_agent.errors import MalformedResponse


def web_codings() -> str:
    """Codings of web servers that this host can undo."""
    from importlib.util import find_spec  # noqa: PLC0415

    return ", ".join(each for each in WEB_CODINGS if each != "br" or find_spec("brotli") is not None)


def _all_of(unpacker: Any) -> Callable[[bytes], bytes]:
    """Undoes pieces of one stream; a second one behind it would be left out, and is refused."""

    def unpack(data: bytes) -> bytes:
        plain: bytes = unpacker.decompress(data)
        if unpacker.unused_data:
            raise CannotUnpack("it holds more than one stream")
        return plain

    return unpack


def web_unpacker(coding: str) -> tuple[Callable[[bytes], bytes], Callable[[], bool]]:
    """Undoes a stream; and whether it has ended as it should.

    Raises
    ------
    MalformedResponse : a coding that was not asked for.
    """
    if coding in ("gzip", "x-gzip"):
        gzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return _all_of(gzip), lambda: gzip.eof
    if coding == "zstd":
        import zstandard  # noqa: PLC0415

        zstd = zstandard.ZstdDecompressor().decompressobj()
        return _all_of(zstd), lambda: zstd.eof
    if coding == "br":
        import brotli  # noqa: PLC0415

        packed = brotli.Decompressor()
        return packed.process, packed.is_finished
    raise MalformedResponse(f"the answer is packed as {coding}, which was not asked for")
