"""Packing and unpacking of one block by each codec that this host has.

gzip, bzip2 and xz are Python's own, zstd comes with the agent; lz4 and brotli are libraries, and lzop a program, that
are used where they are installed. pigz and pbzip2 make the same formats as gzip and bzip2, on all cores: blocks are
packed side by side, as those programs do.
"""

import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

from tradewind.compression.codecs import CODEC_LEVELS, Codec, CodecSetting
from tradewind.units import MIB
from tradewind_agent.errors import AgentError

_LZOP_TIMEOUT_S = 300.0
_MOST_XZ_BYTES = 128 * MIB
"""Above what xz -9 takes to unpack: a stream that wants more is none of ours."""


class UnpackFailed(AgentError):
    """A packed block is damaged, or not what it claims to be."""


class CodecMissing(AgentError):
    """A codec that is not on this host."""


def list_available_codecs() -> frozenset[Codec]:
    """Return what this host can pack and unpack."""
    found = set(Codec)
    for codec, library in ((Codec.LZ4, "lz4"), (Codec.BROTLI, "brotli")):
        if find_spec(library) is None:
            found.discard(codec)
    if shutil.which("lzop") is None:
        found.discard(Codec.LZOP)
    return frozenset(found)


def list_common_codecs(names: str) -> frozenset[Codec]:
    """Return the codecs of this host that the other end lists, separated by commas.

    Unknown names are passed over.
    """
    return list_available_codecs() & frozenset(Codec(name) for name in names.split(",") if name in set(Codec))


def require_codec(codec: Codec) -> None:
    """See that this host has ``codec``.

    Raises
    ------
    CodecMissing
    """
    if codec in list_available_codecs():
        return
    advice = {
        Codec.LZ4: "install its package: `pip install lz4`",
        Codec.BROTLI: "install its package: `pip install brotli`",
        Codec.LZOP: "install the program lzop",
    }
    raise CodecMissing(f"this host has no {codec}; {advice.get(codec, 'take another codec')}")


@cache
def load_codec(codec: Codec) -> None:
    """See that its library is loaded, before something is timed."""
    unpack(pack(b"", CodecSetting(codec, CODEC_LEVELS[codec].min_level)), codec, 0)


def pack(block: bytes, setting: CodecSetting) -> bytes:
    """Return ``block`` as a stream of its own."""
    return _PACKERS[setting.codec](block, setting.level)


def unpack(packed: bytes, codec: Codec, plain_bytes: int) -> bytes:
    """Return the block of ``plain_bytes`` bytes that ``packed`` was made of.

    Raises
    ------
    UnpackFailed : it is damaged, or has another length.
    """
    try:
        block = _UNPACKERS[codec](packed, plain_bytes)
    except AgentError:
        raise
    except Exception as error:  # each library has errors of its own
        raise UnpackFailed(f"a block of {codec} is damaged: {error}") from error
    if len(block) != plain_bytes:
        raise UnpackFailed(f"a block of {codec} has {len(block)} bytes, not {plain_bytes}")
    return block


def _pack_gzip(block: bytes, level: int) -> bytes:
    import zlib  # noqa: PLC0415 -- each codec is loaded when it is used

    packer = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return packer.compress(block) + packer.flush()


def _unpack_gzip(packed: bytes, plain_bytes: int) -> bytes:
    import zlib  # noqa: PLC0415

    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    return _require_finished(unpacker.decompress(packed, plain_bytes + 1), unpacker.eof)


def _pack_bzip2(block: bytes, level: int) -> bytes:
    import bz2  # noqa: PLC0415

    return bz2.compress(block, level)


def _unpack_bzip2(packed: bytes, plain_bytes: int) -> bytes:
    import bz2  # noqa: PLC0415

    unpacker = bz2.BZ2Decompressor()
    return _require_finished(unpacker.decompress(packed, plain_bytes + 1), unpacker.eof)


def _pack_xz(block: bytes, level: int) -> bytes:
    import lzma  # noqa: PLC0415

    return lzma.compress(block, preset=level)


def _unpack_xz(packed: bytes, plain_bytes: int) -> bytes:
    import lzma  # noqa: PLC0415

    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_XZ_BYTES)
    return _require_finished(unpacker.decompress(packed, plain_bytes + 1), unpacker.eof)


def _pack_zstd(block: bytes, level: int) -> bytes:
    import zstandard  # noqa: PLC0415

    return zstandard.ZstdCompressor(level=level, write_checksum=True).compress(block)


def _unpack_zstd(packed: bytes, plain_bytes: int) -> bytes:
    import zstandard  # noqa: PLC0415

    stated_bytes = zstandard.get_frame_parameters(packed).content_size
    if stated_bytes not in (plain_bytes, zstandard.CONTENTSIZE_UNKNOWN):
        raise UnpackFailed(f"a block of zstd says to have {stated_bytes} bytes, not {plain_bytes}")
    return bytes(zstandard.ZstdDecompressor().decompress(packed, max_output_size=plain_bytes))


def _pack_lz4(block: bytes, level: int) -> bytes:
    from lz4 import frame  # noqa: PLC0415

    return bytes(frame.compress(block, compression_level=level if level > 1 else 0, content_checksum=True))


def _unpack_lz4(packed: bytes, plain_bytes: int) -> bytes:
    from lz4 import frame  # noqa: PLC0415

    unpacker = frame.LZ4FrameDecompressor()
    return _require_finished(bytes(unpacker.decompress(packed, max_length=plain_bytes + 1)), unpacker.eof)


def _pack_brotli(block: bytes, level: int) -> bytes:
    import brotli  # noqa: PLC0415

    return bytes(brotli.compress(block, quality=level))


def _unpack_brotli(packed: bytes, plain_bytes: int) -> bytes:
    import brotli  # noqa: PLC0415

    unpacker = brotli.Decompressor()
    # Its bound is one of buffers, so that a little more may come.
    block = bytearray(unpacker.process(packed, output_buffer_limit=plain_bytes + 1))
    while not unpacker.is_finished() and len(block) <= plain_bytes:
        more = unpacker.process(b"", output_buffer_limit=plain_bytes + 1)
        if not more:
            break
        block += more
    return _require_finished(bytes(block), unpacker.is_finished())


def _pack_lzop(block: bytes, level: int) -> bytes:
    return _run_lzop([f"-{level}"], block, 2 * len(block) + MIB)


def _unpack_lzop(packed: bytes, plain_bytes: int) -> bytes:
    return _run_lzop(["-d"], packed, plain_bytes)


def _run_lzop(options: list[str], data: bytes, most_bytes: int) -> bytes:
    """Return what lzop makes of ``data``; it is ended once it has made more than ``most_bytes``."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as errors_file:
        source.write(data)
        source.seek(0)
        with subprocess.Popen(
            ["lzop", *options, "-c"], stdin=source, stdout=subprocess.PIPE, stderr=errors_file
        ) as process:
            assert process.stdout is not None
            timeout = threading.Timer(_LZOP_TIMEOUT_S, process.kill)
            timeout.start()
            try:
                output = process.stdout.read(most_bytes + 1)
                if len(output) > most_bytes:
                    process.kill()
                    raise UnpackFailed("a block of lzop is longer than announced")
                code = process.wait()
            finally:
                timeout.cancel()
        if code:
            errors_file.seek(0)
            lines = errors_file.read().decode("utf-8", "replace").strip().splitlines()
            raise UnpackFailed(f"lzop failed: {lines[-1] if lines else f'exit code {code}'}")
    return output


def _require_finished(block: bytes, ended: bool) -> bytes:
    """Return ``block`` of a stream that has ended: one cut short, or longer than announced, has not."""
    if not ended:
        raise UnpackFailed("a packed block is damaged: cut short, or longer than announced")
    return block


_PACKERS: dict[Codec, Callable[[bytes, int], bytes]] = {
    Codec.GZIP: _pack_gzip,
    Codec.PIGZ: _pack_gzip,
    Codec.BZIP2: _pack_bzip2,
    Codec.PBZIP2: _pack_bzip2,
    Codec.XZ: _pack_xz,
    Codec.LZOP: _pack_lzop,
    Codec.ZSTD: _pack_zstd,
    Codec.LZ4: _pack_lz4,
    Codec.BROTLI: _pack_brotli,
}
_UNPACKERS: dict[Codec, Callable[[bytes, int], bytes]] = {
    Codec.GZIP: _unpack_gzip,
    Codec.PIGZ: _unpack_gzip,
    Codec.BZIP2: _unpack_bzip2,
    Codec.PBZIP2: _unpack_bzip2,
    Codec.XZ: _unpack_xz,
    Codec.LZOP: _unpack_lzop,
    Codec.ZSTD: _unpack_zstd,
    Codec.LZ4: _unpack_lz4,
    Codec.BROTLI: _unpack_brotli,
}
