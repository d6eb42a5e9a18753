"""The paths and data sets of the papers' measurements, from the numbers that they print.

A radio was the bottleneck of 000, so that a path is as fast as the highest rate that the paper saw over it; that of 002
is as fast as its highest. One packet in a hundred thousand is lost, an assumption: with it one stream reaches on the
longest path what the papers' did, by order of magnitude.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.papers.catalogue import Claims
from benchmarks.papers.printed import read_bytes_both_ways
from benchmarks.testbed.path_spec import PathSpec
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.units import BITS_PER_BYTE, MBIT

SEED = 1
"""Seed of files, and of what the paths lose."""

LOSS_RATE = 1e-5
_SETUPS = {"Austin to Chicago": "Chicago 10 Gbps", "Frankfurt to Virginia": "Virginia 1 Gbps"}
"""The words of the setup that come before a path's round trip, ms."""
MOST_BYTES = 10**9
"""Larger data sets are served up to this size: no run lasts long enough for more."""

SYDNEY, FRANKFURT, CHAMELEON = "Sydney", "Frankfurt", "Chameleon"
NEAR, FAR = "60ms", "240ms"
PHONES = ("NexusS", "NexusN3", "S4")
"""Older phones; the path from Sydney behind each is as fast as the highest rate that the paper saw of it."""

COASTS, CHICAGO, VIRGINIA, PEERS_PATH = "Oregon to Virginia", "Austin to Chicago", "Frankfurt to Virginia", "IBM"
CARRIED_MBPS = 200.0
"""Rate of paths of a gigabit a second and more: two cores carry no more next to the sending and receiving programs."""


@dataclass(frozen=True, slots=True)
class Run:
    """One transfer of our engine: over a path, of a data set such as ``000/html``, with a constant setting."""

    path: str
    files: str
    setting: Parameters

    @property
    def name(self) -> str:
        parameters = ", ".join(f"{name} {value}" for name, value in self.setting.list_known().items())
        return f"{self.path}, {self.files}, {parameters}"


def make_run(path: str, files: str, *, cc: int = 1, p: int = 1, pp: int = 1, io_block_bytes: int | None = None) -> Run:
    """Make a run, by default of one stream of one file without pipelining."""
    return Run(path, files, Parameters(concurrency=cc, parallelism=p, pipelining=pp, io_block_bytes=io_block_bytes))


def make_path(name: str, claims: Claims) -> PathSpec:
    """Return the path that the papers' numbers describe."""
    servers, highest = claims["000-servers"].values, claims["000-fig6"].values
    http = {NEAR: claims["002-fig2"].values, FAR: claims["002-fig3"].values}
    if name in PHONES:
        mbps, rtt_ms = claims["000-fig5"].values[name][1], servers["EC2_Sydney"]["rtt_ms"]
    elif name == COASTS:
        # The paper gives no round trip for it; that of its other path within America stands for it.
        image = next(row for row in claims["002-table1"].values["rows"] if row[0] == "Image")
        mbps, rtt_ms = 8 * image[1] / min(claims["002-fig5"].values["t_s"]), http[NEAR]["rtt_ms"]
    elif name in (CHICAGO, VIRGINIA):
        mbps, rtt_ms = CARRIED_MBPS, claims["002-setup5"].find_number_after(_SETUPS[name])
    elif name == PEERS_PATH:
        mbps, rtt_ms = CARRIED_MBPS, claims["001-table1"].values["IBM_IDCN"]["rtt_ms"]
    elif name in http:
        mbps, rtt_ms = claims["002-fig2"].values["max_Mbps"], http[name]["rtt_ms"]
    elif name == SYDNEY:
        mbps, rtt_ms = max(each["to"] for each in claims["000-fig3"].values.values()), servers["EC2_Sydney"]["rtt_ms"]
    elif name == FRANKFURT:
        mbps, rtt_ms = highest["html_max_Mbps"][name], servers["EC2_Frankfurt"]["rtt_ms"]
    elif name == CHAMELEON:
        mbps, rtt_ms = max(highest["Chameleon_max_Mbps"].values()), servers["Chameleon_TACC"]["rtt_ms"]
    else:
        raise InvalidValue("path", f"{name!r} is none of the papers'")
    return PathSpec(rate_bps=mbps * MBIT, rtt_s=rtt_ms / 1e3, loss_rate=LOSS_RATE)


def find_window_bytes(run: Run, claims: Claims) -> int | None:
    """Return the window with which one stream reaches what the paper's did; ``None`` where it gives no such rate.

    The paper's hosts and phones had smaller windows than Linux has today. Then one stream fills less of a path, and
    several gain more.
    """
    if run.files == "000/3gb":
        mbps = float(claims["000-fig3"].values["3GB"]["from"])
    elif run.path == SYDNEY:
        mbps = float(claims["000-fig2-cc"].values["video"]["thr_Mbps_cc1"])
    elif run.path in (NEAR, FAR, COASTS):
        http = claims["002-fig2"].values
        mbps = float(http["max_Mbps"] / http["video_cc_gain_X_1to8"])
        if run.path == FAR:
            mbps /= 2  # its rates at first are about half of those of the nearer path
    else:
        return None
    return round(mbps * MBIT * make_path(run.path, claims).rtt_s / BITS_PER_BYTE)


def draw_sizes(name: str, claims: Claims, seed: int) -> Sequence[int]:
    """Draw the sizes of a data set's files evenly between its least and its largest; the same for the same seed."""
    paper, kind = name.split("/")
    table = claims[{"000": "000-table2", "002": "002-table1"}[paper]].values
    columns = table["columns"]
    row = next(dict(zip(columns, row, strict=True)) for row in table["rows"] if row[0].lower() == kind)
    low, high = (round(read_bytes_both_ways(row[end])[0].value) for end in ("min", "max"))
    draw, sizes = random.Random(f"{name} {seed}"), list[int]()
    while len(sizes) < (row["files"] or 1) and sum(sizes) < MOST_BYTES:
        sizes.append(min(draw.randint(low, high), MOST_BYTES))
    return sizes


def draw_small_sizes(claims: Claims, seed: int) -> Sequence[int]:
    """Draw sizes of the GreenDataFlow paper's small files, in as many bytes as any run has time for."""
    low, high = (round(1e6 * each) for each in claims["001-datasets"].values["small_MB"])
    draw, sizes = random.Random(f"001 small {seed}"), list[int]()
    while sum(sizes) < MOST_BYTES:
        sizes.append(draw.randint(low, high))
    return sizes
