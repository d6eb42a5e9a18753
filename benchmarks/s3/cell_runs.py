"""Runs of a cell that are looked up before they are made: compared ones, lessons, and those of the search."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.s3.cell_bench import LESSONS as LESSON_FILES
from benchmarks.s3.cell_bench import CellBench, Contender
from benchmarks.s3.tools import OURS, STORE_TOOLS, StoreTool
from benchmarks.support.direction import Direction
from benchmarks.support.report import ROOT
from benchmarks.support.sources import digest_parts, digest_values
from benchmarks.testbed.measured_run import Judge, MeasuredRun, count_bytes_in
from benchmarks.testbed.path_spec import PathCounters
from benchmarks.testbed.soundness import find_disturbance, repeat_until_undisturbed
from benchmarks.wan.arena import store_spool
from benchmarks.wan.cell_runner import START_PATIENCE_S
from benchmarks.wan.cells import compute_warm_duration_s
from benchmarks.wan.lessons import LESSON_REPEATS, LESSONS, compute_lesson_cut_s
from benchmarks.wan.runs import PARTS, Row, RunLog
from benchmarks.wan.search import FIRST_BYTES, SearchRun, find_leading_settings
from tradewind.parameters import Parameters

LOGS = ROOT / "var" / "bench" / "s3-logs"
SEARCH_CUT_S = 8.0
_SOURCES = {
    "ours": (*PARTS["controller"], "clients/python/tradewind_agent/stores"),
    "testbed": (*PARTS["testbed"], "benchmarks/s3"),
}


class CellRuns:
    """Runs of one cell in one direction.

    ``cut_s`` : limit of the compared runs.
    """

    def __init__(self, bench: CellBench, direction: Direction, log: RunLog, cut_s: float) -> None:
        self._bench, self._direction, self._log, self._cut_s = bench, direction, log, cut_s
        self._digests = digest_parts(_SOURCES)

    def run(self, contender: Contender, role: str) -> Row:
        """Return a compared run of a contender."""
        make = partial(self._bench.run, contender, self._direction, cut_s=self._cut_s)
        return self._find_or_run(contender, role, lambda: (make(), {}))

    def take_lessons(self) -> Sequence[Path]:
        """Make short transfers of other files at many settings; return their logs, of those that finished."""
        lesson = Contender(name="lesson", tool=STORE_TOOLS[0])
        folder = LOGS / digest_values(self._build_key(lesson, "lessons"), list(LESSONS))
        cut_s = compute_lesson_cut_s(self._bench.cell.path)
        logs = []
        for repeat in range(LESSON_REPEATS):
            for number, setting in enumerate(LESSONS):
                log = folder / f"{repeat}-{number:02d}.ndjson"
                contender, role = replace(lesson, setting=setting), f"lesson {repeat}"
                if not log.exists():
                    self._log.forget(self._build_key(contender, role))
                row = self._find_or_run(contender, role, partial(self._take_lesson, contender, cut_s, log))
                logs += [log] if not row["is_cut"] else []
        return logs

    def _take_lesson(self, contender: Contender, cut_s: float, log: Path) -> tuple[MeasuredRun, Row]:
        run = self._bench.run(
            contender, self._direction, cut_s=cut_s, files=LESSON_FILES, on_end=lambda home: store_spool(home, log)
        )
        return run, {}

    def find_best_settings(self) -> list[Contender]:
        """Return each tool that has settings at the best of them, by brute force."""
        found = []
        for tool in STORE_TOOLS:
            if tool.axes:
                leaders = find_leading_settings(tool.axes, partial(self._score, tool))
                contenders = [Contender(name=f"best {tool.name}", tool=tool, setting=each) for each in leaders]
                found.append(max(contenders, key=lambda each: float(self.run(each, "final")["throughput_bps"])))
        return found

    def _score(self, tool: StoreTool, setting: Parameters) -> float:
        """Return the throughput of a setting, bit/s, by a short run; one that cannot become the best is given up."""
        path = self._bench.cell.path
        cut_s = compute_warm_duration_s(path, SEARCH_CUT_S)
        contender = Contender(name=tool.name, tool=tool, setting=setting)
        rows = [row for row in self._log.list_rows() if row.get("searched") == self._name_search(tool)]
        best_bps = max((float(row["score_bps"]) for row in rows), default=0.0)

        def make() -> tuple[MeasuredRun, Row]:
            search_run = SearchRun(rate_bps=path.rate_bps, cut_s=cut_s, best_bps=best_bps)
            run = self._bench.run(
                contender,
                self._direction,
                cut_s=cut_s + START_PATIENCE_S,
                make_judge=partial(self._make_judge, search_run),
            )
            return run, {
                "score_bps": search_run.score_bps(run.duration_s, run.bytes_done),
                "searched": self._name_search(tool),
            }

        return float(self._find_or_run(contender, "search", make)["score_bps"])

    def _name_search(self, tool: StoreTool) -> str:
        digests = f"{self._digests['testbed']} {self._digests['ours']}"
        return f"{self._bench.cell.name} {self._direction} {tool.name} {self._bench.files} {digests}"

    def _make_judge(self, search_run: SearchRun, target: Path) -> Judge:
        """Return a judge that ends a run of the search.

        What a store has received of a file in parts is in no file yet, so that uploads are judged by what the link
        carries.
        """
        is_up = self._direction is Direction.UP

        def is_enough(age_s: float, carried: PathCounters) -> bool:
            carried_bytes = carried.up.bytes if is_up else carried.down.bytes
            if not search_run.has_started:
                with suppress(FileNotFoundError):  # a tool may rename a file between two looks
                    done_bytes = carried_bytes if is_up else count_bytes_in(target)
                    if done_bytes >= FIRST_BYTES:
                        search_run.start(age_s, carried_bytes, done_bytes)
            return search_run.is_finished(age_s, carried_bytes)

        return is_enough

    def _find_or_run(self, contender: Contender, role: str, make: Callable[[], tuple[MeasuredRun, Row]]) -> Row:
        key = self._build_key(contender, role)
        if (row := self._log.find(key)) is not None:
            return row
        bench = self._bench

        def find_fault(made: tuple[MeasuredRun, Row]) -> str | None:
            run, _ = made
            return find_disturbance(run.path, run.share, rtt_s=bench.cell.path.rtt_s, prioritised=bench.is_prioritised)

        name = f"{bench.cell.name}, {self._direction}, {contender.name}"
        run, more = repeat_until_undisturbed(name, make, find_fault)
        row = self._log.add(
            key,
            {
                "throughput_bps": run.throughput_bps,
                "cpu_s": run.cpu_s,
                "j_per_gb": run.compute_per_gb(run.compute_modelled_energy_j()),
                "is_cut": run.cut,
                **more,
            },
        )
        rate_bps = float(row["score_bps"] if "score_bps" in row else row["throughput_bps"])
        sys.stderr.write(f"  {name} {role} {_describe_setting(contender)}: {rate_bps / 1e6:.1f} Mbit/s\n")
        return row

    def _build_key(self, contender: Contender, role: str) -> str:
        """Return what the figures of a run depend on."""
        bench, digests = self._bench, self._digests
        sources = digests["testbed"] + (digests["ours"] if contender.tool.name == OURS else "")
        path = f"{bench.cell.name}; {bench.cell.path}; {self._direction}"
        chosen = f"{contender.name}; {_describe_setting(contender)}; {contender.learned}"
        return f"{path}; {chosen}; {role}; {bench.files}; cut {self._cut_s:g}; {sources}"


def _describe_setting(contender: Contender) -> str:
    return "" if contender.setting is None else str(contender.setting.list_known())
