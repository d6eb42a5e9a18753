"""Make the smallest run of the benchmark: one path, a few small files, each contender once, each way and over TLS.

It shows that the testbed, today's tools, our engine at a static setting and as it tunes itself work together, up to the
table. Nothing is searched or learned, and other programs may disturb it: its figures mean nothing.
"""

from pathlib import Path

from benchmarks.support.direction import Direction
from benchmarks.testbed.data_sets import Kind, SizeLists
from benchmarks.wan.arena import Contender, set_up_arena
from benchmarks.wan.cell_row import FASTEST, OURS_ALONE, CellMeasurements, Plan, make_cell_row, make_run_row
from benchmarks.wan.cell_run import OURS, OURS_MIN_DYNAMIC, OURS_MIN_ENERGY, OURS_ON_UNKNOWN_PATH
from benchmarks.wan.cell_runner import FINAL
from benchmarks.wan.cells import Cell
from benchmarks.wan.knowledge import Knowledge
from benchmarks.wan.runs import Row
from benchmarks.wan.search import FIRST

CELLS = (
    Cell("50M-20ms", Kind.HTML),
    Cell("50M-20ms", Kind.IMAGE, direction=Direction.UP),
    Cell("100M-60ms", Kind.IMAGE, over_tls=True),
)
SIZES: SizeLists = {Kind.HTML: (20_000, 40_000), Kind.IMAGE: (300_000,), Kind.VIDEO: (2_000_000,)}
LEAST_BYTES = 400_000
CUT_S = 120.0
"""It cuts nothing, however busy the machine is."""


def run_smallest_cell(cell: Cell, folder: Path, *, seed: int, hashes: dict[str, str]) -> Row:
    """Return the row of a cell; what is sent and received is in ``folder``."""
    plan = Plan(repeats=1, cut_s=CUT_S, search_cut_s=CUT_S, seed=seed, hashes=hashes, searched=(), uses_service=False)
    knowledge = Knowledge.of(cell, SIZES, seed, hashes=hashes, folder=folder)
    min_energy = ("--sla", "min_energy", "--energy-basis")
    contenders = (
        *(Contender(name=peer.name, peer=peer) for peer in cell.peers),
        Contender(name=OURS, peer=cell.engine),
        Contender(name=OURS_MIN_ENERGY, peer=cell.engine, options=(*min_energy, "total")),
        Contender(name=OURS_MIN_DYNAMIC, peer=cell.engine, options=(*min_energy, "dynamic")),
        Contender(name=FASTEST, peer=cell.engine, setting=FIRST),
    )
    measured = CellMeasurements()
    with set_up_arena(
        cell,
        SIZES,
        at_least_bytes=LEAST_BYTES,
        seed=seed,
        folder=folder,
        knowledge=knowledge,
        prioritised=False,
    ) as arena:
        for contender in contenders:
            measured.runs[contender.name] = [make_run_row(arena, contender, FINAL, arena.run(contender, cut_s=CUT_S))]
        for name in (OURS_ALONE, OURS_ON_UNKNOWN_PATH):  # all choose by rules where nothing was learned
            measured.runs[name] = measured.runs[OURS]
        measured.frugal = measured.runs[FASTEST]
        return make_cell_row(arena, plan, measured)
