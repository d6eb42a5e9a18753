"""Compare the online controller with other tuners on real TCP: paths that step, SLAs, fairness, a competitor.

``--data`` adds recorded traces as the path: files with a transfer's throughput in successive intervals a row.

Each case × tuner × repeat is a cell: the project's own engine over an emulated path, driven by one tuner. Finished
cells are stored in ``benchmarks/records/tuning.ndjson`` with digests of the measured sources, from which an interrupted
run continues; quick ones are measured each time. All tuners' first repeats come first: a complete table after three
hours, then the spread of the controller. The benchmark needs root (or user namespaces) and nginx.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.support.command import run_command
from benchmarks.support.engine_files import DOWNLOADING
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import (
    ROOT,
    Value,
    format_table,
    judge_summary,
    make_parser,
    open_scratch_folder,
    write_report,
)
from benchmarks.support.sources import digest_parts
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.permissions import become_root_of_a_user_namespace, require_permission
from benchmarks.tuning import history
from benchmarks.tuning.case_run import CaseRunner
from benchmarks.tuning.cases import ALL_CASES, BASE, QUICK_CASES, Case, SlaCase, TraceCase
from benchmarks.tuning.oracle import (
    LATTICE,
    QUICK_LATTICE,
    compute_mean_bps,
    find_best_setting,
    measure_ranking_bps,
    run_steady,
)
from benchmarks.tuning.smoke import run_smallest
from benchmarks.tuning.summary import (
    AT_LEAST,
    AT_LEAST_WITH_TRACES,
    AT_MOST,
    compare_tuners,
    make_result,
    make_timeline,
    summarise,
)
from benchmarks.tuning.traces import make_trace_cases
from benchmarks.tuning.transfers import set_up_transfers
from benchmarks.tuning.tuners import OURS, VARIANTS
from benchmarks.wan.runs import Row, RunLog
from tradewind.errors import InvalidValue

RECORDS = ROOT / "benchmarks" / "records"
HISTORY = RECORDS / "tuning-history.ndjson"
VAR = ROOT / "var" / "bench"
REPEATS, VARIANT_REPEATS = 3, 1
ORACLE_TICKS, QUICK_ORACLE_TICKS = 6, 3
QUICK_VARIANT, QUICK_SLA_VARIANT = "falcon", "slaee"
TRACES = "trace"
"""Name of all cases of ``--data`` together."""

_PARTS = {
    "engine": (*DOWNLOADING, "benchmarks/tuning/driver.py"),
    "controller": (
        *(
            "core/tradewind/tuning",
            "core/tradewind/learning",
            "core/tradewind/model.py",
            "core/tradewind/tiers/selection.py",
            "core/tradewind/tiers/setting_table.py",
        ),
        "benchmarks/tuning/tuners.py",
    ),
    "reference": (
        "core/tradewind/tuning/reference",
        "core/tradewind/heuristics.py",
        "benchmarks/tuning/falcon_bayes.py",
        "benchmarks/tuning/tuners.py",
    ),
    "testbed": (
        "benchmarks/support/precedence.py",
        "benchmarks/support/wakefulness.py",
        "benchmarks/testbed/link",
        *(
            f"benchmarks/testbed/{name}.py"
            for name in ("cross_traffic", "emulator", "namespaces", "origins", "path_spec", "soundness", "testbed")
        ),
    ),
    "cases": tuple(f"benchmarks/tuning/{name}.py" for name in ("cases", "case_run", "metrics", "task", "transfers")),
    "traces": ("benchmarks/testbed/schedule.py", "benchmarks/testbed/traces.py", "benchmarks/tuning/traces.py"),
    "oracle": ("benchmarks/tuning/oracle.py",),
}


def main(argv: Sequence[str]) -> int:
    """Measure the requested cells, print all that are finished and write ``var/bench/tuning.json``."""
    options = _build_parser().parse_args(argv)
    become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.tuning", *argv])
    return run_command("tuning", partial(_run, options), is_resumable=True)


def _build_parser() -> argparse.ArgumentParser:
    parser = make_parser(__doc__.partition("\n")[0])
    names = [*(case.name for case in ALL_CASES), TRACES]
    parser.add_argument("--case", choices=names, nargs="+", help="only these")
    parser.add_argument("--tuner", choices=[OURS, *VARIANTS], nargs="+", help="only these")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="of the controller's cells; one when quick")
    parser.add_argument("--variant-repeats", type=int, default=VARIANT_REPEATS, help="of every other tuner's cells")
    parser.add_argument("--report", action="store_true", help="measure nothing, only print what is finished")
    parser.add_argument("--timelines", action="store_true", help="print ours tick by tick")
    parser.add_argument("--scratch", type=Path, default=VAR, help="where files are served from and received")
    return parser


def _run(options: argparse.Namespace) -> int:
    started_at = datetime.now(UTC)
    if options.smoke:
        require_permission()
        with open_scratch_folder("tuning", options.scratch, is_removed=True) as folder:
            _report(run_smallest(RunLog(HISTORY), folder, seed=options.seed), options, started_at)
        return 0
    with open_scratch_folder("tuning", VAR, is_removed=options.quick) as folder:
        records = RunLog(folder / "tuning-quick.ndjson" if options.quick else RECORDS / "tuning.ndjson")
        cells = _Cells(records, RunLog(folder / "tuning-oracles.ndjson"), options)
        if not options.report:
            require_permission()
            options.scratch.mkdir(parents=True, exist_ok=True)
            with take_precedence() as prioritised:
                cells.measure_missing(prioritised=prioritised)
            records.rewrite()
        rows = cells.list_finished()
    if not rows:
        raise InvalidValue("cells", "none is finished yet for these sources")
    if options.timelines:
        for row in (row for row in rows if row["tuner"] == OURS):
            sys.stdout.write(f"{row['case']}, repeat {row['repeat']}\n{format_table(make_timeline(row))}\n\n")
    found = _report(rows, options, started_at)
    sys.stdout.write(f"\n{format_table(compare_tuners(rows))}\n")
    is_complete = options.case is None and options.tuner is None
    at_least = AT_LEAST_WITH_TRACES if options.data else AT_LEAST
    return 0 if options.quick else judge_summary(found, AT_MOST, at_least, is_complete=is_complete)


def _report(rows: Sequence[Row], options: argparse.Namespace, started_at: datetime) -> Mapping[str, Value]:
    """Write the report; return its summary."""
    found = summarise(rows)
    write_report(
        "tuning",
        quick=options.quick,
        smoke=options.smoke,
        results=[make_result(row) for row in rows],
        summary=found,
        started_at=started_at,
    )
    return found


def is_requested(case: Case, names: Sequence[str]) -> bool:
    """Return whether the command line names this case, or all traces where it is one."""
    return case.name in names or (isinstance(case, TraceCase) and TRACES in names)


class _Cells:
    """Cases × tuners × repeats, measured where they are missing."""

    def __init__(self, records: RunLog, oracles: RunLog, options: argparse.Namespace) -> None:
        self._records, self._oracles, self._options = records, oracles, options
        self._cases: Sequence[Case] = (
            QUICK_CASES if options.quick else (*ALL_CASES, *make_trace_cases(options.data, seed=options.seed))
        )
        self._hashes = digest_parts(_PARTS)

    def measure_missing(self, *, prioritised: bool) -> None:
        """Measure one tuner after the other, so that slow times of the machine affect all equally."""
        missing = [cell for cell in self._list_cells() if self._records.find(self._build_key(*cell)) is None]
        if not missing:
            return
        runner = self._make_runner(prioritised=prioritised)
        for number, (case, tuner, repeat) in enumerate(missing, start=1):
            row = runner.run(case, tuner)
            stored = self._records.add(
                self._build_key(case, tuner, repeat), {"case": case.name, "tuner": tuner, "repeat": repeat, **row}
            )
            shown = {name: value for name, value in make_result(stored).items() if isinstance(value, float)}
            figures = ", ".join(f"{name} {value:.3g}" for name, value in shown.items())
            sys.stderr.write(f"  {number}/{len(missing)} {case.name} {tuner}: {figures}\n")

    def list_finished(self) -> list[Row]:
        found = (self._records.find(self._build_key(*cell)) for cell in self._list_cells())
        return [row for row in found if row is not None]

    def _list_cells(self) -> list[tuple[Case, str, int]]:
        options = self._options
        return [
            (case, tuner, repeat)
            for repeat in range(1 if options.quick else options.repeats)
            for case in self._cases
            if options.case is None or is_requested(case, options.case)
            for tuner in self._find_tuners(case)
            if tuner == OURS or repeat < options.variant_repeats
            if options.tuner is None or tuner in options.tuner
        ]

    def _find_tuners(self, case: Case) -> tuple[str, ...]:
        if not self._options.quick:
            return (OURS, *VARIANTS)
        return (OURS, QUICK_SLA_VARIANT if isinstance(case, SlaCase) else QUICK_VARIANT)

    def _build_key(self, case: Case, tuner: str, repeat: int) -> str:
        parts = ["engine", "testbed", "cases", "oracle", "controller" if tuner == OURS else "reference"]
        if isinstance(case, TraceCase):
            parts.append("traces")
        return "; ".join([f"{case}", tuner, f"repeat {repeat}", *(self._hashes[part] for part in parts)])

    def _make_runner(self, *, prioritised: bool) -> CaseRunner:
        options = self._options
        log = RunLog(HISTORY)
        rows = history.measure_history(BASE, log, seed=options.seed, folder=options.scratch)
        learned = history.fit_table(BASE, rows, seed=options.seed)
        return CaseRunner(
            table=history.write_table(learned, VAR),
            folder=options.scratch,
            seed=options.seed,
            oracle_bps=partial(self._find_oracle_bps, prioritised),
            prioritised=prioritised,
        )

    def _find_oracle_bps(self, prioritised: bool, path: PathSpec) -> float:
        """Return the throughput of the best static setting on this path, in a run of its own, bit/s."""
        options = self._options
        lattice = QUICK_LATTICE if options.quick else LATTICE
        ticks = QUICK_ORACLE_TICKS if options.quick else ORACLE_TICKS
        parts = [self._hashes[part] for part in ("engine", "testbed", "oracle")]
        key = "; ".join([str(path), str(lattice), f"{ticks} ticks", *parts])
        if (known := self._oracles.find(key)) is None:
            with set_up_transfers(path, seed=options.seed, folder=options.scratch, prioritised=prioritised) as testbed:
                setting = find_best_setting(lattice, lambda setting: measure_ranking_bps(testbed, setting))
                rows = run_steady(testbed, setting, ticks)
                testbed.require_sound()
            known = self._oracles.add(
                key, {"path": str(path), "setting": setting, "throughput_bps": compute_mean_bps(rows)}
            )
            sys.stderr.write(f"  oracle of {path}: {setting}, {known['throughput_bps'] / 1e6:.1f} Mbit/s\n")
        return float(known["throughput_bps"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
