"""Bytes of a log as characters, whichever encoding its writer chose."""

import codecs
import io
from collections.abc import Iterator
from typing import IO

_BLOCK_BYTES = 1 << 16
_LOOKED_AT = 1024
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as that of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MOST_ZEROS, _FEW_ZEROS = 0.4, 0.05
"""Shares of zero bytes in the high and in the low halves of UTF-16 that holds mostly ASCII."""


def find_encoding(beginning: bytes) -> tuple[str, int]:
    """Return the encoding of a text that begins so, and how many bytes of a mark are before it."""
    for mark, name in _BYTE_ORDER_MARKS:
        if beginning.startswith(mark):
            return name, len(mark)
    even, odd = beginning[:_LOOKED_AT:2], beginning[1:_LOOKED_AT:2]
    if len(odd) > 1:
        even_share, odd_share = even.count(0) / len(even), odd.count(0) / len(odd)
        if odd_share > _MOST_ZEROS and even_share < _FEW_ZEROS:
            return "utf-16-le", 0
        if even_share > _MOST_ZEROS and odd_share < _FEW_ZEROS:
            return "utf-16-be", 0
    return "utf-8", 0


def decode_blocks(stream: IO[bytes]) -> Iterator[str]:
    r"""Yield text in blocks with ``\n`` as the only line end (old Macintosh logs end lines with a bare CR).

    Bytes that are no text become U+FFFD: a name may then look odd, a number is refused by its reader.
    """
    read = getattr(stream, "read1", stream.read)  # what comes before a cut is lost to a reader of whole blocks
    block = read(_BLOCK_BYTES)
    encoding, mark_bytes = find_encoding(block)
    block = block[mark_bytes:]
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(errors="replace"), translate=True)
    while block:
        yield decoder.decode(block)
        block = read(_BLOCK_BYTES)
    yield decoder.decode(b"", final=True)
