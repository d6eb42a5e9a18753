"""Compare our engine, today's tools and the best static setting over emulated wide-area paths, with real TCP and
programs.

Each path × data set is a cell, for downloads and for uploads. Finished cells are stored in
``benchmarks/records/wan.ndjson`` with digests of the measured sources, single runs in ``var/bench/wan-runs.ndjson``,
from which an interrupted table continues; a quick one measures all that it reports. Our engine is tuned by a service on
the client's host whose release was learned on other, shorter transfers of other files; and once more by a service that
has only seen other paths. The benchmark needs root (or user namespaces), the peers' packages and ``--data`` with a
folder ``file_sizes``.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.support.command import run_command
from benchmarks.support.direction import Direction
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import ROOT, judge_summary, make_parser, open_scratch_folder, write_report
from benchmarks.testbed.data_sets import TUNED_S, SizeLists, compute_bytes_to_fill, draw_sizes, read_size_lists
from benchmarks.testbed.measured_run import CUT_S
from benchmarks.testbed.peers import list_missing_packages
from benchmarks.testbed.permissions import become_root_of_a_user_namespace, require_permission
from benchmarks.testbed.uploads.origins import APACHE_PACKAGE, find_apache
from benchmarks.wan.arena import Arena, set_up_arena
from benchmarks.wan.cell_row import Plan
from benchmarks.wan.cell_run import run_cell
from benchmarks.wan.cell_runner import CellRunner
from benchmarks.wan.cells import ALL_CELLS, QUICK_CELLS, Cell, select_cells
from benchmarks.wan.duration import estimate_duration_s
from benchmarks.wan.knowledge import Knowledge
from benchmarks.wan.other_paths import parse_cells, run_without_history, summarise_without_history
from benchmarks.wan.peers_alone import run_peers
from benchmarks.wan.runs import Row, RunLog, digest_sources, digest_sources_of_rules, select_digests
from benchmarks.wan.smoke import CELLS as SMALLEST_CELLS
from benchmarks.wan.smoke import run_smallest_cell
from benchmarks.wan.summary import AT_LEAST, AT_MOST, list_missing, make_result, summarise
from tradewind.errors import InvalidValue

RECORDS = ROOT / "benchmarks" / "records" / "wan.ndjson"
VAR = ROOT / "var" / "bench"
RUNS = "wan-runs.ndjson"
SEARCH_CUT_S = 8.0
REPEATS = 3
QUICK_CUT_S, QUICK_SEARCH_CUT_S, QUICK_TUNED_S, QUICK_REPEATS = 12.0, 4.0, 5.0, 1
SIZES_FOLDER = "file_sizes"


def main(argv: Sequence[str]) -> int:
    """Measure the requested cells, print all that are finished and write ``var/bench/wan.json``."""
    options = _build_parser().parse_args(argv)
    become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.wan", *argv])
    return run_command("wan", partial(_run, options), is_resumable=True)


def _build_parser() -> argparse.ArgumentParser:
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument(
        "--cells",
        nargs="+",
        metavar="CELL",
        help="only these, such as html/60ms, video, up or 290ms/mixed/up; with --paths kinds of files",
    )
    parser.add_argument("--report", action="store_true", help="measure nothing, only print what is finished")
    parser.add_argument("--peers", action="store_true", help="only today's tools, whose runs hold for every engine")
    parser.add_argument("--lessons", action="store_true", help="only the transfers that the services learn from")
    parser.add_argument("--rules", action="store_true", help="tune without a service that has learned")
    parser.add_argument(
        "--paths",
        nargs="+",
        metavar="PATH",
        help="only ours without history and the tools' defaults, over paths such as 150Mbps,200ms,0%%",
    )
    parser.add_argument("--direction", choices=[each.value for each in Direction], help="with --paths; else down")
    parser.add_argument("--tls", action="store_true", help="with --paths: over HTTPS")
    parser.add_argument("--scratch", type=Path, default=VAR, help="where files are sent from and received")
    return parser


def _run(options: argparse.Namespace) -> int:
    started_at = datetime.now(UTC)
    if options.smoke:
        rows = _run_smallest(options)
        write_report(
            "wan",
            quick=options.quick,
            smoke=True,
            results=[make_result(row) for row in rows],
            summary=summarise(rows),
            started_at=started_at,
        )
        return 0
    if options.paths:
        return _run_other_paths(options, started_at)
    if options.direction or options.tls:
        raise InvalidValue("--direction, --tls", "go with --paths; --cells up and --cells tls select from the table")
    current = digest_sources() if _uses_learned_service(options) else digest_sources_of_rules()
    with open_scratch_folder("wan", VAR, is_removed=options.quick) as folder:
        records, log = RunLog(folder / "wan-quick.ndjson" if options.quick else RECORDS), RunLog(folder / RUNS)
        if not options.report:
            with take_precedence() as prioritised:
                _measure_missing(options, records, log, current, prioritised=prioritised)
    if options.peers or options.lessons:
        return 0
    rows = [row for row in records.list_rows() if _is_current(row, current)]
    stale = len(records.list_rows()) - len(rows)
    if stale:
        sys.stderr.write(f"wan: {stale} recorded cells belong to other sources and are left out\n")
    if not rows:
        raise InvalidValue("cells", "none is finished yet for these sources")
    results = [make_result(row) for row in rows]
    found = summarise(rows)
    write_report("wan", quick=options.quick, results=results, summary=found, started_at=started_at)
    for line in list_missing(rows):
        sys.stdout.write(f"{line}\n")
    if options.quick or options.cells:
        return 0
    return judge_summary(found, AT_MOST, AT_LEAST)


def _run_other_paths(options: argparse.Namespace, started_at: datetime) -> int:
    direction = Direction(options.direction or Direction.DOWN)
    cells = [
        cell for path in options.paths for cell in parse_cells(path, options.cells, direction, over_tls=options.tls)
    ]
    require_permission()
    lists, current = _find_size_lists(options.data), digest_sources_of_rules()
    _require_peers()
    options.scratch.mkdir(parents=True, exist_ok=True)
    lines = []
    with (
        open_scratch_folder("wan", VAR, is_removed=options.quick) as folder,
        take_precedence() as prioritised,
    ):
        log = RunLog(folder / RUNS)
        for cell in cells:
            plan = _make_plan(cell, options, current)
            with _set_up(cell, lists, plan, options, prioritised=prioritised) as arena:
                lines.append(run_without_history(arena, log, plan))
    found = summarise_without_history(lines)
    write_report("wan-other-paths", quick=options.quick, results=lines, summary=found, started_at=started_at)
    return 0 if options.quick else judge_summary(found, {"failed_runs": 0.0}, {"unseen_vs_best_default_min": 0.98})


def _run_smallest(options: argparse.Namespace) -> list[Row]:
    require_permission()
    _require_peers()
    hashes = digest_sources_of_rules()
    with open_scratch_folder("wan", options.scratch, is_removed=True) as folder:
        return [run_smallest_cell(cell, folder, seed=options.seed, hashes=hashes) for cell in SMALLEST_CELLS]


def _require_peers() -> None:
    packages = list_missing_packages()
    if find_apache() is None:
        packages.append(APACHE_PACKAGE)
    if packages:
        raise InvalidValue("peers", f"install these packages (names of Debian): {' '.join(packages)}")


def _is_current(row: Row, current: dict[str, str]) -> bool:
    """Return whether a row belongs to these sources, and to its cell's path as it is now."""
    cell = next((cell for cell in ALL_CELLS if cell.name == row["cell"]), None)
    if cell is None:
        return False
    return bool(row["hashes"] == select_digests(current, cell.direction) and row["path"] == str(cell.path))


def _uses_learned_service(options: argparse.Namespace) -> bool:
    return not (options.rules or options.quick)


def _measure_missing(
    options: argparse.Namespace, records: RunLog, log: RunLog, current: dict[str, str], *, prioritised: bool
) -> None:
    require_permission()
    lists = _find_size_lists(options.data)
    _require_peers()
    cells = select_cells(QUICK_CELLS if options.quick else ALL_CELLS, options.cells)
    options.scratch.mkdir(parents=True, exist_ok=True)
    missing = [cell for cell in cells if (row := records.find(cell.name)) is None or not _is_current(row, current)]
    if _uses_learned_service(options) and not options.peers:
        # All of them first: what a service knows of other paths must not depend on the order of the cells.
        for number, cell in enumerate(missing, start=1):
            sys.stderr.write(f"wan: lessons of {cell.name}, {number} of {len(missing)}\n")
            plan = _make_plan(cell, options, current)
            with _set_up(cell, lists, plan, options, prioritised=prioritised) as arena:
                CellRunner(arena, log, plan).take_lessons()
    if options.lessons:
        return
    for number, cell in enumerate(missing, start=1):
        plan = _make_plan(cell, options, current)
        total_bytes = sum(draw_sizes(cell.kind, lists, compute_bytes_to_fill(cell.path), plan.seed))
        about = f"about {estimate_duration_s(cell, total_bytes, plan) / 60:.0f} min"
        sys.stderr.write(f"wan: {cell.name}, {number} of {len(missing)}: {about} if nothing of it is measured yet\n")
        with _set_up(cell, lists, plan, options, prioritised=prioritised) as arena:
            if options.peers:
                run_peers(arena, log, plan)
                continue
            row = run_cell(arena, log, plan)
        records.add(cell.name, row)
        records.rewrite()
        sys.stderr.write(f"wan: {cell.name} took {row['minutes']:.0f} min; {_format_machine(row['machine'])}\n")


def _make_plan(cell: Cell, options: argparse.Namespace, current: dict[str, str]) -> Plan:
    return Plan(
        repeats=QUICK_REPEATS if options.quick else REPEATS,
        cut_s=QUICK_CUT_S if options.quick else CUT_S,
        search_cut_s=QUICK_SEARCH_CUT_S if options.quick else SEARCH_CUT_S,
        seed=options.seed,
        searched=() if options.quick else tuple(peer for peer in cell.peers if peer.axes),
        hashes=select_digests(current, cell.direction),
        uses_service=_uses_learned_service(options),
    )


def _format_machine(machine: Row) -> str:
    late = ", ".join(f"{name} {1e3 * late_s:.2g} ms" for name, late_s in machine["late_s"].items())
    prioritised = "before others" if machine["ahead_of_others"] else "not before others"
    waited = f"programs waited {machine['waited_share']:.0%}"
    others = f"others had {machine['others_share']:.0%}"
    return f"in the worst run packets were late by {late}, {waited}; {others}, {prioritised}"


def _set_up(
    cell: Cell, lists: SizeLists, plan: Plan, options: argparse.Namespace, *, prioritised: bool
) -> AbstractContextManager[Arena]:
    return set_up_arena(
        cell,
        lists,
        at_least_bytes=compute_bytes_to_fill(cell.path, QUICK_TUNED_S if options.quick else TUNED_S),
        seed=plan.seed,
        folder=options.scratch,
        knowledge=Knowledge.of(cell, lists, plan.seed, hashes=plan.hashes, folder=VAR / "wan-logs"),
        prioritised=prioritised,
    )


def _find_size_lists(folders: Sequence[Path]) -> SizeLists:
    for folder in folders:
        for sizes in (folder, folder / SIZES_FOLDER):
            if (sizes / "html.tsv").is_file():
                return read_size_lists(sizes)
    raise InvalidValue("data", f"give --data a folder that holds {SIZES_FOLDER}/html.tsv, image.tsv and video.tsv")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
