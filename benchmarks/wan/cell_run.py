"""Run a cell from start to end: lessons, the search for the best static settings, then each contender several times"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.peers import Peer
from benchmarks.wan.arena import Arena, Contender
from benchmarks.wan.cell_row import FASTEST, OURS_ALONE, CellMeasurements, Plan, make_cell_row
from benchmarks.wan.cell_runner import FINAL, CellRunner, build_static_contender
from benchmarks.wan.knowledge import digest_logs
from benchmarks.wan.learned_service import run_learned_service
from benchmarks.wan.repeats import run_repeats
from benchmarks.wan.runs import Row, RunLog
from benchmarks.wan.search import FIRST, find_leading_settings
from tradewind.parameters import Parameters

OURS = "tuned"
OURS_MIN_ENERGY = "tuned min_energy"
OURS_MIN_DYNAMIC = "tuned min_energy, dynamic basis"
OURS_ON_UNKNOWN_PATH = "tuned unseen"

NEAR_BEST = 0.9
"""Share of the most that the link carried for any tool in the search.

A tool that stays below it at all its settings gets no further runs: runs of the same setting differ by less, so that it
cannot be the oracle.
"""

FRUGAL = tuple(
    Parameters(concurrency=concurrency, parallelism=1, pipelining=pipelining)
    for concurrency, pipelining in ((1, 32), (2, 32), (4, 32), (8, 8))
)
"""Static settings with few streams, which may take less energy than the fastest one."""

_PORTS = {OURS: 8080, OURS_ON_UNKNOWN_PATH: 8081}


def run_cell(arena: Arena, log: RunLog, plan: Plan) -> Row:
    """Measure what is not in ``log`` yet; return the cell's row."""
    started_s, engine = time.monotonic(), arena.cell.engine
    runner = CellRunner(arena, log, plan)
    if plan.uses_service:
        runner.take_lessons()
    for setting in FRUGAL:
        runner.measured.frugal.append(runner.run(build_static_contender(engine, setting), FINAL, plan.cut_s))
    oracles = _find_oracles(runner, engine, plan)
    with _run_services(arena, plan, runner.measured) as services:
        contenders = [
            *(Contender(name=peer.name, peer=peer) for peer in arena.cell.peers),
            Contender(name=OURS_ALONE, peer=engine),
            *_list_tuned_contenders(services, arena),
            *oracles,
        ]
        runner.measured.runs = run_repeats(runner, contenders, plan, {peer.name for peer in arena.cell.peers})
    runner.measured.minutes = (time.monotonic() - started_s) / 60
    if not all(row["bytes_done"] for row in runner.measured.runs[FASTEST]):
        raise EmulationBroke(f"{arena.cell.name}: the best setting moved nothing; this machine is too busy to measure")
    return make_cell_row(arena, plan, runner.measured)


def _find_oracles(runner: CellRunner, engine: Peer, plan: Plan) -> list[Contender]:
    """Return the best static setting of our engine, and of the peers that come near it."""
    leaders: dict[Peer, Sequence[Parameters]] = {}
    for peer in (engine, *plan.searched):
        least_bps = NEAR_BEST * max((runner.find_carried_bps(each) for each in leaders), default=0.0)
        leaders[peer] = find_leading_settings(peer.axes, partial(runner.score, peer, least_bps))
    least_bps = NEAR_BEST * max(runner.find_carried_bps(peer) for peer in leaders)
    leaders[engine] = (*leaders[engine], FIRST, *FRUGAL)
    return [
        Contender(name=f"best {peer.name}", peer=peer, setting=runner.find_fastest(peer, settings, plan.cut_s))
        for peer, settings in leaders.items()
        if peer is engine or runner.find_carried_bps(peer) >= least_bps
    ]


def _list_tuned_contenders(services: Mapping[str, Mapping[str, str]], arena: Arena) -> list[Contender]:
    min_energy = ("--sla", "min_energy", "--energy-basis")
    learned = digest_logs(arena.knowledge.list_own_logs())
    total, dynamic = (*min_energy, "total"), (*min_energy, "dynamic")
    return [
        *(
            Contender(name=name, peer=arena.cell.engine, options=options, variables=services[OURS], learned=learned)
            for name, options in ((OURS, ()), (OURS_MIN_ENERGY, total), (OURS_MIN_DYNAMIC, dynamic))
        ),
        Contender(
            name=OURS_ON_UNKNOWN_PATH,
            peer=arena.cell.engine,
            variables=services[OURS_ON_UNKNOWN_PATH],
            learned=digest_logs(arena.knowledge.list_foreign_logs()),
        ),
    ]


@contextmanager
def _run_services(arena: Arena, plan: Plan, measured: CellMeasurements) -> Iterator[Mapping[str, Mapping[str, str]]]:
    """Run the services; yield the environment of each tuned contender: only one service knows the path."""
    if not plan.uses_service:
        yield {OURS: {}, OURS_ON_UNKNOWN_PATH: {}}
        return
    own, foreign = arena.knowledge.list_own_logs(), arena.knowledge.list_foreign_logs()
    measured.foreign_logs = len(foreign)
    client = arena.bed.clients[0]
    with ExitStack() as running:
        services = {
            name: running.enter_context(
                run_learned_service(
                    arena.bed,
                    client,
                    logs,
                    folder=arena.folder / f"service-{_PORTS[name]}",
                    port=_PORTS[name],
                )
            )
            for name, logs in (
                (OURS, own),
                (OURS_ON_UNKNOWN_PATH, foreign),
            )
        }
        measured.without_model = [name for name, each in services.items() if not each.has_model]
        for name in measured.without_model:
            sys.stderr.write(f"  {arena.cell.name} {name}: its logs gave no model; closed-form rules answer\n")
        yield {name: each.variables for name, each in services.items()}
