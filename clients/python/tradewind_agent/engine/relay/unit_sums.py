"""Sums of what is relayed: of each unit as receivers compare them, and of the file as its source states it."""

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import md5, sha256
from typing import NamedTuple
from zlib import crc32


class UnitSums(NamedTuple):
    """Sums of a unit: its CRC-32 in base64, and its MD5 in hex and quotes, as an ETag."""

    crc32: str
    tag: str


@dataclass(frozen=True, slots=True)
class StatedSums:
    """Sums that the source states of the entire file, lower-case hex; ``None`` where it states none."""

    sha256: str | None = None
    md5: str | None = None

    def __bool__(self) -> bool:
        return self.sha256 is not None or self.md5 is not None


class FileSums:
    """Sums the units of a file, in order where the source has stated a sum of all of it."""

    def __init__(self, stated: StatedSums) -> None:
        self.stated = stated
        self._sha256, self._md5 = sha256(), md5(usedforsecurity=False)

    def sum_unit(self, blocks: Iterable[bytes]) -> UnitSums:
        """Return the sums of a unit, and add it to those of the file."""
        crc, digest = 0, md5(usedforsecurity=False)
        for block in blocks:
            crc = crc32(block, crc)
            digest.update(block)
            if self.stated.sha256 is not None:
                self._sha256.update(block)
            if self.stated.md5 is not None:
                self._md5.update(block)
        return UnitSums(b64encode(crc.to_bytes(4, "big")).decode("ascii"), f'"{digest.hexdigest()}"')

    def find_difference(self) -> str | None:
        """Return how the sums of all units differ from those stated; ``None`` where they do not."""
        for name, expected, found in (
            ("sha256", self.stated.sha256, self._sha256.hexdigest()),
            ("md5", self.stated.md5, self._md5.hexdigest()),
        ):
            if expected is not None and expected != found:
                return f"{name} is {found}, expected {expected}; nothing was stored"
        return None
