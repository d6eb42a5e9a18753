"""Where the papers' measurements are made again: their paths and data sets, from the numbers that they print.

A radio was the bottleneck of 000, so that a path is as fast as the highest rate that the paper saw over it; that of 002
is as fast as its highest. One packet in a hundred thousand is lost, an assumption: with it one stream reaches on the
longest path what the papers' did, by order of magnitude.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.papers.catalogue import Facts
from benchmarks.papers.printed import readings_of_bytes
from benchmarks.testbed.path_spec import PathSpec
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.units import MBIT

SEED = 1
"""Of files, and of what the paths lose."""

LOSS_RATE = 1e-5
_SETUPS = {"Austin to Chicago": "Chicago 10 Gbps", "Frankfurt to Virginia": "Virginia 1 Gbps"}
"""The words of the setup after which a path's round trip stands, ms."""
MOST_BYTES = 10**9
"""Of larger data sets only so much is served: no run lasts long enough for more."""

SYDNEY, FRANKFURT, CHAMELEON = "Sydney", "Frankfurt", "Chameleon"
NEAR, FAR = "60ms", "240ms"
PHONES = ("NexusS", "NexusN3", "S4")
"""Older phones, behind each of which the path from Sydney is as fast as the highest rate that the paper saw of it."""

COASTS, CHICAGO, VIRGINIA, PEERS_PATH = "Oregon to Virginia", "Austin to Chicago", "Frankfurt to Virginia", "IBM"
CARRIED_MBPS = 200.0
"""Of paths of a gigabit a second and more: two cores carry no more beside the programs that send and receive."""


@dataclass(frozen=True, slots=True)
class Run:
    """One transfer of our engine: over a path, of a data set such as ``000/html``, with a setting that stays."""

    path: str
    files: str
    setting: Parameters

    @property
    def name(self) -> str:
        told = ", ".join(f"{name} {value}" for name, value in self.setting.known().items())
        return f"{self.path}, {self.files}, {told}"


def run_of(path: str, files: str, *, cc: int = 1, p: int = 1, pp: int = 1, io_block_bytes: int | None = None) -> Run:
    """One stream of one file without requests ahead unless more is asked for."""
    return Run(path, files, Parameters(concurrency=cc, parallelism=p, pipelining=pp, io_block_bytes=io_block_bytes))


def path_of(name: str, facts: Facts) -> PathSpec:
    """The path as the papers' numbers have it."""
    servers, highest = facts["000-servers"].values, facts["000-fig6"].values
    http = {NEAR: facts["002-fig2"].values, FAR: facts["002-fig3"].values}
    if name in PHONES:
        mbps, rtt_ms = facts["000-fig5"].values[name][1], servers["EC2_Sydney"]["rtt_ms"]
    elif name == COASTS:
        # Its round trip is not told; that of the paper's other path within America stands for it.
        image = next(row for row in facts["002-table1"].values["rows"] if row[0] == "Image")
        mbps, rtt_ms = 8 * image[1] / min(facts["002-fig5"].values["t_s"]), http[NEAR]["rtt_ms"]
    elif name in (CHICAGO, VIRGINIA):
        mbps, rtt_ms = CARRIED_MBPS, facts["002-setup5"].number_after(_SETUPS[name])
    elif name == PEERS_PATH:
        mbps, rtt_ms = CARRIED_MBPS, facts["001-table1"].values["IBM_IDCN"]["rtt_ms"]
    elif name in http:
        mbps, rtt_ms = facts["002-fig2"].values["max_Mbps"], http[name]["rtt_ms"]
    elif name == SYDNEY:
        mbps, rtt_ms = max(each["to"] for each in facts["000-fig3"].values.values()), servers["EC2_Sydney"]["rtt_ms"]
    elif name == FRANKFURT:
        mbps, rtt_ms = highest["html_max_Mbps"][name], servers["EC2_Frankfurt"]["rtt_ms"]
    elif name == CHAMELEON:
        mbps, rtt_ms = max(highest["Chameleon_max_Mbps"].values()), servers["Chameleon_TACC"]["rtt_ms"]
    else:
        raise InvalidValue("path", f"{name!r} is none of the papers'")
    return PathSpec(rate_bps=mbps * MBIT, rtt_s=rtt_ms / 1e3, loss_rate=LOSS_RATE)


def sizes_of(name: str, facts: Facts, seed: int) -> Sequence[int]:
    """Sizes of a data set's files, drawn evenly between its least and its largest; the same for the same seed."""
    paper, kind = name.split("/")
    table = facts[{"000": "000-table2", "002": "002-table1"}[paper]].values
    columns = table["columns"]
    row = next(dict(zip(columns, row, strict=True)) for row in table["rows"] if row[0].lower() == kind)
    low, high = (round(readings_of_bytes(row[end])[0].value) for end in ("min", "max"))
    draw, sizes = random.Random(f"{name} {seed}"), list[int]()
    while len(sizes) < (row["files"] or 1) and sum(sizes) < MOST_BYTES:
        sizes.append(min(draw.randint(low, high), MOST_BYTES))
    return sizes


def small_files(facts: Facts, seed: int) -> Sequence[int]:
    """Of the GreenDataFlow paper's data sets the small files, in as many bytes as any run has time for."""
    low, high = (round(1e6 * each) for each in facts["001-datasets"].values["small_MB"])
    draw, sizes = random.Random(f"001 small {seed}"), list[int]()
    while sum(sizes) < MOST_BYTES:
        sizes.append(draw.randint(low, high))
    return sizes
