"""Run the cases, alternating, so that slow times of the machine affect each congestion control equally"""

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Self

from benchmarks.testbed.cross_traffic import CrossTraffic, run_cross_traffic
from benchmarks.testbed.errors import CannotEmulate
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.transport.alternation import Alternation
from benchmarks.transport.arena import Answer, Arena, set_up_arena
from benchmarks.transport.cases import CUBIC, FLD, RENO, RoundsCase, ShortFlowsCase
from benchmarks.transport.rows import Row, Rows
from benchmarks.transport.wire import split_into_rounds
from tradewind.connections.rounds import FLD_TCP, FLD_THRESHOLD_BYTES, SEGMENT_BYTES, Sender, send
from tradewind.path import Path

MTU_BYTES = 1500
FILLING_S = 3.0
"""Bulk flows fill the queue in this time."""


def describe_conditions(case: RoundsCase | ShortFlowsCase) -> Row:
    """Return the conditions that the figures of a case depend on."""
    return {"case": case.name, "conditions": f"{case.path}; {case.buffers}"}


def count_rounds(case: RoundsCase, repeats: int, rows: Rows) -> Row:
    """Count the rounds of a flow on the wire, the median of repeats, and the bytes of each round once."""

    def measure_once() -> Row:
        with set_up_arena(case.path, (FLD, CUBIC, RENO), buffers=case.buffers) as arena:
            return rows.measure_on(arena.bed, partial(_count_rounds, case, arena, repeats))

    return rows.find_or_measure(*_list_key_parts(case), case.size_bytes, f"{repeats} repeats", measure=measure_once)


def _count_rounds(case: RoundsCase, arena: Arena, repeats: int) -> Row:
    controls = (FLD, CUBIC, RENO)
    with arena.capture() as watch:
        for control in controls * repeats:
            arena.fetch(control, [case.size_bytes])
    counted = {
        control: [split_into_rounds(flow, case.path.rtt_s) for flow in arena.list_flows(watch, control)]
        for control in controls
    }
    counted = {
        control: [answer for answer in flows if sum(answer) >= case.size_bytes] for control, flows in counted.items()
    }
    if missing := [control for control, flows in counted.items() if not flows]:
        raise CannotEmulate(f"{case.name}: no flow of {', '.join(missing)} was captured completely")
    row: Row = {"case": case.name}
    parts: list[str] = []
    for control, flows in counted.items():
        typical = sorted(flows, key=len)[len(flows) // 2]
        row[f"{control}_rounds"] = len(typical)
        parts.append(f"{control} {' '.join(map(str, typical))}")
    return row | {"round_bytes": "; ".join(parts)}


def measure_short_flows(case: ShortFlowsCase, sizes_bytes: Sequence[int], repeats: int, rows: Rows) -> list[Row]:
    """Measure short flows by FLD_TCP and CUBIC, and the round model's with an even share; return a row a size."""
    key_parts_by_size = {size: (*_list_key_parts(case), f"{size} B", f"{repeats} repeats") for size in sizes_bytes}
    found: list[Row] = []
    with _LazyArena(case) as lazy_arena:
        for size, of_size in key_parts_by_size.items():

            def measure_once(size: int = size) -> Row:
                arena = lazy_arena.open_arena()
                alternation = Alternation.on(arena.bed, case.background, prioritised=rows.prioritised)
                return _measure_short_row(case, arena, alternation, size, repeats)

            found.append(rows.find_or_measure(*of_size, measure=measure_once))
    return found


def measure_long_flow(case: ShortFlowsCase, size_bytes: int, repeats: int, rows: Rows) -> Row:
    """Compare the rates of a long flow beyond the threshold, next to a bulk one: FLD_TCP's against CUBIC's."""

    def measure(arena: Arena) -> Row:
        alternation = Alternation.on(arena.bed, case.background, prioritised=rows.prioritised)
        seconds, _ = _build_median_seconds(arena, alternation, [FLD_THRESHOLD_BYTES, size_bytes], repeats)
        return {
            "case": case.name,
            "bytes": size_bytes,
            "fld_s": seconds[FLD],
            "cubic_s": seconds[CUBIC],
            "share": seconds[CUBIC] / seconds[FLD],
            **alternation.report(),
        }

    def measure_once() -> Row:
        with _set_up_with_background(case) as arena:
            return measure(arena)

    return rows.find_or_measure(*_list_key_parts(case), f"{size_bytes} B", f"{repeats} repeats", measure=measure_once)


def _list_key_parts(case: RoundsCase | ShortFlowsCase) -> tuple[object, ...]:
    background = case.background if isinstance(case, ShortFlowsCase) else 0
    return case.name, case.path, case.buffers, f"{background} beside"


def model_even_share_gain(path: PathSpec, size_bytes: int, *, rtt_s: float, others: int) -> float:
    """Return CUBIC's time over FLD_TCP's by the round model with an even share: no bound, since shares need not be
    even.

    Parameters
    ----------
    rtt_s : round trip that the flows found, with the queue of other traffic.
    others : number of other flows, which are presumed to share the rate evenly and to lose nothing.
    """
    payload_bps = path.rate_bps * SEGMENT_BYTES / MTU_BYTES / (1 + others)
    found = Path(bandwidth_bps=payload_bps, rtt_s=rtt_s)
    return send(size_bytes, Sender(), found).duration_s / send(size_bytes, Sender(growth=FLD_TCP), found).duration_s


class _LazyArena:
    """An arena that is set up when it is first needed: not where all rows were measured before."""

    def __init__(self, case: ShortFlowsCase) -> None:
        self._case, self._open = case, ExitStack()
        self._ground: Arena | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def open_arena(self) -> Arena:
        if self._ground is None:
            self._ground = self._open.enter_context(_set_up_with_background(self._case))
        return self._ground


@contextmanager
def _set_up_with_background(case: ShortFlowsCase) -> Iterator[Arena]:
    with set_up_arena(case.path, (FLD, CUBIC), buffers=case.buffers, clients=2) as arena, ExitStack() as others:
        if case.background:
            bulk = CrossTraffic(flows=case.background)
            others.enter_context(run_cross_traffic(arena.bed, arena.bed.clients[1], bulk))
            time.sleep(FILLING_S)
        yield arena


def _build_median_seconds(
    arena: Arena, alternation: Alternation, sizes_bytes: Sequence[int], repeats: int
) -> tuple[dict[str, float], float]:
    """Return the median seconds of the last answer by each congestion control, and the median round trip."""

    def fetch(control: str) -> Answer:
        return arena.fetch(control, sizes_bytes)[-1]

    answers = alternation.measure_each((CUBIC, FLD), repeats, fetch)
    seconds = {control: statistics.median(answer.seconds for answer in parts) for control, parts in answers.items()}
    return seconds, statistics.median(answer.handshake_s for parts in answers.values() for answer in parts)


def _measure_short_row(
    case: ShortFlowsCase, arena: Arena, alternation: Alternation, size_bytes: int, repeats: int
) -> Row:
    seconds, rtt_s = _build_median_seconds(arena, alternation, [size_bytes], repeats)
    gain = seconds[CUBIC] / seconds[FLD]
    modelled = model_even_share_gain(case.path, size_bytes, rtt_s=rtt_s, others=case.background)
    return {
        "case": case.name,
        "bytes": size_bytes,
        "rtt_s": rtt_s,
        "fld_s": seconds[FLD],
        "cubic_s": seconds[CUBIC],
        "gain": gain,
        "even_share_gain": modelled,
        "of_even_share": gain / modelled,
        **alternation.report(),
    }
