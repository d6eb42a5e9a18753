"""The files of a run, and whether a tool has moved them whole."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tradewind.errors import TradewindError
from tradewind.units import KIB, MIB

_PIECE_BYTES = 8 * MIB


class WrongFiles(TradewindError):
    """A tool left other files than it was to move."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of a run: ``small_files`` of ``small_bytes`` each, one of ``large_bytes``, names in a long listing."""

    rounds: int
    small_files: int
    large_bytes: int
    listed_files: int
    small_bytes: int = 6 * KIB


FULL = Scale(rounds=7, small_files=10_000, large_bytes=1_500_000_000, listed_files=100_000)
QUICK = Scale(rounds=3, small_files=3_000, large_bytes=300_000_000, listed_files=20_000)
SMOKE = Scale(rounds=1, small_files=20, large_bytes=MIB, listed_files=200)


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files in a folder: size in bytes by name."""

    folder: Path
    sizes_bytes: Mapping[str, int]

    def check(self, folder: Path) -> None:
        """Compare the files that were moved to ``folder`` with these, byte by byte.

        Raises
        ------
        WrongFiles : one is missing, superfluous or different.
        """
        found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        if found != set(self.sizes_bytes):
            raise WrongFiles(f"{len(found)} files arrived, {len(self.sizes_bytes)} were to be moved")
        for name in self.sizes_bytes:
            if not _is_equal(self.folder / name, folder / name):
                raise WrongFiles(f"{name} arrived different")


def write_files(folder: Path, count: int, size_bytes: int, seed: int) -> FileSet:
    """Write ``count`` files of random bytes; return them."""
    draw, sizes = random.Random(seed), {}
    folder.mkdir()
    for number in range(count):
        name = f"file-{number:06}.bin"
        with (folder / name).open("wb") as file:
            for start in range(0, size_bytes, _PIECE_BYTES):
                file.write(draw.randbytes(min(_PIECE_BYTES, size_bytes - start)))
        sizes[name] = size_bytes
    return FileSet(folder, sizes)


def _is_equal(one: Path, other: Path) -> bool:
    with one.open("rb") as left, other.open("rb") as right:
        while True:
            piece = left.read(_PIECE_BYTES)
            if piece != right.read(_PIECE_BYTES):
                return False
            if not piece:
                return True
