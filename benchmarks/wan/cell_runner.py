"""Make single runs of a cell: look them up first, and repeat them where the machine was too busy."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.support.direction import Direction
from benchmarks.testbed.measured_run import Judge, MeasuredRun, count_bytes_in
from benchmarks.testbed.path_spec import PathCounters
from benchmarks.testbed.peers import Peer
from benchmarks.testbed.soundness import find_disturbance, repeat_until_undisturbed
from benchmarks.wan.arena import Arena, Contender
from benchmarks.wan.cell_row import CellMeasurements, Plan, make_run_row
from benchmarks.wan.cells import compute_warm_duration_s
from benchmarks.wan.lessons import LESSON_REPEATS, compute_lesson_cut_s, list_lessons
from benchmarks.wan.runs import UPLOADS, Row, RunLog
from benchmarks.wan.search import FIRST_BYTES, SearchRun
from tradewind.parameters import Parameters

LESSON, SEARCH, FINAL = "lesson", "search", "final"
"""Roles of runs; a lesson's role is followed by its round."""

START_PATIENCE_S = 30.0
"""How long a run of the search may take until data begin to come."""


def build_static_contender(peer: Peer, setting: Parameters) -> Contender:
    """Return a contender that is a tool at one setting."""
    return Contender(name=peer.name, peer=peer, setting=setting)


def make_judge(search_run: SearchRun, direction: Direction, destination: Path) -> Judge:
    """Return a judge that ends a run once it has been watched for long enough since files began to come.

    ``destination`` : the folder where they come to be, at that end of the path.
    """

    def is_enough(age_s: float, carried: PathCounters) -> bool:
        carried_bytes = carried.get_way(direction).bytes
        if not search_run.has_started and (done_bytes := count_bytes_in(destination)) >= FIRST_BYTES:
            search_run.start(age_s, carried_bytes, done_bytes)
        return search_run.is_finished(age_s, carried_bytes)

    return is_enough


class CellRunner:
    """Runs of one cell that are looked up before they are made."""

    def __init__(self, arena: Arena, log: RunLog, plan: Plan) -> None:
        self._arena, self._log, self._plan = arena, log, plan
        self.measured = CellMeasurements()

    def take_lessons(self) -> None:
        """Make the history that the release is learned from; only transfers that finish before the cut are in it."""
        folder, cut_s = self._arena.knowledge.own, compute_lesson_cut_s(self._arena.cell.path)
        for round_number in range(LESSON_REPEATS):
            for number, setting in enumerate(list_lessons(self._arena.cell)):
                log = folder / f"{round_number}-{number:02d}.ndjson"
                contender = build_static_contender(self._arena.cell.engine, setting)
                role = f"{LESSON} {round_number}"
                if not log.exists():
                    self._log.forget(self._build_key(contender, role, cut_s))
                row = self._find_or_run(contender, role, cut_s, partial(self._run_lesson, log, cut_s))
                self.measured.lessons += row["exit_code"] == 0

    def _run_lesson(self, log: Path, cut_s: float, contender: Contender) -> tuple[MeasuredRun, Row]:
        return self._arena.run_lesson(contender, cut_s=cut_s, log=log), {}

    def score(self, peer: Peer, least_bps: float, setting: Parameters) -> float:
        """Return the throughput of a static setting, bit/s; a setting that cannot become the tool's best is given up
        early.

        ``least_bps`` : a setting for which the link carries less is of no interest.
        """
        rows = self.measured.searched.setdefault(peer.name, [])
        cut_s = compute_warm_duration_s(self._arena.cell.path, self._plan.search_cut_s)
        best_bps = max((row["score_bps"] for row in rows), default=0.0)

        def make(contender: Contender) -> tuple[MeasuredRun, Row]:
            cell = self._arena.cell
            search_run = SearchRun(rate_bps=cell.path.rate_bps, cut_s=cut_s, best_bps=best_bps, least_bps=least_bps)
            judge = partial(make_judge, search_run, cell.direction)
            run = self._arena.run(contender, cut_s=cut_s + START_PATIENCE_S, make_judge=judge)
            score_bps = search_run.score_bps(run.duration_s, run.bytes_done)
            return run, {
                "score_bps": score_bps,
                "carried_bps": search_run.carried_bps,
                "given_up": search_run.is_hopeless,
            }

        row = self._find_or_run(build_static_contender(peer, setting), SEARCH, cut_s, make)
        if row not in rows:
            rows.append(row)
        return float(row["score_bps"])

    def find_carried_bps(self, peer: Peer) -> float:
        """Return the most that the link has carried for a peer at any of its settings."""
        return max((float(row["carried_bps"]) for row in self.measured.searched.get(peer.name, [])), default=0.0)

    def find_fastest(self, peer: Peer, settings: Sequence[Parameters], cut_s: float) -> Parameters:
        """Return the setting that is fastest over a complete run."""
        return max(
            settings,
            key=lambda setting: float(self.run(build_static_contender(peer, setting), FINAL, cut_s)["throughput_bps"]),
        )

    def run(self, contender: Contender, role: str, cut_s: float) -> Row:
        return self._find_or_run(
            contender, role, cut_s, lambda contender: (self._arena.run(contender, cut_s=cut_s), {})
        )

    def _find_or_run(
        self, contender: Contender, role: str, cut_s: float, make: Callable[[Contender], tuple[MeasuredRun, Row]]
    ) -> Row:
        key = self._build_key(contender, role, cut_s)
        if (row := self._log.find(key)) is not None:
            return row
        run, more = self._run_until_sound(make, contender)
        row = self._log.add(key, make_run_row(self._arena, contender, role, run) | more)
        known = contender.setting.list_known() if contender.setting is not None else ""
        what = f"{self._arena.cell.name} {role} {contender.name} {known}"
        mbps = float(row["score_bps"] if "score_bps" in row else row["throughput_bps"]) / 1e6
        given_up = f", given up after {run.duration_s:.1f} s" if row.get("given_up") else ""
        sys.stderr.write(f"  {what}: {mbps:.1f} Mbit/s{given_up}\n")
        return row

    def _run_until_sound(
        self, make: Callable[[Contender], tuple[MeasuredRun, Row]], contender: Contender
    ) -> tuple[MeasuredRun, Row]:
        arena = self._arena

        def find_fault(made: tuple[MeasuredRun, Row]) -> str | None:
            return find_disturbance(
                made[0].path, made[0].share, rtt_s=arena.cell.path.rtt_s, prioritised=arena.prioritised
            )

        return repeat_until_undisturbed(f"{arena.cell.name}, {contender.name}", lambda: make(contender), find_fault)

    def _build_key(self, contender: Contender, role: str, cut_s: float) -> str:
        """Return what a run's figures depend on: a peer's not on our engine, a static setting's not on its chooser."""
        hashes, arena = self._plan.hashes, self._arena
        parts = [
            arena.cell.name,
            str(arena.cell.path),
            role,
            contender.name,
            arena.knowledge.own.name if role.startswith(LESSON) else f"files {arena.files_digest}",
            f"{cut_s:g} s",
            f"seed {self._plan.seed}",
            hashes["testbed"],
        ]
        if role == SEARCH:
            parts.append(hashes["harness"])
        if contender.setting is not None:
            parts.append(" ".join(f"{name}={value}" for name, value in contender.setting.list_known().items()))
        if arena.cell.direction is Direction.UP:
            parts.append(hashes[UPLOADS])
        if contender.peer is arena.cell.engine:
            parts.append(hashes["engine"] if contender.setting is not None else hashes["controller"])
        if contender.learned:
            parts.append(f"learned {contender.learned}")
        return "; ".join(parts)
