"""Files, streams and I/O blocks over a phone's paths beside one file and one stream, and what the models say it takes.

Transfers are real, over emulated paths of 59, 115 and 290 ms with real TCP; energy is a model's, of a Galaxy S5 with
its screen on, and is told at −50 % and +50 % of each group of its constants. The mobile paper's lessons are judged,
its figures quoted: at each of those constants, and where one setting has to beat another by runs of both made afresh.
No run counts that other programs disturbed. Runs are kept in ``var/bench/mobile-runs.ndjson``: an interrupted
benchmark goes on where it was. A quick one does not go ahead of other programs. Needs root or user namespaces, and
nginx.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from math import isfinite, nan
from pathlib import Path

from benchmarks.command import told
from benchmarks.mobile.cells import (
    CUT_S,
    DATA_SETS,
    IO_BLOCKS_BYTES,
    IO_CONCURRENCY,
    LONGEST,
    PATHS,
    QUICK_CUT_S,
    QUICK_DATA_SETS,
    TURNS,
    Setting,
    grid,
)
from benchmarks.mobile.lessons import Contest, Fresh, Verdict, contests, saving_afresh, verdicts
from benchmarks.mobile.pricing import FACTORS, Constants, as_published, energy_j, split_of, tail_saving, varied
from benchmarks.mobile.running import Ground, ground
from benchmarks.precedence import precedence
from benchmarks.report import ROOT, Value, arguments, write
from benchmarks.testbed.permissions import become_root_of_a_user_namespace, require_permission
from benchmarks.wan.runs import Row, RunLog
from tradewind.units import throughput_bps

VAR = ROOT / "var" / "bench"
RADIOS = ("wifi", "lte")


def main(argv: Sequence[str]) -> int:
    """Measure, price, print the lessons and write ``var/bench/mobile.json``."""
    options = _parser().parse_args(argv)
    become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.mobile", *argv])
    return told("mobile", partial(_run, options), goes_on=True)


def _parser() -> argparse.ArgumentParser:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--paths", nargs="+", choices=tuple(PATHS), help="only these")
    parser.add_argument("--sets", nargs="+", choices=tuple(DATA_SETS), help="only these data sets")
    parser.add_argument("--cut", type=float, metavar="SECONDS", help="stop each run then; it is scored by its bytes")
    parser.add_argument("--scratch", type=Path, default=VAR, help="where files are served from and received")
    return parser


def _run(options: argparse.Namespace) -> int:
    started_at = datetime.now(UTC)
    require_permission()
    options.scratch.mkdir(parents=True, exist_ok=True)
    with nullcontext(False) if options.quick else precedence() as ahead:
        measured = _measured(options, ahead=ahead)
    grounds = measured.grounds
    results = [_result(row, radio) for rows in grounds.values() for row in rows for radio in RADIOS]
    write("mobile", quick=options.quick, results=results, summary=_summary(measured), started_at=started_at)
    for radio in RADIOS:
        sys.stdout.write(f"\n{radio}, Galaxy S5, screen on; energy is modelled, per 100 MB:\n")
        others = [_judged(measured, each) for factor in FACTORS for each in varied(radio, factor)]
        for number, verdict in enumerate(_judged(measured, as_published(radio))):
            held = sum(each[number].held for each in others)
            sys.stdout.write(f"  {verdict.line()}; held at {held} of {len(others)} other constants\n")
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """``grounds`` : the grids; ``fresh`` : settings run again against one another; ``blocks`` : other I/O blocks."""

    grounds: Mapping[str, Sequence[Row]]
    fresh: Mapping[str, Fresh]
    blocks: Sequence[Row]


def _judged(measured: Measured, constants: Constants) -> list[Verdict]:
    return list(verdicts(measured.grounds, measured.fresh, partial(energy_j, constants=constants)))


def _measured(options: argparse.Namespace, *, ahead: bool) -> Measured:
    log = RunLog(VAR / "mobile-runs.ndjson")
    sets = QUICK_DATA_SETS if options.quick else DATA_SETS
    cut_s = options.cut or (QUICK_CUT_S if options.quick else CUT_S)
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
                PATHS[path], where, sizes, seed=options.seed, folder=options.scratch, cut_s=cut_s, ahead=ahead
            ) as standing:
                grounds[where] = [standing.run(setting, log) for setting in grid(files, quick=options.quick)]
                fresh[where] = _afresh(standing, name, grounds[where], log)
                if not blocks:
                    asked = [Setting(IO_CONCURRENCY, 1, size) for size in IO_BLOCKS_BYTES[:: 2 if options.quick else 1]]
                    blocks = [standing.run(setting, log) for setting in asked]
    return Measured(grounds=grounds, fresh=fresh, blocks=blocks)


def _afresh(standing: Ground, data_set: str, rows: Sequence[Row], log: RunLog) -> Fresh:
    """Both settings of each contest run by turns, so that slow times of the machine hit both."""
    found: dict[Contest, tuple[list[Row], list[Row]]] = {}
    for contest, pair in contests(data_set, rows, partial(energy_j, constants=as_published(RADIOS[0]))).items():
        found[contest] = ([], [])
        for turn in range(1, TURNS + 1):
            for row, so_far in zip(pair, found[contest], strict=True):
                so_far.append(standing.run(Setting(row["concurrency"], row["parallelism"]), log, turn))
    return found


def _result(row: Row, radio: str) -> dict[str, Value]:
    shown: dict[str, Value] = {
        "case": f"{row['ground']} cc {row['concurrency']} p {row['parallelism']}",
        "radio": radio,
        "mbps": throughput_bps(row["bytes_done"], row["duration_s"]) / 1e6,
        "cut": row["cut"],
    }
    if row["bytes_done"]:
        split = split_of(row, as_published(radio))
        shown |= {"base_j": split.base_j, "dynamic_j": split.dynamic_j, "tail_j": split.tail_j}
    return shown


def _summary(measured: Measured) -> dict[str, Value]:
    """The figures as the profiles are, and the worst of them with each group of constants at half and at half more."""
    grounds, blocks = measured.grounds, measured.blocks
    rows = [row for each in grounds.values() for row in each]
    summary: dict[str, Value] = {"energy_is": "modelled", "runs": len(rows) + len(blocks)}
    for name, figure in (
        ("energy_saving_best", partial(_best_saving, measured.fresh)),
        ("io_block_effect", partial(_block_effect, blocks)),
        ("tail_saving", partial(tail_saving, rows)),
    ):
        radio = "lte" if name == "tail_saving" else "wifi"
        summary[name] = _finite(figure(as_published(radio)))
        for factor in FACTORS:
            label = f"{name}_{'minus' if factor < 1 else 'plus'}_50"
            worst = max if name == "io_block_effect" else min
            summary[label] = _finite(worst(figure(each) for each in varied(radio, factor)))
    for radio in RADIOS:
        summary[f"lessons_held_{radio}"] = _held(measured, [as_published(radio)])
        for factor in FACTORS:
            label = f"lessons_held_{radio}_{'minus' if factor < 1 else 'plus'}_50"
            summary[label] = _held(measured, list(varied(radio, factor)))
    return summary


def _held(measured: Measured, constants: Sequence[Constants]) -> str:
    """How many lessons hold at each of these constants."""
    judged = [_judged(measured, each) for each in constants]
    return f"{sum(all(each.held for each in one) for one in zip(*judged, strict=True))} of {len(judged[0])}"


def _best_saving(fresh: Mapping[str, Fresh], constants: Constants) -> float:
    """The most that a setting saves against one file and one stream; by runs of both made afresh."""
    pairs = [each[Contest.SAVING] for each in fresh.values() if Contest.SAVING in each]
    return max((saving_afresh(pair, partial(energy_j, constants=constants)) for pair in pairs), default=nan)


def _block_effect(blocks: Sequence[Row], constants: Constants) -> float:
    """How much more the worst I/O block takes than the best."""
    energies_j = [energy_j(row, constants) for row in blocks]
    return max(energies_j) / min(energies_j) - 1


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
