"""Decompress the body of an upload and split it into lines, in memory that does not grow with the body."""

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
    """Limits of an upload after decompression."""

    decompressed_bytes: int = 4 * GIB
    expansion_ratio: float = 200.0
    """Log lines compress 5 to 30 times; deflate itself stops at about 1,030."""
    expansion_grace_bytes: int = 8 * MIB
    """Output below which the ratio is not checked: a short body of similar lines is harmless."""
    members_per_mib: int = 4096
    """Gzip members or zstd frames for each started MiB of output: a log that is compressed line by line has fewer.
    Starting one takes a process 10 µs and a sender only 21 bytes."""
    line_bytes: int = MIB


class Line(NamedTuple):
    """One line without its newline; ``number`` 1 is the first."""

    number: int
    content: bytes
    too_long: bool = False
    """Whether ``content`` is only the beginning of the line."""


GZIP_WINDOW = 16 + zlib.MAX_WBITS
ZSTD_MAX_WINDOW_BYTES = 32 * MIB

SLICE_BYTES: Mapping[Encoding, int] = MappingProxyType(
    {
        Encoding.IDENTITY: 64 * KIB,
        Encoding.GZIP: 16 * KIB,  # deflate: at most 1,032 : 1, so 17 MiB
        Encoding.ZSTD: KIB,  # a block of 4 bytes holds up to 128 KiB, so 32 MiB
    }
)
"""Both decompressors return the entire output of their input, so the input is sliced to bound the output."""

READ_BYTES = 64 * KIB
LONG_LINE_PREFIX_BYTES = KIB


class _Decompressor(Protocol):
    """A decompressor of one member; a port with two implementations, zlib's and zstandard's."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def decompress(chunks: Iterable[bytes], encoding: Encoding, limits: BodyLimits) -> Iterator[bytes]:
    """Yield the plain bytes of ``chunks``, piece by piece.

    Raises
    ------
    InvalidValue : the stream is damaged or ends before it is complete.
    TooLarge : there are more bytes, a higher expansion, or more consecutive streams than ``limits`` allow.
    """
    consumed = produced = 0

    def count_bytes() -> Iterator[bytes]:
        nonlocal consumed
        for part in _list_slices(chunks, SLICE_BYTES[encoding]):
            consumed += len(part)
            yield part

    for piece in _decode(count_bytes(), encoding, limits):
        produced += len(piece)
        if produced > limits.decompressed_bytes:
            raise TooLarge(f"the batch is larger than {limits.decompressed_bytes} bytes when decompressed; split it")
        if produced > limits.expansion_grace_bytes and produced > limits.expansion_ratio * consumed:
            raise TooLarge(f"the batch expands more than {limits.expansion_ratio:g} times; send it less compressed")
        yield piece


def _decode(slices: Iterable[bytes], encoding: Encoding, limits: BodyLimits) -> Iterator[bytes]:
    match encoding:
        case Encoding.IDENTITY:
            yield from slices
        case Encoding.GZIP:
            yield from _list_members(slices, lambda: zlib.decompressobj(GZIP_WINDOW), "gzip", limits.members_per_mib)
        case Encoding.ZSTD:
            context = zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW_BYTES)
            yield from _list_members(slices, context.decompressobj, "zstd", limits.members_per_mib)


def _list_slices(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    return (chunk[start : start + size] for chunk in chunks for start in range(0, len(chunk), size))


def _list_members(
    slices: Iterable[bytes], start: Callable[[], _Decompressor], name: str, most_per_mib: int
) -> Iterator[bytes]:
    """Yield the output of consecutive gzip members or zstd frames as one stream (RFC 1952 §2.2, RFC 8878 §3.1)."""
    member: _Decompressor | None = None
    started = produced = 0
    try:
        for part in slices:
            rest = part
            while rest:
                if member is None:
                    member, started = start(), started + 1
                    if started > most_per_mib * (1 + produced // MIB):
                        raise TooLarge(
                            f"the batch has more than {most_per_mib} {name} streams a MiB; send it as one stream"
                        )
                piece = member.decompress(rest)
                produced += len(piece)
                yield piece
                rest, member = (member.unused_data, None) if member.eof else (b"", member)
    except (zlib.error, zstandard.ZstdError) as damage:
        raise InvalidValue("body", f"is not a complete {name} stream: {damage}") from None
    if member is not None:
        raise InvalidValue("body", f"the {name} stream ends before it is complete")


def split_lines(pieces: Iterable[bytes], limits: BodyLimits) -> Iterator[Line]:
    """Yield the lines of a stream; blank ones are counted and left out, too long ones are shortened."""
    number = 0
    carry = bytearray()  # grows in place: a line may come in many small pieces
    skipping = False  # within a line that is too long: ``carry`` has its beginning
    for piece in pieces:
        head, newline, rest = piece.partition(b"\n")
        if not skipping:
            carry += head
        if not newline:
            if len(carry) > limits.line_bytes:
                skipping, carry = True, carry[:LONG_LINE_PREFIX_BYTES]
            continue
        number += 1
        yield from _build_line(number, bytes(carry), skipping, limits)
        *complete, last = rest.split(b"\n")
        skipping, carry = False, bytearray(last)
        for content in complete:
            number += 1
            yield from _build_line(number, content, False, limits)
    yield from _build_line(number + 1, bytes(carry), skipping, limits)


def _build_line(number: int, content: bytes, cut: bool, limits: BodyLimits) -> Iterator[Line]:
    if cut or len(content) > limits.line_bytes:
        yield Line(number, content[:LONG_LINE_PREFIX_BYTES], too_long=True)
    elif content and not content.isspace():
        yield Line(number, content)


class UploadedBody:
    """The complete body of an upload in a file; it may be read more than once.

    Parameters
    ----------
    file : open at any position; it is read from its beginning.
    """

    def __init__(self, file: IO[bytes], encoding: Encoding, limits: BodyLimits) -> None:
        self._file = file
        self._encoding = encoding
        self._limits = limits
        self._sha256: bytes | None = None

    def read_lines(self) -> Iterator[Line]:
        """Return the lines; raise the errors of ``decompress``."""
        return split_lines(self._decompress_body(), self._limits)

    def compute_sha256(self) -> bytes:
        """Return the hash of the decompressed content; this reads the body unless all lines were read before."""
        if self._sha256 is None:
            for _ in self._decompress_body():
                pass
        assert self._sha256 is not None
        return self._sha256

    def _decompress_body(self) -> Iterator[bytes]:
        digest = hashlib.sha256()
        self._file.seek(0)
        chunks = iter(partial(self._file.read, READ_BYTES), b"")
        for piece in decompress(chunks, self._encoding, self._limits):
            digest.update(piece)
            yield piece
        self._sha256 = digest.digest()
