"""Where the papers' measurements are made again: their paths and data sets, from the numbers that they print.

A radio was the bottleneck of 000, so that a path is as fast as the highest rate that the paper saw over it; that of 002
is as fast as its highest. One packet in a hundred thousand is lost, an assumption: with it one stream reaches on the
longest path what the papers' did, by order of magnitude.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.facts.catalogue import Facts
from benchmarks.facts.printed import readings_of_bytes
from benchmarks.testbed.path_spec import PathSpec
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.units import MBIT

LOSS_RATE = 1e-5
MOST_BYTES = 10**9
"""Of larger data sets only so much is served: no run lasts long enough for more."""

SYDNEY, FRANKFURT, CHAMELEON = "Sydney", "Frankfurt", "Chameleon"
NEAR, FAR = "60ms", "240ms"


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
    if name in http:
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
