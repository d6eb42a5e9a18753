"""Ours, today's tools and the best static setting over emulated wide-area paths, with real TCP and real programs.

Each path × data set is a cell. Finished cells are kept in ``benchmarks/records/wan.ndjson`` with digests of what they
measured, single runs in ``var/bench/wan-runs.ndjson``: an interrupted table goes on where it was. Ours is tuned by a
service on the client's host whose release was learned on other, shorter transfers of other files; once more by one that
has only seen other paths. Needs root (or user namespaces), the peers' packages and ``--data`` with a folder
``file_sizes``.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.support.command import told
from benchmarks.support.precedence import precedence
from benchmarks.support.report import ROOT, arguments, judge, scratch_of, write
from benchmarks.testbed.data_sets import TUNED_S, SizeLists, draw_sizes, needed_bytes, read_size_lists
from benchmarks.testbed.measured_run import CUT_S
from benchmarks.testbed.peers import PEERS, missing_packages
from benchmarks.testbed.permissions import become_root_of_a_user_namespace, require_permission
from benchmarks.wan.arena import Arena, arena
from benchmarks.wan.cell_row import Plan
from benchmarks.wan.cell_run import run_cell
from benchmarks.wan.cells import ALL_CELLS, QUICK_CELLS, Cell, cells_named
from benchmarks.wan.duration import expected_s
from benchmarks.wan.knowledge import Knowledge
from benchmarks.wan.peers_alone import run_peers
from benchmarks.wan.runs import Row, RunLog, hashes, hashes_of_rules
from benchmarks.wan.smoke import smallest_row
from benchmarks.wan.summary import AT_LEAST, AT_MOST, is_saving_everywhere, missing, result, summary
from tradewind.errors import InvalidValue

RECORDS = ROOT / "benchmarks" / "records" / "wan.ndjson"
VAR = ROOT / "var" / "bench"
SEARCH_CUT_S = 8.0
REPEATS = 3
QUICK_CUT_S, QUICK_SEARCH_CUT_S, QUICK_TUNED_S, QUICK_REPEATS = 12.0, 4.0, 5.0, 1
SIZES_FOLDER = "file_sizes"


def main(argv: Sequence[str]) -> int:
    """Measure the cells asked for, print all that are finished and write ``var/bench/wan.json``."""
    options = _parser().parse_args(argv)
    become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.wan", *argv])
    return told("wan", partial(_run, options), goes_on=True)


def _parser() -> argparse.ArgumentParser:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument(
        "--cells",
        nargs="+",
        metavar="CELL",
        help="only these, such as html/60ms or video",
    )
    parser.add_argument("--report", action="store_true", help="measure nothing, only print what is finished")
    parser.add_argument("--peers", action="store_true", help="only today's tools, whose runs hold for every engine")
    parser.add_argument("--rules", action="store_true", help="tune without a service that has learned")
    parser.add_argument("--scratch", type=Path, default=VAR, help="where files are served from and received")
    return parser


def _run(options: argparse.Namespace) -> int:
    started_at = datetime.now(UTC)
    if options.smoke:
        rows = [_smallest_row(options)]
        write(
            "wan",
            quick=options.quick,
            smoke=True,
            results=[result(row) for row in rows],
            summary=summary(rows),
            started_at=started_at,
        )
        return 0
    records = RunLog(VAR / "wan-quick.ndjson" if options.quick else RECORDS)
    current = hashes() if _taught(options) else hashes_of_rules()
    if not options.report:
        with precedence() as ahead:
            _measure_missing(options, records, current, ahead=ahead)
    if options.peers:
        return 0
    rows = [row for row in records.rows() if _holds(row, current)]
    stale = len(records.rows()) - len(rows)
    if stale:
        sys.stderr.write(f"wan: {stale} recorded cells are of other sources and left out\n")
    if not rows:
        raise InvalidValue("cells", "none is finished yet for these sources")
    results = [result(row) for row in rows]
    found = summary(rows)
    write("wan", quick=options.quick, results=results, summary=found, started_at=started_at)
    for line in missing(rows):
        sys.stdout.write(f"{line}\n")
    if options.quick or options.cells:
        return 0
    return judge(found, AT_MOST, AT_LEAST) or int(not is_saving_everywhere(found))


def _smallest_row(options: argparse.Namespace) -> Row:
    require_permission()
    _require_peers()
    with scratch_of("wan", options.scratch, smoke=True) as folder:
        return smallest_row(folder, seed=options.seed, hashes=hashes_of_rules())


def _require_peers() -> None:
    if lacking := missing_packages():
        raise InvalidValue("peers", f"install these packages (names of Debian): {' '.join(lacking)}")


def _holds(row: Row, current: dict[str, str]) -> bool:
    """Whether a row is of these sources, and of its cell's path as it is now."""
    paths = {cell.name: str(cell.path) for cell in ALL_CELLS}
    return bool(row["hashes"] == current and row["path"] == paths.get(row["cell"]))


def _taught(options: argparse.Namespace) -> bool:
    return not (options.rules or options.quick)


def _measure_missing(options: argparse.Namespace, records: RunLog, current: dict[str, str], *, ahead: bool) -> None:
    require_permission()
    lists = _size_lists(options.data)
    _require_peers()
    cells = cells_named(QUICK_CELLS if options.quick else ALL_CELLS, options.cells)
    log = RunLog(VAR / "wan-runs.ndjson")
    plan = Plan(
        repeats=QUICK_REPEATS if options.quick else REPEATS,
        cut_s=QUICK_CUT_S if options.quick else CUT_S,
        search_cut_s=QUICK_SEARCH_CUT_S if options.quick else SEARCH_CUT_S,
        seed=options.seed,
        searched=() if options.quick else tuple(peer for peer in PEERS if peer.axes),
        hashes=current,
        taught=_taught(options),
    )
    options.scratch.mkdir(parents=True, exist_ok=True)
    missing = [cell for cell in cells if (row := records.find(cell.name)) is None or not _holds(row, current)]
    for number, cell in enumerate(missing, start=1):
        total_bytes = sum(draw_sizes(cell.kind, lists, needed_bytes(cell.path), plan.seed))
        about = f"about {expected_s(cell.path, total_bytes, PEERS, plan) / 60:.0f} min"
        sys.stderr.write(f"wan: {cell.name}, {number} of {len(missing)}: {about} if nothing of it is measured yet\n")
        with _standing(cell, lists, plan, options, ahead=ahead) as standing:
            if options.peers:
                run_peers(standing, PEERS, log, plan)
                continue
            row = run_cell(standing, PEERS, log, plan)
        records.add(cell.name, row)
        records.rewrite()
        sys.stderr.write(f"wan: {cell.name} took {row['minutes']:.0f} min; {_told(row['machine'])}\n")


def _told(machine: Row) -> str:
    late = ", ".join(f"{name} {1e3 * late_s:.2g} ms" for name, late_s in machine["late_s"].items())
    ahead = "ahead of others" if machine["ahead_of_others"] else "not ahead of others"
    waited = f"programs waited {machine['waited_share']:.0%}"
    return f"in the worst run packets were late by {late}, {waited}; others had {machine['others_share']:.0%}, {ahead}"


def _standing(
    cell: Cell, lists: SizeLists, plan: Plan, options: argparse.Namespace, *, ahead: bool
) -> AbstractContextManager[Arena]:
    return arena(
        cell,
        lists,
        at_least_bytes=needed_bytes(cell.path, QUICK_TUNED_S if options.quick else TUNED_S),
        seed=plan.seed,
        folder=options.scratch,
        knowledge=Knowledge.of(cell, lists, plan.seed, hashes=plan.hashes, folder=VAR / "wan-logs"),
        ahead=ahead,
        with_gridftp=True,
    )


def _size_lists(folders: Sequence[Path]) -> SizeLists:
    for folder in folders:
        for sizes in (folder, folder / SIZES_FOLDER):
            if (sizes / "html.tsv").is_file():
                return read_size_lists(sizes)
    raise InvalidValue("data", f"give --data a folder that holds {SIZES_FOLDER}/html.tsv, image.tsv and video.tsv")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
