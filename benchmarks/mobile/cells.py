"""Paths and data sets of the mobile paper: its three servers seen from a phone, and its table 2.

The phone's radio is the bottleneck, so a path has the round trip to a server and the highest rate that the paper saw
over it by WiFi, with any files. One packet in a hundred thousand is lost, an assumption: so one stream reaches on the
longest path what the paper's did (24 Mbit/s at 290 ms), by order of magnitude.

For LTE the paper gives no rate, only that it was "slightly lower" (section 4): there is no path of its own for it. The
results for LTE are the WiFi path's runs at the prices of LTE's radio.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from benchmarks.testbed.path_spec import PathSpec

KB, MB = 10**3, 10**6
LOSS_RATE = 1e-5
LONGEST = "290ms"
PATHS: Mapping[str, PathSpec] = MappingProxyType(
    {
        # Chameleon, Texas: RTT of section 4; video at the most files at once, figure 6.
        "59ms": PathSpec(rate_bps=124e6, rtt_s=0.059, loss_rate=LOSS_RATE),
        # EC2 Frankfurt: RTT of section 4; only html, from the lessons of section 4.
        "115ms": PathSpec(rate_bps=55e6, rtt_s=0.115, loss_rate=LOSS_RATE),
        # EC2 Sydney: RTT of section 4; the file of 10 GB by 32 streams, figure 3.
        LONGEST: PathSpec(rate_bps=104e6, rtt_s=0.290, loss_rate=LOSS_RATE),
    }
)
PAPERS_HTML_SAVING: Mapping[str, float] = MappingProxyType({"59ms": 0.50, "115ms": 0.65, LONGEST: 0.70})
"""Figure 6, quoted: dynamic energy at the best concurrency against one file at a time, WiFi, Galaxy S5."""
PAPERS_COMBINED_SAVING = 0.81
"""Figure 7, quoted."""


@dataclass(frozen=True, slots=True)
class FileSet:
    """A number of files; sizes are drawn evenly between ``least_bytes`` and ``most_bytes``."""

    count: int
    least_bytes: int
    most_bytes: int

    def draw_sizes(self, seed: int) -> list[int]:
        draw = random.Random(f"{self} {seed}")
        return [draw.randint(self.least_bytes, self.most_bytes) for _ in range(self.count)]


DATA_SETS: Mapping[str, FileSet] = MappingProxyType(
    {
        "html": FileSet(1500, 102 * KB, 153 * KB),
        "image": FileSet(200, 524 * KB, 786 * KB),
        "video": FileSet(64, 10 * MB, 20 * MB),
        "large": FileSet(1, 1000 * MB, 1000 * MB),
    }
)
QUICK_DATA_SETS: Mapping[str, FileSet] = MappingProxyType(
    {"html": FileSet(300, 102 * KB, 153 * KB), "large": FileSet(1, 100 * MB, 100 * MB)}
)

SMOKE_DATA_SETS: Mapping[str, FileSet] = MappingProxyType({"html": FileSet(6, 10 * KB, 20 * KB)})

CONCURRENCIES, PARALLELISMS = (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)
QUICK_CONCURRENCIES, QUICK_PARALLELISMS = (1, 4, 16), (1, 4)
SMOKE_GRID = ((1, 1), (4, 1))
IO_BLOCKS_BYTES = (1024, 4096, 16384, 65536, 262144)
IO_CONCURRENCY = 8
CUT_S, QUICK_CUT_S, SMOKE_CUT_S = 20.0, 6.0, 120.0
"""The cut of a smoke run cuts nothing: its files take a second or two."""
CONTEST_REPEATS, SMOKE_CONTEST_REPEATS = 4, 1
"""Repeats of each of the two settings of a contest."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of the engine; without ``io_block_bytes`` it uses its own block size."""

    concurrency: int
    parallelism: int
    io_block_bytes: int | None = None

    @property
    def name(self) -> str:
        block = "" if self.io_block_bytes is None else f" io {self.io_block_bytes // 1024}K"
        return f"cc {self.concurrency} p {self.parallelism}{block}"


def make_grid(files: FileSet, *, quick: bool) -> Sequence[Setting]:
    """Return the settings of one data set, without those of the I/O block; no more files at once than there are."""
    concurrencies = QUICK_CONCURRENCIES if quick else CONCURRENCIES
    parallelisms = QUICK_PARALLELISMS if quick else PARALLELISMS
    return [Setting(cc, p) for cc in concurrencies if cc <= files.count for p in parallelisms]
