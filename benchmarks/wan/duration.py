"""Estimate how long a cell is going to take, to print it before the start."""

from benchmarks.testbed.data_sets import TUNED_SHARE
from benchmarks.wan.cell_row import Plan
from benchmarks.wan.cell_run import FRUGAL
from benchmarks.wan.cells import Cell, compute_warm_duration_s
from benchmarks.wan.lessons import LESSON_REPEATS, compute_lesson_duration_s, list_lessons
from benchmarks.wan.search import REFINED, list_coarse_settings
from tradewind.units import BITS_PER_BYTE

OVERHEAD_S = 1.0
"""Overhead of a run: its folders, its processes, counting what it has written."""

SEARCHED_SHARE = 0.6
"""Average share of the search's cut that a run takes: half of them fill the path and are watched to the end."""

REFINED_SHARE = 0.4
"""Settings tried around the leaders, for each coarse one."""

LESSON_SLOWDOWN = 2.0
"""A lesson's setting is seldom the best."""

SERVICES_S = 40.0
TUNED_CONTENDERS = 4
SLOW_PEERS = ("wget", "curl")
"""They move one file after another over one connection: on most paths they are cut."""


def estimate_duration_s(cell: Cell, total_bytes: float, plan: Plan) -> float:
    """Return the time of a cell without stored runs, within about a third, s."""
    path, peers = cell.path, cell.peers
    tuned_s = BITS_PER_BYTE * total_bytes / (TUNED_SHARE * path.rate_bps)
    searched = sum(len(list_coarse_settings(peer.axes)) for peer in (cell.engine, *plan.searched)) * (1 + REFINED_SHARE)
    search_s = searched * (SEARCHED_SHARE * compute_warm_duration_s(path, plan.search_cut_s) + OVERHEAD_S)
    lessons_s = (
        len(list_lessons(cell)) * LESSON_REPEATS * (LESSON_SLOWDOWN * compute_lesson_duration_s(path) + OVERHEAD_S)
        + SERVICES_S
    )
    slow = sum(peer.name in SLOW_PEERS for peer in peers)
    fast = len(peers) - slow + TUNED_CONTENDERS + 1 + len(plan.searched) / 2
    run_s = min(tuned_s, plan.cut_s) + OVERHEAD_S
    repeats_s = plan.repeats * (slow * (plan.cut_s + OVERHEAD_S) + fast * run_s)
    finals_s = len(FRUGAL) * (plan.cut_s + run_s) / 2 + (REFINED + 1 + REFINED * len(plan.searched) / 2) * run_s
    return search_s + plan.uses_service * lessons_s + finals_s + repeats_s
