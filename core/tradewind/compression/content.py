"""Properties of a file that decide whether it compresses: its kind, its entropy, and how a sample of it packs."""

import math
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

SAMPLE_BLOCKS = 6
SAMPLE_BLOCK_BYTES = 64 * 1024
"""Of novel content: at the beginning, and somewhere in each fifth of the rest. Of 12 MB of programs three blocks of
128 KiB gave the ratio of the entire file with a spread of 0.24 to 0.34 in its logarithm, these with 0.09 to 0.18; more
and smaller ones leave out what repeats within a block."""

INCOMPRESSIBLE_BITS_PER_BYTE = 7.9
"""Entropy of single bytes, of 8 at most: packed and encrypted files exceed it, text stays far below. An assumption."""

INCOMPRESSIBLE_RATIO = 1.03
"""Ratio of a sample below which a file is sent as it is."""

_LEAST_BIN, _LARGEST_BIN = 4, 9
SIZES_BYTES = tuple(10**each for each in range(_LEAST_BIN, _LARGEST_BIN + 1))
"""One of each `find_size_bin`."""

_SNIFFED_BYTES = 512
_COUNTED_ENTIRELY_BYTES = 64 * 1024
_COUNTED_STRIDE = 7
"""Of a large block every seventh byte is counted, which no usual record's length divides: entropy changes by less than
0.02 bits, and counting all would take longer than packing them."""

_PRINTABLE_SHARE = 0.95
"""Of the first bytes, from which on they are text; an assumption."""


class Kind(StrEnum):
    """Content by its first bytes, as coarse as histories can fill."""

    TEXT = "text"
    TABLE = "table"
    ARCHIVE = "archive"
    PROGRAM = "program"
    PACKED = "packed"
    BINARY = "binary"


_MAGIC: Sequence[tuple[int, bytes, Kind]] = (
    (0, b"\x1f\x8b", Kind.PACKED),
    (0, b"BZh", Kind.PACKED),
    (0, b"\xfd7zXZ\x00", Kind.PACKED),
    (0, b"\x28\xb5\x2f\xfd", Kind.PACKED),
    (0, b"\x04\x22\x4d\x18", Kind.PACKED),
    (0, b"\x89LZO", Kind.PACKED),
    (0, b"PK\x03\x04", Kind.PACKED),
    (0, b"7z\xbc\xaf\x27\x1c", Kind.PACKED),
    (0, b"\xff\xd8\xff", Kind.PACKED),
    (0, b"\x89PNG", Kind.PACKED),
    (0, b"GIF8", Kind.PACKED),
    (0, b"OggS", Kind.PACKED),
    (0, b"fLaC", Kind.PACKED),
    (0, b"ID3", Kind.PACKED),
    (0, b"\x1a\x45\xdf\xa3", Kind.PACKED),
    (4, b"ftyp", Kind.PACKED),
    (0, b"\x7fELF", Kind.PROGRAM),
    (0, b"MZ", Kind.PROGRAM),
    (0, b"\xca\xfe\xba\xbe", Kind.PROGRAM),
    (257, b"ustar", Kind.ARCHIVE),
)


class Content(NamedTuple):
    """``entropy_bits_per_byte`` : of the sampled bytes one by one, 0..8."""

    kind: Kind
    entropy_bits_per_byte: float

    @property
    def looks_random(self) -> bool:
        return self.entropy_bits_per_byte > INCOMPRESSIBLE_BITS_PER_BYTE


def detect_kind(head: bytes) -> Kind:
    """Return the kind of a file that starts with ``head``."""
    for offset, magic, kind in _MAGIC:
        if head.startswith(magic, offset):
            return kind
    sniffed = head[:_SNIFFED_BYTES]
    if not sniffed or b"\0" in sniffed:
        return Kind.BINARY
    printable = sum(byte >= 0x20 or byte in b"\t\n\r" for byte in sniffed)  # bytes of UTF-8 too
    if printable < _PRINTABLE_SHARE * len(sniffed):
        return Kind.BINARY
    first = sniffed.split(b"\n", 1)[0]
    return Kind.TABLE if max(first.count(b","), first.count(b";"), first.count(b"\t")) >= 2 else Kind.TEXT


def compute_entropy_bits_per_byte(blocks: Sequence[bytes]) -> float:
    """Return the Shannon entropy of the bytes of all blocks together, 0..8; 0 of nothing."""
    counts: Counter[int] = Counter()
    for block in blocks:
        counts.update(block if len(block) < _COUNTED_ENTIRELY_BYTES else block[::_COUNTED_STRIDE])
    total = counts.total()
    return -sum(n / total * math.log2(n / total) for n in counts.values()) if total else 0.0


def inspect_content(blocks: Sequence[bytes]) -> Content:
    """Return the content of a file from sampled blocks; the first one is its beginning."""
    return Content(detect_kind(blocks[0] if blocks else b""), compute_entropy_bits_per_byte(blocks))


END_PLACES = (1.0,) * (SAMPLE_BLOCKS - 1)


def list_sample_offsets(file_bytes: int, places: Sequence[float] = END_PLACES) -> tuple[int, ...]:
    """Return the offsets of a sample's blocks: one at the beginning, and one in each equal part of the rest.

    A small file is sampled completely.

    Parameters
    ----------
        places : within each part, 0..1; by lot, content that repeats with the file's own period does not deceive.
    """
    if file_bytes <= SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES:
        return tuple(range(0, file_bytes, SAMPLE_BLOCK_BYTES))
    part = (file_bytes - SAMPLE_BLOCK_BYTES) // len(places)
    spare = part - SAMPLE_BLOCK_BYTES
    return (0, *(SAMPLE_BLOCK_BYTES + number * part + round(place * spare) for number, place in enumerate(places)))


def find_size_bin(file_bytes: int) -> int:
    """Return the decimal order of magnitude; sizes below 100 kB, and from 1 GB on, share one bin each."""
    return min(max(int(math.log10(max(file_bytes, 1))), _LEAST_BIN), _LARGEST_BIN)


def compute_ratio_bin(ratio: float) -> int:
    """Return the rounded log2 of a sample's ratio: how compressible its content is."""
    return round(math.log2(max(ratio, 0.5)))
