"""A cell from start to end: lessons, the search for the best static settings, then everyone in turn, several times."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from benchmarks.processes import cpu_waited_s
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.measured_run import MeasuredRun
from benchmarks.testbed.path_spec import PathCounters
from benchmarks.testbed.peers import TRADEWIND, Peer
from benchmarks.wan.arena import Arena, Contender
from benchmarks.wan.cell_row import FASTEST, Measured, Plan, cell_row, run_row
from benchmarks.wan.learned_service import learned_service
from benchmarks.wan.lessons import LESSON_CUT_S, LESSON_REPEATS, LESSONS
from benchmarks.wan.runs import Row, RunLog
from benchmarks.wan.search import Heat, best_setting
from tradewind.parameters import Parameters

OURS = "tuned"
OURS_MIN_ENERGY = "tuned min_energy"
OURS_MIN_DYNAMIC = "tuned min_energy, dynamic basis"
OURS_UNSEEN = "tuned unseen"

NEAR_BEST = 0.9
"""Of the best score in the search. A tool that stays below with all its settings is not run afresh: runs of the same
setting differ by less, so that it cannot be the oracle."""

FRUGAL = tuple(
    Parameters(concurrency=concurrency, parallelism=1, pipelining=pipelining)
    for concurrency, pipelining in ((1, 32), (2, 32), (4, 32), (8, 8))
)
"""Static settings with few streams, of which less energy can be expected than of the fastest."""

_PORTS = {OURS: 8080, OURS_UNSEEN: 8081}


def run_cell(arena: Arena, peers: Sequence[Peer], log: RunLog, plan: Plan) -> Row:
    """Measure what is not in ``log`` yet; the cell's row."""
    began_s, waited_s = time.monotonic(), cpu_waited_s()
    measure = _Measuring(arena, log, plan)
    if plan.taught:
        measure.take_lessons()
    oracles = _oracles(measure, plan)
    with _services(arena, plan, measure.measured) as services:
        contenders = [
            *(Contender(name=peer.name, peer=peer) for peer in peers),
            *_tuned(services),
            *oracles,
        ]
        for setting in FRUGAL:
            measure.measured.frugal.append(measure.run(_static(TRADEWIND, setting), "frugal", plan.cut_s))
        for repeat in range(plan.repeats):
            # In turn, and from another one on each time, so that slow times of the machine hit all alike.
            for contender in contenders[repeat % len(contenders) :] + contenders[: repeat % len(contenders)]:
                row = measure.run(contender, f"repeat {repeat}", plan.cut_s)
                measure.measured.runs.setdefault(contender.name, []).append(row)
    lasted_s = time.monotonic() - began_s
    measure.measured.minutes = lasted_s / 60
    measure.measured.cpu_pressure = None if waited_s is None else ((cpu_waited_s() or 0.0) - waited_s) / lasted_s
    if not all(row["bytes_done"] for row in measure.measured.runs[FASTEST]):
        raise EmulationBroke(f"{arena.cell.name}: the best setting moved nothing; this machine is too busy to measure")
    return cell_row(arena, plan, measure.measured)


START_PATIENCE_S = 30.0
"""How long a run of the search may take until data begin to come."""


def _static(peer: Peer, setting: Parameters) -> Contender:
    return Contender(name=peer.name, peer=peer, setting=setting)


def _oracles(measure: "_Measuring", plan: Plan) -> list[Contender]:
    """The best static setting of our engine, and of the peers that come near it."""
    best: dict[Peer, tuple[float, Parameters]] = {}
    for peer in (TRADEWIND, *plan.searched):
        least_bps = NEAR_BEST * max((score for score, _ in best.values()), default=0.0)
        setting = best_setting(peer.axes, partial(measure.score, peer, least_bps))
        best[peer] = (measure.score(peer, least_bps, setting), setting)
    least_bps = NEAR_BEST * max(score for score, _ in best.values())
    return [
        Contender(name=f"best {peer.name}", peer=peer, setting=setting)
        for peer, (score, setting) in best.items()
        if peer is TRADEWIND or score >= least_bps
    ]


def _tuned(services: Mapping[str, Mapping[str, str]]) -> list[Contender]:
    min_energy = ("--sla", "min_energy", "--energy-basis")
    known, unseen = services[OURS], services[OURS_UNSEEN]
    return [
        Contender(name=OURS, peer=TRADEWIND, variables=known),
        Contender(name=OURS_MIN_ENERGY, peer=TRADEWIND, options=(*min_energy, "total"), variables=known),
        Contender(name=OURS_MIN_DYNAMIC, peer=TRADEWIND, options=(*min_energy, "dynamic"), variables=known),
        Contender(name=OURS_UNSEEN, peer=TRADEWIND, variables=unseen),
    ]


@contextmanager
def _services(arena: Arena, plan: Plan, measured: Measured) -> Iterator[Mapping[str, Mapping[str, str]]]:
    """The variables of the environment of each tuned contender: of one that knows the path, and one that does not."""
    if not plan.taught:
        yield {OURS: {}, OURS_UNSEEN: {}}
        return
    own = sorted(arena.spools.glob("*.ndjson"))
    foreign = {
        path.name: sorted(path.glob("*/*.ndjson")) for path in arena.spools.parent.parent.iterdir() if path.is_dir()
    }
    foreign.pop(arena.cell.path_name, None)
    measured.foreign_logs = sum(map(len, foreign.values()))
    client = arena.bed.clients[0]
    with ExitStack() as running:
        yield {
            name: running.enter_context(
                learned_service(
                    arena.bed,
                    client,
                    logs,
                    folder=arena.folder / f"service-{_PORTS[name]}",
                    port=_PORTS[name],
                )
            )
            for name, logs in (
                (OURS, own),
                (OURS_UNSEEN, [log for logs in foreign.values() for log in logs]),
            )
        }


class _Measuring:
    """Runs of one cell that are looked up before they are made."""

    def __init__(self, arena: Arena, log: RunLog, plan: Plan) -> None:
        self._arena, self._log, self._plan = arena, log, plan
        self.measured = Measured()

    def take_lessons(self) -> None:
        """Make the history that the release is learned from; only transfers that end before the cut are in it."""
        for turn in range(LESSON_REPEATS):
            for setting in LESSONS:
                make = partial(self._arena.lesson, cut_s=LESSON_CUT_S)
                self.measured.lessons += (
                    self._once(_static(TRADEWIND, setting), f"lesson {turn}", LESSON_CUT_S, make)["exit_code"] == 0
                )

    def score(self, peer: Peer, least_bps: float, setting: Parameters) -> float:
        """What a static setting makes of the path, bit/s; that until then of one that could not become the tool's best.

        ``least_bps`` : what is below is of no interest.
        """
        rows = self.measured.searched.setdefault(peer.name, [])
        cut_s = self._plan.search_cut_s
        wanted_bps = max((row["score_bps"] for row in rows), default=0.0)
        heat = Heat(rate_bps=self._arena.cell.path.rate_bps, cut_s=cut_s, wanted_bps=max(wanted_bps, least_bps))

        def make(contender: Contender) -> MeasuredRun:
            def enough(age_s: float, carried: PathCounters) -> bool:
                return heat.over(age_s, carried.down.bytes)

            return self._arena.run(contender, cut_s=cut_s + START_PATIENCE_S, enough=enough)

        row = self._once(_static(peer, setting), "search", cut_s, make, heat)
        if row not in rows:
            rows.append(row)
        return float(row["score_bps"])

    def run(self, contender: Contender, role: str, cut_s: float) -> Row:
        return self._once(contender, role, cut_s, partial(self._arena.run, cut_s=cut_s))

    def _once(
        self,
        contender: Contender,
        role: str,
        cut_s: float,
        make: Callable[[Contender], MeasuredRun],
        heat: Heat | None = None,
    ) -> Row:
        key = self._key(contender, role, cut_s)
        if (row := self._log.find(key)) is not None:
            return row
        run = make(contender)
        judged = {} if heat is None else {"score_bps": heat.score_bps, "given_up": heat.hopeless}
        row = self._log.add(key, run_row(self._arena, contender, role, run) | judged)
        known = contender.setting.known() if contender.setting is not None else ""
        what = f"{self._arena.cell.name} {role} {contender.name} {known}"
        mbps = float(row["throughput_bps"] if heat is None else row["score_bps"]) / 1e6
        given_up = f", given up after {run.duration_s:.1f} s" if row.get("given_up") else ""
        sys.stderr.write(f"  {what}: {mbps:.1f} Mbit/s{given_up}\n")
        return row

    def _key(self, contender: Contender, role: str, cut_s: float) -> str:
        """What a run's figures depend on: a peer's not on our engine, a static setting's not on what chose it."""
        hashes = self._plan.hashes
        parts = [
            self._arena.cell.name,
            role,
            contender.name,
            f"{sum(self._arena.sizes)} bytes",
            f"{cut_s:g} s",
            f"seed {self._plan.seed}",
            hashes["testbed"],
        ]
        if contender.setting is not None:
            parts.append(" ".join(f"{name}={value}" for name, value in contender.setting.known().items()))
        if contender.peer is TRADEWIND:
            parts.append(hashes["engine"] if contender.setting is not None else hashes["controller"])
        return "; ".join(parts)
