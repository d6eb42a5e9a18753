"""Files, streams and I/O blocks over a phone's paths beside one file and one stream, and what the models say it takes.

Transfers are real, over emulated paths of 59, 115 and 290 ms with real TCP; energy is a model's, of a Galaxy S5 with
its screen on, and is told at −50 % and +50 % of each group of its constants. The mobile paper's lessons are judged,
its figures quoted: at each of those constants, and where one setting has to beat many by runs of both made afresh;
that of streams a file is by single runs of the grid.
No run counts that other programs disturbed. Runs are kept in ``var/bench/mobile-runs.ndjson``: an interrupted
benchmark goes on where it was. A quick one does not go ahead of other programs. It ends with 1 where html on the
longest path saves less than 60 %; other lessons that do not hold are told, not judged. Needs root or user namespaces,
and nginx.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.mobile.cells import (
    CUT_S,
    DATA_SETS,
    IO_BLOCKS_BYTES,
    IO_CONCURRENCY,
    LONGEST,
    PATHS,
    QUICK_CUT_S,
    QUICK_DATA_SETS,
    SMOKE_CUT_S,
    SMOKE_DATA_SETS,
    SMOKE_GRID,
    SMOKE_TURNS,
    TURNS,
    Files,
    Setting,
    grid,
)
from benchmarks.mobile.lessons import Contest, Fresh, contests
from benchmarks.mobile.pricing import as_published, energy_j
from benchmarks.mobile.reporting import AT_LEAST, RADIOS, Measured, lessons_of, results_of, summary_of
from benchmarks.mobile.running import PARTS, Ground, ground
from benchmarks.support.command import run_command
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import ROOT, judge_summary, make_parser, open_scratch_folder, write_report
from benchmarks.support.sources import Sources
from benchmarks.testbed.permissions import become_root_of_a_user_namespace, require_permission
from benchmarks.wan.runs import Row, RunLog

VAR = ROOT / "var" / "bench"


def main(argv: Sequence[str]) -> int:
    """Measure, price, print the lessons and write ``var/bench/mobile.json``."""
    parser = _parser()
    options = parser.parse_args(argv)
    offered = SMOKE_DATA_SETS if options.smoke else QUICK_DATA_SETS if options.quick else DATA_SETS
    if options.sets and not set(options.sets) <= set(offered):
        parser.error(f"a quick run has {' and '.join(offered)} alone")
    become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.mobile", *argv])
    return run_command("mobile", partial(_run, options), is_resumable=True)


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument("--paths", nargs="+", choices=tuple(PATHS), help="only these")
    parser.add_argument("--sets", nargs="+", choices=tuple(DATA_SETS), help="only these data sets")
    parser.add_argument("--cut", type=float, metavar="SECONDS", help="stop each run then; it is scored by its bytes")
    parser.add_argument("--scratch", type=Path, default=VAR, help="where files are served from and received")
    return parser


def _run(options: argparse.Namespace) -> int:
    started_at = datetime.now(UTC)
    require_permission()
    sources = Sources.of(PARTS)
    options.scratch.mkdir(parents=True, exist_ok=True)
    with (
        nullcontext(False) if options.quick else take_precedence() as prioritised,
        open_scratch_folder("mobile", VAR, smoke=options.smoke) as kept,
    ):
        measured = _measured(options, RunLog(kept / "mobile-runs.ndjson"), sources, prioritised=prioritised)
    summary = summary_of(measured)
    write_report(
        "mobile",
        quick=options.quick,
        smoke=options.smoke,
        results=results_of(measured),
        summary=summary,
        started_at=started_at,
    )
    for radio in RADIOS:
        runs = "" if radio == RADIOS[0] else f"; the runs are those of {RADIOS[0]}"
        sys.stdout.write(f"\n{radio}, Galaxy S5, screen on; energy is modelled, per 100 MB{runs}:\n")
        for lesson in lessons_of(measured, radio):
            sys.stdout.write(f"  {lesson.line()}\n")
    is_complete = not (options.paths or options.sets)
    return 0 if options.quick else judge_summary(summary, {}, AT_LEAST, is_complete=is_complete)


def _measured(options: argparse.Namespace, log: RunLog, sources: Sources, *, prioritised: bool) -> Measured:
    sets = SMOKE_DATA_SETS if options.smoke else QUICK_DATA_SETS if options.quick else DATA_SETS
    cut_s = options.cut or (SMOKE_CUT_S if options.smoke else QUICK_CUT_S if options.quick else CUT_S)
    turns = SMOKE_TURNS if options.smoke else TURNS
    paths = options.paths or ([LONGEST] if options.quick else list(PATHS))
    grounds: dict[str, Sequence[Row]] = {}
    fresh: dict[str, Fresh] = {}
    blocks: list[Row] = []
    for path in paths:
        for name, files in sets.items():
            if options.sets and name not in options.sets:
                continue
            where = f"{path}/{name}"
            sizes = files.sizes(options.seed)
            with ground(
                PATHS[path],
                where,
                sizes,
                seed=options.seed,
                folder=options.scratch,
                cut_s=cut_s,
                prioritised=prioritised,
                sources=sources,
                judged=not options.smoke,
            ) as standing:
                grounds[where] = [standing.run(setting, log) for setting in _settings(files, options)]
                fresh[where] = _afresh(standing, name, grounds[where], log, turns)
                if not blocks:
                    step = len(IO_BLOCKS_BYTES) - 1 if options.smoke else 2 if options.quick else 1
                    asked = [Setting(IO_CONCURRENCY, 1, size) for size in IO_BLOCKS_BYTES[::step]]
                    blocks = [standing.run(setting, log) for setting in asked]
    return Measured(grounds=grounds, fresh=fresh, blocks=blocks)


def _settings(files: Files, options: argparse.Namespace) -> Sequence[Setting]:
    return [Setting(*each) for each in SMOKE_GRID] if options.smoke else grid(files, quick=options.quick)


def _afresh(standing: Ground, data_set: str, rows: Sequence[Row], log: RunLog, turns: int) -> Fresh:
    """Both settings of each contest run by turns, so that slow times of the machine hit both."""
    found: dict[Contest, tuple[list[Row], list[Row]]] = {}
    for contest, pair in contests(data_set, rows, partial(energy_j, constants=as_published(RADIOS[0]))).items():
        found[contest] = ([], [])
        for turn in range(1, turns + 1):
            for row, so_far in zip(pair, found[contest], strict=True):
                so_far.append(standing.run(Setting(row["concurrency"], row["parallelism"]), log, turn))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
