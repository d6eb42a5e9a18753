"""The files that the demo moves: drawn from a seed, written once a run."""

import math
import random
from dataclasses import dataclass
from pathlib import Path

KB = 1000
MB = 1000 * KB


@dataclass(frozen=True)
class FileClass:
    """Files of one kind: sizes are log-normal around ``median_bytes``, cut to [low, high]."""

    name: str
    median_bytes: int
    log_sd: float
    low_bytes: int
    high_bytes: int

    def draw_sizes(self, count: int, draw: random.Random) -> list[int]:
        centre = math.log(self.median_bytes)
        drawn = (round(math.exp(draw.gauss(centre, self.log_sd))) for _ in range(count))
        return [min(max(size, self.low_bytes), self.high_bytes) for size in drawn]


PAGES = FileClass("pages", median_bytes=60 * KB, log_sd=0.5, low_bytes=20 * KB, high_bytes=200 * KB)
PHOTOS = FileClass("photos", median_bytes=1_200 * KB, log_sd=0.25, low_bytes=800 * KB, high_bytes=2 * MB)

THUMBNAILS = FileClass("thumbnails", median_bytes=300 * KB, log_sd=0.2, low_bytes=200 * KB, high_bytes=500 * KB)


def write_folder(folder: Path, classes: dict[FileClass, int], draw: random.Random) -> int:
    """Fill ``folder`` with that many files of each class; return the bytes written."""
    folder.mkdir(parents=True)
    total = 0
    for kind, count in classes.items():
        for i, size in enumerate(kind.draw_sizes(count, draw)):
            (folder / f"{kind.name}-{i:04d}.bin").write_bytes(draw.randbytes(size))
            total += size
    return total
