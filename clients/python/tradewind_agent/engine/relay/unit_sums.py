"""Sums of what is relayed: of each unit as receivers compare them, and of the file as its source states it."""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import md5
from typing import NamedTuple
from zlib import crc32

from tradewind_agent.engine.local.checksums import ALGORITHMS, Checksum


class UnitSums(NamedTuple):
    """Sums of a unit: its CRC-32 in base64, and its MD5 in hex and quotes, as an ETag."""

    crc32: str
    tag: str


class FileSums:
    """Sums the units of a file, in order where the source has stated a sum of all of it.

    ``stated`` : that sum; ``None`` where it states none.
    """

    def __init__(self, stated: Checksum | None) -> None:
        self.stated = stated
        self._running = None if stated is None else ALGORITHMS[stated.algorithm].begin()

    def sum_unit(self, blocks: Iterable[bytes]) -> UnitSums:
        """Return the sums of a unit, and add it to those of the file."""
        crc, digest = 0, md5(usedforsecurity=False)
        for block in blocks:
            crc = crc32(block, crc)
            digest.update(block)
            if self._running is not None:
                self._running.update(block)
        return UnitSums(b64encode(crc.to_bytes(4, "big")).decode("ascii"), f'"{digest.hexdigest()}"')

    def find_difference(self) -> str | None:
        """Return how the sums of all units differ from those stated; ``None`` where they do not."""
        if self.stated is None or self._running is None or self._running.digest() == self.stated.digest:
            return None
        found, expected = self._running.digest().hex(), self.stated.digest.hex()
        return f"{self.stated.algorithm} is {found}, expected {expected}; nothing was stored"
