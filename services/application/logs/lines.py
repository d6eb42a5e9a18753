"""From the compressed body of an upload to its lines, in memory that does not grow with the body."""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import IO, NamedTuple, Protocol

import zstandard

from tradewind.errors import InvalidValue, TooLarge
from tradewind.units import GIB, KIB, MIB


class Encoding(StrEnum):
    """Content encodings of an upload."""

    IDENTITY = "identity"
    GZIP = "gzip"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """How much an upload may be once decompressed."""

    decompressed_bytes: int = 4 * GIB
    expansion_ratio: float = 200.0
    """Log lines compress 5 to 30 times; deflate itself stops at about 1,030."""
    expansion_grace_bytes: int = 8 * MIB
    """Output below which the ratio is not judged: a short body of much the same line is harmless."""
    members_per_mib: int = 4096
    """Gzip members or zstd frames, for each MiB begun that comes of them: a log that is compressed line by line has
    fewer. A process takes 10 µs to begin one, and 21 bytes are enough to have it do so."""
    line_bytes: int = MIB


class Line(NamedTuple):
    """One line without its newline; ``number`` 1 is the first."""

    number: int
    content: bytes
    too_long: bool = False
    """Only the beginning of the line is in ``content``."""


GZIP_WINDOW = 16 + zlib.MAX_WBITS
ZSTD_MAX_WINDOW_BYTES = 32 * MIB

SLICE_BYTES: Mapping[Encoding, int] = MappingProxyType(
    {
        Encoding.IDENTITY: 64 * KIB,
        Encoding.GZIP: 16 * KIB,  # deflate: at most 1,032 : 1, so 17 MiB
        Encoding.ZSTD: KIB,  # a block of 4 bytes holds up to 128 KiB, so 32 MiB
    }
)
"""Both decompressors return all that their input yields, so it is cut until the most it can yield is bounded."""

READ_BYTES = 64 * KIB
KEPT_OF_LONG_LINE_BYTES = KIB


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def decompress(chunks: Iterable[bytes], encoding: Encoding, limits: BodyLimits) -> Iterator[bytes]:
    """The plain bytes of ``chunks``, piece by piece.

    Raises
    ------
    InvalidValue : the stream is damaged or ends before it is complete.
    TooLarge : more bytes, a higher expansion, or more streams one after the other than ``limits`` allow.
    """
    consumed = produced = 0

    def counted() -> Iterator[bytes]:
        nonlocal consumed
        for part in _slices(chunks, SLICE_BYTES[encoding]):
            consumed += len(part)
            yield part

    for piece in _plain(counted(), encoding, limits):
        produced += len(piece)
        if produced > limits.decompressed_bytes:
            raise TooLarge(f"the batch is larger than {limits.decompressed_bytes} bytes when decompressed; split it")
        if produced > limits.expansion_grace_bytes and produced > limits.expansion_ratio * consumed:
            raise TooLarge(f"the batch expands more than {limits.expansion_ratio:g} times; send it less compressed")
        yield piece


def _plain(slices: Iterable[bytes], encoding: Encoding, limits: BodyLimits) -> Iterator[bytes]:
    match encoding:
        case Encoding.IDENTITY:
            yield from slices
        case Encoding.GZIP:
            yield from _members(slices, lambda: zlib.decompressobj(GZIP_WINDOW), "gzip", limits.members_per_mib)
        case Encoding.ZSTD:
            context = zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW_BYTES)
            yield from _members(slices, context.decompressobj, "zstd", limits.members_per_mib)


def _slices(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    return (chunk[start : start + size] for chunk in chunks for start in range(0, len(chunk), size))


def _members(
    slices: Iterable[bytes], start: Callable[[], _Decompressor], name: str, most_per_mib: int
) -> Iterator[bytes]:
    """Gzip members or zstd frames one after the other are one stream (RFC 1952 §2.2, RFC 8878 §3.1)."""
    member: _Decompressor | None = None
    begun = produced = 0
    try:
        for each in slices:
            rest = each
            while rest:
                if member is None:
                    member, begun = start(), begun + 1
                    if begun > most_per_mib * (1 + produced // MIB):
                        raise TooLarge(
                            f"the batch has more than {most_per_mib} {name} streams a MiB; send it as one stream"
                        )
                piece = member.decompress(rest)
                produced += len(piece)
                yield piece
                rest, member = (member.unused_data, None) if member.eof else (b"", member)
    except (zlib.error, zstandard.ZstdError) as damage:
        raise InvalidValue("body", f"is not a whole {name} stream: {damage}") from None
    if member is not None:
        raise InvalidValue("body", f"the {name} stream ends before it is complete")


def split_lines(pieces: Iterable[bytes], limits: BodyLimits) -> Iterator[Line]:
    """Lines of a stream; blank ones are counted and left out, too long ones are skipped to the next newline."""
    number = 0
    carry = bytearray()  # grows in place: a line may come in many small pieces
    skipping = False  # within a line that is too long: ``carry`` keeps its beginning
    for piece in pieces:
        head, newline, rest = piece.partition(b"\n")
        if not skipping:
            carry += head
        if not newline:
            if len(carry) > limits.line_bytes:
                skipping, carry = True, carry[:KEPT_OF_LONG_LINE_BYTES]
            continue
        number += 1
        yield from _line(number, bytes(carry), skipping, limits)
        *whole, begun = rest.split(b"\n")
        skipping, carry = False, bytearray(begun)
        for content in whole:
            number += 1
            yield from _line(number, content, False, limits)
    yield from _line(number + 1, bytes(carry), skipping, limits)


def _line(number: int, content: bytes, cut: bool, limits: BodyLimits) -> Iterator[Line]:
    if cut or len(content) > limits.line_bytes:
        yield Line(number, content[:KEPT_OF_LONG_LINE_BYTES], too_long=True)
    elif content and not content.isspace():
        yield Line(number, content)


class UploadedBody:
    """The body of an upload, put aside whole; it may be read more than once.

    Parameters
    ----------
    file : open at any place; read from its beginning.
    """

    def __init__(self, file: IO[bytes], encoding: Encoding, limits: BodyLimits) -> None:
        self._file = file
        self._encoding = encoding
        self._limits = limits
        self._sha256: bytes | None = None

    def lines(self) -> Iterator[Line]:
        """Its lines; raises as ``decompress`` does."""
        return split_lines(self._plain(), self._limits)

    def sha256(self) -> bytes:
        """Hash of what was sent, however it was compressed; costs a reading unless the lines were read to their end."""
        if self._sha256 is None:
            for _ in self._plain():
                pass
        assert self._sha256 is not None
        return self._sha256

    def _plain(self) -> Iterator[bytes]:
        digest = hashlib.sha256()
        self._file.seek(0)
        chunks = iter(partial(self._file.read, READ_BYTES), b"")
        for piece in decompress(chunks, self._encoding, self._limits):
            digest.update(piece)
            yield piece
        self._sha256 = digest.digest()
