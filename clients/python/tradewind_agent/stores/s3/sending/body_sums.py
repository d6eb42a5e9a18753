"""Sums of bodies, as stores compare them and as their tags have them."""

import os
from base64 import b64encode
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from zlib import crc32

from tradewind_agent.engine.local.regular_file import open_regular_file

_BLOCK_BYTES = 1024 * 1024


def compute_crc32(file: Path, first: int, length: int) -> str:
    """Return the CRC-32 of a range of a file, base64 of its four bytes.

    Raises
    ------
    OSError : the file cannot be read.
    """
    crc = 0
    for block in _read_blocks(file, first, length):
        crc = crc32(block, crc)
    return encode_crc32(crc)


def compute_tag(file: Path, first: int, length: int) -> str:
    """Return the MD5 of a range of a file, in hex and quotes, as an ETag.

    Raises
    ------
    OSError : the file cannot be read.
    """
    digest = md5(usedforsecurity=False)
    for block in _read_blocks(file, first, length):
        digest.update(block)
    return f'"{digest.hexdigest()}"'


def encode_crc32(crc: int) -> str:
    """Return a CRC-32 as stores write it."""
    return b64encode(crc.to_bytes(4, "big")).decode("ascii")


def _read_blocks(file: Path, first: int, length: int) -> Iterator[bytes]:
    left = length
    with os.fdopen(open_regular_file(file), "rb") as source:
        source.seek(first)
        while left and (block := source.read(min(left, _BLOCK_BYTES))):
            yield block
            left -= len(block)
