"""The smallest run of the benchmark: one path, a few small files, each contender once.

It shows that the testbed, today's tools, our engine at a static setting and ours as it tunes itself work together, up
to the table. Nothing is searched or learned, and nobody looks whether other programs disturbed it: its figures mean
nothing.
"""

from pathlib import Path

from benchmarks.testbed.data_sets import Kind, SizeLists
from benchmarks.testbed.peers import PEERS, TRADEWIND
from benchmarks.wan.arena import Contender, arena
from benchmarks.wan.cell_row import FASTEST, Measured, Plan, cell_row, run_row
from benchmarks.wan.cell_run import OURS, OURS_MIN_DYNAMIC, OURS_MIN_ENERGY, OURS_UNSEEN
from benchmarks.wan.cells import Cell
from benchmarks.wan.knowledge import Knowledge
from benchmarks.wan.measuring import FINAL
from benchmarks.wan.runs import Row
from benchmarks.wan.search import FIRST

CELL = Cell("50M-20ms", Kind.HTML)
SIZES: SizeLists = {Kind.HTML: (20_000, 40_000), Kind.IMAGE: (300_000,), Kind.VIDEO: (2_000_000,)}
LEAST_BYTES = 400_000
CUT_S = 120.0
"""Which cuts nothing, however busy the machine is."""


def smallest_row(folder: Path, *, seed: int, hashes: dict[str, str]) -> Row:
    """Return the row of one cell; what is served and received is in ``folder``."""
    plan = Plan(repeats=1, cut_s=CUT_S, search_cut_s=CUT_S, seed=seed, hashes=hashes, searched=(), taught=False)
    knowledge = Knowledge.of(CELL, SIZES, seed, hashes=hashes, folder=folder)
    min_energy = ("--sla", "min_energy", "--energy-basis")
    contenders = (
        *(Contender(name=peer.name, peer=peer) for peer in PEERS),
        Contender(name=OURS, peer=TRADEWIND),
        Contender(name=OURS_MIN_ENERGY, peer=TRADEWIND, options=(*min_energy, "total")),
        Contender(name=OURS_MIN_DYNAMIC, peer=TRADEWIND, options=(*min_energy, "dynamic")),
        Contender(name=FASTEST, peer=TRADEWIND, setting=FIRST),
    )
    measured = Measured()
    with arena(
        CELL,
        SIZES,
        at_least_bytes=LEAST_BYTES,
        seed=seed,
        folder=folder,
        knowledge=knowledge,
        ahead=False,
        with_gridftp=True,
    ) as standing:
        for each in contenders:
            measured.runs[each.name] = [run_row(standing, each, FINAL, standing.run(each, cut_s=CUT_S))]
        measured.runs[OURS_UNSEEN] = measured.runs[OURS]  # both choose by rules where nothing was learned
        measured.frugal = measured.runs[FASTEST]
        return cell_row(standing, plan, measured)
