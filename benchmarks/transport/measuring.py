"""The runs: interleaved, so that slow times of the machine hit all congestion controls alike; medians of repeats."""

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Self

from benchmarks.testbed.cross_traffic import CrossTraffic, cross_traffic
from benchmarks.testbed.errors import CannotEmulate
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.transport.arena import Answer, Arena, arena
from benchmarks.transport.cases import CUBIC, FLD, RENO, RoundsCase, ShortFlowsCase
from benchmarks.transport.rows import Row, Rows
from benchmarks.transport.turns import Turns
from benchmarks.transport.wire import rounds
from tradewind.connections.rounds import FLD_TCP, FLD_THRESHOLD_BYTES, SEGMENT_BYTES, Sender, send
from tradewind.path import Path

MTU_BYTES = 1500
FILLING_S = 3.0
"""Until bulk flows fill the queue."""


def conditions(case: RoundsCase | ShortFlowsCase) -> Row:
    """Without which no figure of the case means anything."""
    return {"case": case.name, "conditions": f"{case.path}; {case.buffers}"}


def count_rounds(case: RoundsCase, repeats: int, rows: Rows) -> Row:
    """Rounds of a flow on the wire, the median of repeats, and the bytes of each round once."""

    def attempt() -> Row:
        with arena(case.path, (FLD, CUBIC, RENO), buffers=case.buffers) as ground:
            return rows.judged(ground.bed, partial(_counted, case, ground, repeats))

    return rows.made(*_facts(case), case.size_bytes, f"{repeats} repeats", by=attempt)


def _counted(case: RoundsCase, ground: Arena, repeats: int) -> Row:
    controls = (FLD, CUBIC, RENO)
    with ground.watched() as watch:
        for control in controls * repeats:
            ground.fetch(control, [case.size_bytes])
    counted = {
        control: [rounds(flow, case.path.rtt_s) for flow in ground.flows(watch, control)] for control in controls
    }
    counted = {control: [each for each in flows if sum(each) >= case.size_bytes] for control, flows in counted.items()}
    if missing := [control for control, flows in counted.items() if not flows]:
        raise CannotEmulate(f"{case.name}: no flow of {', '.join(missing)} was captured whole")
    row: Row = {"case": case.name}
    told: list[str] = []
    for control, flows in counted.items():
        typical = sorted(flows, key=len)[len(flows) // 2]
        row[f"{control}_rounds"] = len(typical)
        told.append(f"{control} {' '.join(map(str, typical))}")
    return row | {"round_bytes": "; ".join(told)}


def short_flows(case: ShortFlowsCase, sizes_bytes: Sequence[int], repeats: int, rows: Rows) -> list[Row]:
    """Times of short flows by FLD_TCP and CUBIC, and the round model's with an even share; a row a size."""
    facts = {size: (*_facts(case), f"{size} B", f"{repeats} repeats") for size in sizes_bytes}
    found: list[Row] = []
    with _Standing(case) as standing:
        for size, of_size in facts.items():

            def attempt(size: int = size) -> Row:
                ground = standing.ground()
                turns = Turns.on(ground.bed, case.background, ahead=rows.ahead)
                return _short_row(case, ground, turns, size, repeats)

            found.append(rows.made(*of_size, by=attempt))
    return found


def long_flow(case: ShortFlowsCase, size_bytes: int, repeats: int, rows: Rows) -> Row:
    """The rate beyond the threshold of a long flow beside a bulk one, FLD_TCP's against CUBIC's."""

    def measured(ground: Arena) -> Row:
        turns = Turns.on(ground.bed, case.background, ahead=rows.ahead)
        seconds, _ = _by_turns(ground, turns, [FLD_THRESHOLD_BYTES, size_bytes], repeats)
        return {
            "case": case.name,
            "bytes": size_bytes,
            "fld_s": seconds[FLD],
            "cubic_s": seconds[CUBIC],
            "share": seconds[CUBIC] / seconds[FLD],
            **turns.told(),
        }

    def attempt() -> Row:
        with _beside_others(case) as ground:
            return measured(ground)

    return rows.made(*_facts(case), f"{size_bytes} B", f"{repeats} repeats", by=attempt)


def _facts(case: RoundsCase | ShortFlowsCase) -> tuple[object, ...]:
    background = case.background if isinstance(case, ShortFlowsCase) else 0
    return case.name, case.path, case.buffers, f"{background} beside"


def even_share_gain(path: PathSpec, size_bytes: int, *, rtt_s: float, others: int) -> float:
    """CUBIC's time over FLD_TCP's by the round model with an even share: no bound, since shares need not be even.

    Parameters
    ----------
    rtt_s : as the flows found the path, with the queue of others.
    others : who are presumed to share the rate evenly, and to lose nothing.
    """
    payload_bps = path.rate_bps * SEGMENT_BYTES / MTU_BYTES / (1 + others)
    found = Path(bandwidth_bps=payload_bps, rtt_s=rtt_s)
    return send(size_bytes, Sender(), found).duration_s / send(size_bytes, Sender(growth=FLD_TCP), found).duration_s


class _Standing:
    """A ground that is set up once it is needed: not where all rows were measured before."""

    def __init__(self, case: ShortFlowsCase) -> None:
        self._case, self._open = case, ExitStack()
        self._ground: Arena | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def ground(self) -> Arena:
        if self._ground is None:
            self._ground = self._open.enter_context(_beside_others(self._case))
        return self._ground


@contextmanager
def _beside_others(case: ShortFlowsCase) -> Iterator[Arena]:
    with arena(case.path, (FLD, CUBIC), buffers=case.buffers, clients=2) as ground, ExitStack() as others:
        if case.background:
            bulk = CrossTraffic(flows=case.background)
            others.enter_context(cross_traffic(ground.bed, ground.bed.clients[1], bulk))
            time.sleep(FILLING_S)
        yield ground


def _by_turns(ground: Arena, turns: Turns, sizes_bytes: Sequence[int], repeats: int) -> tuple[dict[str, float], float]:
    """Seconds of the last of these answers by each, and the round trip that they found; medians."""

    def fetch(control: str) -> Answer:
        return ground.fetch(control, sizes_bytes)[-1]

    answers = turns.each((CUBIC, FLD), repeats, fetch)
    seconds = {control: statistics.median(each.seconds for each in told) for control, told in answers.items()}
    return seconds, statistics.median(each.handshake_s for told in answers.values() for each in told)


def _short_row(case: ShortFlowsCase, ground: Arena, turns: Turns, size_bytes: int, repeats: int) -> Row:
    seconds, rtt_s = _by_turns(ground, turns, [size_bytes], repeats)
    gain = seconds[CUBIC] / seconds[FLD]
    modelled = even_share_gain(case.path, size_bytes, rtt_s=rtt_s, others=case.background)
    return {
        "case": case.name,
        "bytes": size_bytes,
        "rtt_s": rtt_s,
        "fld_s": seconds[FLD],
        "cubic_s": seconds[CUBIC],
        "gain": gain,
        "even_share_gain": modelled,
        "of_even_share": gain / modelled,
        **turns.told(),
    }
