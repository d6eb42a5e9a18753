"""Single runs of a cell: looked up before they are made, made once more where the machine was too busy."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from benchmarks.testbed.measured_run import Judge, MeasuredRun, bytes_in
from benchmarks.testbed.path_spec import PathCounters
from benchmarks.testbed.peers import TRADEWIND, Peer
from benchmarks.testbed.soundness import complaint, undisturbed
from benchmarks.wan.arena import Arena, Contender
from benchmarks.wan.cell_row import Measured, Plan, run_row
from benchmarks.wan.cells import settled_s
from benchmarks.wan.lessons import LESSON_REPEATS, LESSONS, lesson_cut_s
from benchmarks.wan.runs import Row, RunLog
from benchmarks.wan.search import FIRST_BYTES, Heat
from tradewind.parameters import Parameters

LESSON, SEARCH, FINAL = "lesson", "search", "final"
"""Roles of runs; one of a lesson is followed by its turn."""

START_PATIENCE_S = 30.0
"""How long a run of the search may take until data begin to come."""


def static(peer: Peer, setting: Parameters) -> Contender:
    """A tool at one setting."""
    return Contender(name=peer.name, peer=peer, setting=setting)


def judge_of(heat: Heat, destination: Path) -> Judge:
    """Whether a run has been watched for long enough since files began to come."""

    def enough(age_s: float, carried: PathCounters) -> bool:
        if not heat.begun:
            with suppress(FileNotFoundError):  # a tool may name a file anew between two looks
                if (done_bytes := bytes_in(destination)) >= FIRST_BYTES:
                    heat.begin(age_s, carried.down.bytes, done_bytes)
        return heat.over(age_s, carried.down.bytes)

    return enough


class Measuring:
    """Runs of one cell that are looked up before they are made."""

    def __init__(self, arena: Arena, log: RunLog, plan: Plan) -> None:
        self._arena, self._log, self._plan = arena, log, plan
        self.measured = Measured()

    def take_lessons(self) -> None:
        """Make the history that the release is learned from; only transfers that end before the cut are in it."""
        folder, cut_s = self._arena.knowledge.own, lesson_cut_s(self._arena.cell.path)
        for turn in range(LESSON_REPEATS):
            for number, setting in enumerate(LESSONS):
                log = folder / f"{turn}-{number:02d}.ndjson"
                contender, role = static(TRADEWIND, setting), f"{LESSON} {turn}"
                if not log.exists():
                    self._log.forget(self._key(contender, role, cut_s))
                row = self._once(contender, role, cut_s, partial(self._lesson, log, cut_s))
                self.measured.lessons += row["exit_code"] == 0

    def _lesson(self, log: Path, cut_s: float, contender: Contender) -> tuple[MeasuredRun, Row]:
        return self._arena.lesson(contender, cut_s=cut_s, log=log), {}

    def score(self, peer: Peer, least_bps: float, setting: Parameters) -> float:
        """What a static setting makes of the path, bit/s; that until then of one that could not become the tool's best.

        ``least_bps`` : of no interest is what the link carries less for.
        """
        rows = self.measured.searched.setdefault(peer.name, [])
        cut_s = settled_s(self._arena.cell.path, self._plan.search_cut_s)
        wanted_bps = max((row["score_bps"] for row in rows), default=0.0)

        def make(contender: Contender) -> tuple[MeasuredRun, Row]:
            rate_bps = self._arena.cell.path.rate_bps
            heat = Heat(rate_bps=rate_bps, cut_s=cut_s, wanted_bps=wanted_bps, least_bps=least_bps)

            run = self._arena.run(contender, cut_s=cut_s + START_PATIENCE_S, judged=partial(judge_of, heat))
            score_bps = heat.score_bps(run.duration_s, run.bytes_done)
            return run, {"score_bps": score_bps, "carried_bps": heat.carried_bps, "given_up": heat.hopeless}

        row = self._once(static(peer, setting), SEARCH, cut_s, make)
        if row not in rows:
            rows.append(row)
        return float(row["score_bps"])

    def carried_bps(self, peer: Peer) -> float:
        """Most that the link has carried for a peer at any of its settings."""
        return max((float(row["carried_bps"]) for row in self.measured.searched.get(peer.name, [])), default=0.0)

    def fastest(self, peer: Peer, settings: Sequence[Parameters], cut_s: float) -> Parameters:
        """The setting that is fastest over a whole run each."""
        return max(settings, key=lambda setting: float(self.run(static(peer, setting), FINAL, cut_s)["throughput_bps"]))

    def run(self, contender: Contender, role: str, cut_s: float) -> Row:
        return self._once(contender, role, cut_s, lambda each: (self._arena.run(each, cut_s=cut_s), {}))

    def _once(
        self, contender: Contender, role: str, cut_s: float, make: Callable[[Contender], tuple[MeasuredRun, Row]]
    ) -> Row:
        key = self._key(contender, role, cut_s)
        if (row := self._log.find(key)) is not None:
            return row
        run, judged = self._sound(make, contender)
        row = self._log.add(key, run_row(self._arena, contender, role, run) | judged)
        known = contender.setting.known() if contender.setting is not None else ""
        what = f"{self._arena.cell.name} {role} {contender.name} {known}"
        mbps = float(row["score_bps"] if "score_bps" in row else row["throughput_bps"]) / 1e6
        given_up = f", given up after {run.duration_s:.1f} s" if row.get("given_up") else ""
        sys.stderr.write(f"  {what}: {mbps:.1f} Mbit/s{given_up}\n")
        return row

    def _sound(
        self, make: Callable[[Contender], tuple[MeasuredRun, Row]], contender: Contender
    ) -> tuple[MeasuredRun, Row]:
        arena = self._arena

        def wrong(made: tuple[MeasuredRun, Row]) -> str | None:
            return complaint(made[0].path, made[0].share, rtt_s=arena.cell.path.rtt_s, ahead=arena.ahead)

        return undisturbed(f"{arena.cell.name}, {contender.name}", lambda: make(contender), wrong)

    def _key(self, contender: Contender, role: str, cut_s: float) -> str:
        """What a run's figures depend on: a peer's not on our engine, a static setting's not on what chose it."""
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
            parts.append(" ".join(f"{name}={value}" for name, value in contender.setting.known().items()))
        if contender.peer is TRADEWIND:
            parts.append(hashes["engine"] if contender.setting is not None else hashes["controller"])
        if contender.learned:
            parts.append(f"learned {contender.learned}")
        return "; ".join(parts)
