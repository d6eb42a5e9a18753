"""The files that benchmarks move: their sizes are drawn from real lists, of pages, photos, videos and a mixture."""

import random
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from benchmarks.testbed.path_spec import PathSpec
from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE, MIB

TUNED_S = 25.0
"""Even a transfer that fills the path lasts this long, so that starting up is a small part of it."""

TUNED_SHARE = 0.965
"""Share of the path's rate that files can have at most: the rest is headers."""

LEAST_FILES = 2
"""With one file alone, concurrency could not matter."""

_BLOCK_BYTES = 4 * MIB


class Kind(StrEnum):
    HTML = "html"
    IMAGE = "image"
    VIDEO = "video"
    MIXED = "mixed"


_PARTS = {
    Kind.HTML: {Kind.HTML: 1.0},
    Kind.IMAGE: {Kind.IMAGE: 1.0},
    Kind.VIDEO: {Kind.VIDEO: 1.0},
    Kind.MIXED: {Kind.HTML: 1 / 3, Kind.IMAGE: 1 / 3, Kind.VIDEO: 1 / 3},
}
"""Shares of the bytes."""

SizeLists = Mapping[Kind, Sequence[int]]


def read_size_lists(folder: Path) -> SizeLists:
    """Read ``html.tsv``, ``image.tsv`` and ``video.tsv``: the first column is a file's size in bytes.

    Raises
    ------
    InvalidValue : a list that is missing or empty, or a line that does not start with a size.
    """
    return {kind: _read_sizes(folder / f"{kind}.tsv") for kind in (Kind.HTML, Kind.IMAGE, Kind.VIDEO)}


def _read_sizes(path: Path) -> list[int]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        sizes = [int(line.split()[0]) for line in lines if line.strip()]
    except (OSError, ValueError) as failure:
        raise InvalidValue("data", f"{path} is no list of sizes: {failure}") from None
    if not sizes or min(sizes) <= 0:
        raise InvalidValue("data", f"{path} must hold sizes above 0")
    return sizes


def compute_bytes_to_fill(path: PathSpec, tuned_s: float = TUNED_S) -> float:
    """Return the bytes that keep a well-tuned transfer busy for ``tuned_s``."""
    return tuned_s * TUNED_SHARE * path.rate_bps / BITS_PER_BYTE


def draw_sizes(kind: Kind, lists: SizeLists, at_least_bytes: float, seed: int) -> list[int]:
    """Draw the sizes of a data set, each part filled up to its share of the bytes: the same for the same seed.

    A part has one file at least, and the data set `LEAST_FILES`: with few bytes a mixture is mostly its one video.
    """
    draw = random.Random(f"{kind} {seed}")
    sizes: list[int] = []
    for part, share in _PARTS[kind].items():
        drawn: list[int] = []
        while not drawn or sum(drawn) < share * at_least_bytes:
            drawn.append(draw.choice(lists[part]))
        sizes += drawn
    while len(sizes) < LEAST_FILES:
        sizes.append(draw.choice(lists[kind]))
    return sizes


def write_files(folder: Path, sizes: Sequence[int], seed: int) -> int:
    """Fill ``folder`` with files of these sizes, named by number; return the bytes written.

    Contents come from one block of random bytes, started at another place for each file: they cannot be compressed, no
    two files are equal, and nothing is computed a byte at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(seed)
    block = memoryview(draw.randbytes(_BLOCK_BYTES))
    for number, size in enumerate(sizes):
        with (folder / f"{number:05d}.bin").open("wb", buffering=0) as file:
            offset = draw.randrange(_BLOCK_BYTES)
            left = size
            while left:
                left -= file.write(block[offset : offset + left])
                offset = 0
    return sum(sizes)
