"""A cell from start to end: lessons, the search for the best static settings, then everyone in turn, several times."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.peers import TRADEWIND, Peer
from benchmarks.wan.arena import Arena, Contender
from benchmarks.wan.cell_row import FASTEST, Measured, Plan, cell_row
from benchmarks.wan.knowledge import learned_digest
from benchmarks.wan.learned_service import learned_service
from benchmarks.wan.measuring import FINAL, Measuring, static
from benchmarks.wan.runs import Row, RunLog
from benchmarks.wan.search import FIRST, leading_settings
from tradewind.parameters import Parameters

OURS = "tuned"
OURS_MIN_ENERGY = "tuned min_energy"
OURS_MIN_DYNAMIC = "tuned min_energy, dynamic basis"
OURS_UNSEEN = "tuned unseen"

NEAR_BEST = 0.9
"""Of the most that the link carried for anybody in the search. A tool for which it carries less at all its settings is
not run afresh: runs of the same setting differ by less, so that it cannot be the oracle."""

FRUGAL = tuple(
    Parameters(concurrency=concurrency, parallelism=1, pipelining=pipelining)
    for concurrency, pipelining in ((1, 32), (2, 32), (4, 32), (8, 8))
)
"""Static settings with few streams, of which less energy can be expected than of the fastest."""

_PORTS = {OURS: 8080, OURS_UNSEEN: 8081}


def run_cell(arena: Arena, peers: Sequence[Peer], log: RunLog, plan: Plan) -> Row:
    """Measure what is not in ``log`` yet; the cell's row."""
    began_s = time.monotonic()
    measure = Measuring(arena, log, plan)
    if plan.taught:
        measure.take_lessons()
    for setting in FRUGAL:
        measure.measured.frugal.append(measure.run(static(TRADEWIND, setting), FINAL, plan.cut_s))
    oracles = _oracles(measure, plan)
    with _services(arena, plan, measure.measured) as services:
        contenders = [
            *(Contender(name=peer.name, peer=peer) for peer in peers),
            *_tuned(services, arena),
            *oracles,
        ]
        for repeat in range(plan.repeats):
            # In turn, and from another one on each time, so that slow times of the machine hit all alike.
            for contender in contenders[repeat % len(contenders) :] + contenders[: repeat % len(contenders)]:
                row = measure.run(contender, f"repeat {repeat}", plan.cut_s)
                measure.measured.runs.setdefault(contender.name, []).append(row)
    measure.measured.minutes = (time.monotonic() - began_s) / 60
    if not all(row["bytes_done"] for row in measure.measured.runs[FASTEST]):
        raise EmulationBroke(f"{arena.cell.name}: the best setting moved nothing; this machine is too busy to measure")
    return cell_row(arena, plan, measure.measured)


def _oracles(measure: Measuring, plan: Plan) -> list[Contender]:
    """The best static setting of our engine, and of the peers that come near it."""
    leaders: dict[Peer, Sequence[Parameters]] = {}
    for peer in (TRADEWIND, *plan.searched):
        least_bps = NEAR_BEST * max((measure.carried_bps(each) for each in leaders), default=0.0)
        leaders[peer] = leading_settings(peer.axes, partial(measure.score, peer, least_bps))
    least_bps = NEAR_BEST * max(measure.carried_bps(peer) for peer in leaders)
    leaders[TRADEWIND] = (*leaders[TRADEWIND], FIRST, *FRUGAL)
    return [
        Contender(name=f"best {peer.name}", peer=peer, setting=measure.fastest(peer, settings, plan.cut_s))
        for peer, settings in leaders.items()
        if peer is TRADEWIND or measure.carried_bps(peer) >= least_bps
    ]


def _tuned(services: Mapping[str, Mapping[str, str]], arena: Arena) -> list[Contender]:
    min_energy = ("--sla", "min_energy", "--energy-basis")
    learned = learned_digest(arena.knowledge.own_logs())
    total, dynamic = (*min_energy, "total"), (*min_energy, "dynamic")
    return [
        *(
            Contender(name=name, peer=TRADEWIND, options=options, variables=services[OURS], learned=learned)
            for name, options in ((OURS, ()), (OURS_MIN_ENERGY, total), (OURS_MIN_DYNAMIC, dynamic))
        ),
        Contender(
            name=OURS_UNSEEN,
            peer=TRADEWIND,
            variables=services[OURS_UNSEEN],
            learned=learned_digest(arena.knowledge.foreign_logs()),
        ),
    ]


@contextmanager
def _services(arena: Arena, plan: Plan, measured: Measured) -> Iterator[Mapping[str, Mapping[str, str]]]:
    """The variables of the environment of each tuned contender: of one that knows the path, and one that does not."""
    if not plan.taught:
        yield {OURS: {}, OURS_UNSEEN: {}}
        return
    own, foreign = arena.knowledge.own_logs(), arena.knowledge.foreign_logs()
    measured.foreign_logs = len(foreign)
    client = arena.bed.clients[0]
    with ExitStack() as running:
        services = {
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
                (OURS_UNSEEN, foreign),
            )
        }
        measured.without_model = [name for name, each in services.items() if not each.has_model]
        for name in measured.without_model:
            sys.stderr.write(f"  {arena.cell.name} {name}: its logs gave no model; closed-form rules answer\n")
        yield {name: each.variables for name, each in services.items()}
