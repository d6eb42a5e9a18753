"""Compare files, streams and I/O blocks over a phone's paths with one file and one stream, in energy by the models.

Transfers are real, over emulated paths of 59, 115 and 290 ms with real TCP; energy is a model's, of a Galaxy S5 with
its screen on, reported also at −50 % and +50 % of each group of its constants. The benchmark judges the mobile paper's
lessons and quotes its figures: at each of those constants, and where one setting has to beat many by further runs of
both; the lesson about streams a file by single runs of the grid.

Disturbed runs do not count. Runs are stored in ``var/bench/mobile-runs.ndjson``, from which an interrupted benchmark
continues. A quick run has no precedence over other programs. The exit status is 1 where html on the longest path saves
less than 60 %; other lessons that do not hold are only reported. The benchmark needs root or user namespaces, and
nginx.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.mobile.cells import (
    CONTEST_REPEATS,
    CUT_S,
    DATA_SETS,
    IO_BLOCKS_BYTES,
    IO_CONCURRENCY,
    LONGEST,
    PATHS,
    QUICK_CUT_S,
    QUICK_DATA_SETS,
    SMOKE_CONTEST_REPEATS,
    SMOKE_CUT_S,
    SMOKE_DATA_SETS,
    SMOKE_GRID,
    FileSet,
    Setting,
    make_grid,
)
from benchmarks.mobile.lessons import Contest, RepeatedRuns, choose_contests
from benchmarks.mobile.pricing import load_published_constants, price_energy_j
from benchmarks.mobile.reporting import AT_LEAST, RADIOS, MobileRuns, judge_all_lessons, make_results, summarise
from benchmarks.mobile.running import PARTS, PhonePath, set_up_phone_path
from benchmarks.support.command import run_command
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import ROOT, judge_summary, make_parser, open_scratch_folder, write_report
from benchmarks.support.sources import Sources
from benchmarks.testbed.permissions import become_root_of_a_user_namespace, require_permission
from benchmarks.wan.runs import Row, RunLog

VAR = ROOT / "var" / "bench"


def main(argv: Sequence[str]) -> int:
    """Measure, price, print the lessons and write ``var/bench/mobile.json``."""
    parser = _build_parser()
    options = parser.parse_args(argv)
    available = SMOKE_DATA_SETS if options.smoke else QUICK_DATA_SETS if options.quick else DATA_SETS
    if options.sets and not set(options.sets) <= set(available):
        parser.error(f"a quick run has only {' and '.join(available)}")
    become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.mobile", *argv])
    return run_command("mobile", partial(_run, options), is_resumable=True)


def _build_parser() -> argparse.ArgumentParser:
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
        open_scratch_folder("mobile", VAR, is_removed=options.smoke or options.quick) as folder,
    ):
        measured = _measure(options, RunLog(folder / "mobile-runs.ndjson"), sources, prioritised=prioritised)
    summary = summarise(measured)
    write_report(
        "mobile",
        quick=options.quick,
        smoke=options.smoke,
        results=make_results(measured),
        summary=summary,
        started_at=started_at,
    )
    for radio in RADIOS:
        runs = "" if radio == RADIOS[0] else f"; the runs are those of {RADIOS[0]}"
        sys.stdout.write(f"\n{radio}, Galaxy S5, screen on; energy is modelled, per 100 MB{runs}:\n")
        for lesson in judge_all_lessons(measured, radio):
            sys.stdout.write(f"  {lesson.format_line()}\n")
    is_complete = not (options.paths or options.sets)
    return 0 if options.quick else judge_summary(summary, {}, AT_LEAST, is_complete=is_complete)


def _measure(options: argparse.Namespace, log: RunLog, sources: Sources, *, prioritised: bool) -> MobileRuns:
    sets = SMOKE_DATA_SETS if options.smoke else QUICK_DATA_SETS if options.quick else DATA_SETS
    cut_s = options.cut or (SMOKE_CUT_S if options.smoke else QUICK_CUT_S if options.quick else CUT_S)
    repeats = SMOKE_CONTEST_REPEATS if options.smoke else CONTEST_REPEATS
    paths = options.paths or ([LONGEST] if options.quick else list(PATHS))
    grounds: dict[str, Sequence[Row]] = {}
    repeated: dict[str, RepeatedRuns] = {}
    blocks: list[Row] = []
    for path in paths:
        for name, files in sets.items():
            if options.sets and name not in options.sets:
                continue
            where = f"{path}/{name}"
            sizes = files.draw_sizes(options.seed)
            with set_up_phone_path(
                PATHS[path],
                where,
                sizes,
                seed=options.seed,
                folder=options.scratch,
                cut_s=cut_s,
                prioritised=prioritised,
                sources=sources,
                repeats_disturbed=not options.smoke,
            ) as phone_path:
                grounds[where] = [phone_path.run(setting, log) for setting in _choose_settings(files, options)]
                repeated[where] = _repeat_contests(phone_path, name, grounds[where], log, repeats)
                if not blocks:
                    step = len(IO_BLOCKS_BYTES) - 1 if options.smoke else 2 if options.quick else 1
                    block_settings = [Setting(IO_CONCURRENCY, 1, size) for size in IO_BLOCKS_BYTES[::step]]
                    blocks = [phone_path.run(setting, log) for setting in block_settings]
    return MobileRuns(grounds=grounds, repeated=repeated, blocks=blocks)


def _choose_settings(files: FileSet, options: argparse.Namespace) -> Sequence[Setting]:
    return [Setting(*setting) for setting in SMOKE_GRID] if options.smoke else make_grid(files, quick=options.quick)


def _repeat_contests(
    phone_path: PhonePath, data_set: str, rows: Sequence[Row], log: RunLog, repeats: int
) -> RepeatedRuns:
    """Run both settings of each contest alternately, so that slow times of the machine affect both."""
    found: dict[Contest, tuple[list[Row], list[Row]]] = {}
    for contest, pair in choose_contests(
        data_set, rows, partial(price_energy_j, constants=load_published_constants(RADIOS[0]))
    ).items():
        found[contest] = ([], [])
        for repeat in range(1, repeats + 1):
            for row, runs in zip(pair, found[contest], strict=True):
                runs.append(phone_path.run(Setting(row["concurrency"], row["parallelism"]), log, repeat))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
