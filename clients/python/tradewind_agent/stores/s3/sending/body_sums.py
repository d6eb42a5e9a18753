"""Sums of bodies, as stores compare them and as their tags have them."""

from base64 import b64encode
from hashlib import md5
from pathlib import Path
from zlib import crc32

_BLOCK_BYTES = 1024 * 1024


def sum_range(file: Path, first: int, length: int) -> tuple[str, str]:
    """Return the CRC-32 of a range of a file, base64 of its four bytes, and its MD5 in hex and quotes, as an ETag.

    Raises
    ------
    OSError : the file cannot be read.
    """
    crc, digest, left = 0, md5(usedforsecurity=False), length
    with file.open("rb") as source:
        source.seek(first)
        while left and (block := source.read(min(left, _BLOCK_BYTES))):
            crc = crc32(block, crc)
            digest.update(block)
            left -= len(block)
    return b64encode(crc.to_bytes(4, "big")).decode("ascii"), f'"{digest.hexdigest()}"'
