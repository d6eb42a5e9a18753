"""Codings that any web server may send a file in, undone as it comes, a little at a time."""

import zlib
from collections.abc import Callable, Iterator

from tradewind.units import KIB, MIB
from tradewind_agent.compression.codecs import UnpackFailed
from tradewind_agent.compression.wire_names import WEB_CODINGS
from tradewind_agent.errors import MalformedResponse

STEP_BYTES = 256 * KIB
"""Plain bytes at a time, as little as they were packed to; brotli may make twice as many."""

_MOST_WINDOW_BYTES = 8 * MIB
"""That a decoder of zstd has to have for the web (RFC 9659)."""

_HEAD_BYTES, _BLOCK_HEAD_BYTES, _RUN_LENGTH_BLOCK = 18, 3, 1
"""Of a frame of zstd at most, of each block, and the type of one that is a byte repeated (RFC 8878, 3.1.1)."""


def format_web_codings() -> str:
    """Return the codings of web servers that this host can undo."""
    from importlib.util import find_spec  # noqa: PLC0415

    return ", ".join(each for each in WEB_CODINGS if each != "br" or find_spec("brotli") is not None)


def unpack_web_coding(packed: Iterator[bytes], coding: str) -> Iterator[bytes]:
    """Yield the plain bytes of a stream that comes in pieces.

    Raises
    ------
    MalformedResponse : a coding that was not asked for.
    UnpackFailed : it is damaged, cut, or goes on behind its end as a second stream would.
    """
    unpack = _UNPACKERS.get(coding)
    if unpack is None:
        raise MalformedResponse(f"the answer is packed as {coding}, which was not asked for")
    return unpack(packed)


def _unpack_gzip(packed: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        for data in packed:
            _require_unfinished("gzip", is_finished=unpacker.eof)
            rest = data
            while plain := unpacker.decompress(rest, STEP_BYTES):
                yield plain
                rest = unpacker.unconsumed_tail
            _require_unfinished("gzip", is_finished=bool(unpacker.unused_data))
    except zlib.error as error:
        raise _make_damage("gzip", error) from error
    _require_finished("gzip", is_finished=unpacker.eof)


def _unpack_zstd(packed: Iterator[bytes]) -> Iterator[bytes]:
    import zstandard  # noqa: PLC0415

    unpacker = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW_BYTES).decompressobj()
    try:
        for block in _split_zstd_blocks(packed):
            _require_unfinished("zstd", is_finished=unpacker.eof)
            if plain := unpacker.decompress(block):
                yield plain
            _require_unfinished("zstd", is_finished=bool(unpacker.unused_data))
    except zstandard.ZstdError as error:
        raise _make_damage("zstd", error) from error
    _require_finished("zstd", is_finished=unpacker.eof)


def _split_zstd_blocks(packed: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a stream of zstd block by block.

    Its library unpacks all that it is given, and a block has 128 KiB at most.
    """
    import zstandard  # noqa: PLC0415

    pending, has_started = bytearray(), False
    for data in packed:
        pending += data
        if not has_started and len(pending) >= _HEAD_BYTES:
            head_bytes = zstandard.frame_header_size(bytes(pending[:_HEAD_BYTES]))
            yield bytes(pending[:head_bytes])
            del pending[:head_bytes]
            has_started = True
        while has_started and len(pending) >= _BLOCK_HEAD_BYTES:
            head = int.from_bytes(pending[:_BLOCK_HEAD_BYTES], "little")
            content_bytes = 1 if head >> 1 & 3 == _RUN_LENGTH_BLOCK else head >> 3
            block_bytes = _BLOCK_HEAD_BYTES + content_bytes
            if len(pending) < block_bytes:
                break
            yield bytes(pending[:block_bytes])
            del pending[:block_bytes]
    if pending:  # its check sum, or what is less than a block
        yield bytes(pending)


def _unpack_brotli(packed: Iterator[bytes]) -> Iterator[bytes]:
    import brotli  # noqa: PLC0415

    unpacker = brotli.Decompressor()
    try:
        for data in packed:
            _require_unfinished("br", is_finished=unpacker.is_finished())
            rest = data
            while not unpacker.is_finished() and (plain := unpacker.process(rest, output_buffer_limit=STEP_BYTES)):
                yield plain
                rest = b""
    except brotli.error as error:
        raise _make_damage("br", error) from error
    _require_finished("br", is_finished=unpacker.is_finished())


_UNPACKERS: dict[str, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    "gzip": _unpack_gzip,
    "x-gzip": _unpack_gzip,
    "zstd": _unpack_zstd,
    "br": _unpack_brotli,
}


def _require_unfinished(coding: str, *, is_finished: bool) -> None:
    if is_finished:
        raise UnpackFailed(f"the {coding} of the server goes on behind its end")


def _require_finished(coding: str, *, is_finished: bool) -> None:
    if not is_finished:
        raise UnpackFailed(f"the {coding} of the server was cut")


def _make_damage(coding: str, error: Exception) -> UnpackFailed:
    return UnpackFailed(f"the {coding} of the server is damaged: {error}")
