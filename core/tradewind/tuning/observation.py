"""What one sample shows: its duration, each chunk's rate, the signals of the path, and the comparison with the
table.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from tradewind.dataset import ChunkKind
from tradewind.energy.ends import count_power
from tradewind.errors import InvalidValue
from tradewind.parameters import Caps, Parameters
from tradewind.recommendation import CompactTable
from tradewind.tuning.bank import Bank, compute_above_base_w, compute_energy_per_byte, credit_bank
from tradewind.tuning.basis import Basis
from tradewind.tuning.choice import SLOW_START_ROUND_TRIPS
from tradewind.tuning.forecast import ActiveChunk, Forecaster, build_forecaster
from tradewind.tuning.path import congestion
from tradewind.tuning.path.base_rtt import BaseRtt
from tradewind.tuning.path.congestion import Loss, Signal
from tradewind.tuning.path.queue_depth import QueueDepth
from tradewind.tuning.sample import MIN_BPS, ChunkProgress, TickSample
from tradewind.tuning.state import TuningState

FULL_SHARE = 0.5
"""Above this share of the expected queue the pipe is full: more streams only take from other transfers.

A tick samples one moment of a queue that CUBIC empties by up to half whenever it overflows.
"""

CEILING_NOISE = 0.05
"""A rate this near to a ceiling has reached it, since ticks of 5 s differ by as much; a faster one refutes it."""

_CLOCK_SLACK = 2.0
"""The clock is trusted up to this many times the intervals that have passed."""


Plan: TypeAlias = Mapping[ChunkKind, Parameters]
"""What the last decision requested."""


class Observation(NamedTuple):
    """One tick, interpreted.

    ``interval_s`` : time that it stands for, lost ticks included. ``elapsed_s``, ``bank`` : with this tick.
    ``active`` : chunks with bytes left, ``files_left`` of each. ``requested`` : what the last decision asked for each;
    where it did not mention a chunk, the current plan. ``streams`` : current.
    ``loss`` : share sent again within the tick. ``lasting`` : where it exceeds what is tolerated, be it by luck, the
    loss of this tick and of those like it before, in a row.
    ``slow_start`` : share of the tick's throughput that new connections may have cost. ``power_w`` : total power,
    measured or else expected, of the ends that the target counts; ``power_note`` says what of it is estimated.
    ``j_per_byte`` of it. ``base_rtt``, ``queue_depth`` : with this tick; ``is_longer`` : it shows the path to be longer
    than was known.
    ``ceiling_bps`` : what the transfer cannot exceed, if it is known.
    """

    sample: TickSample
    interval_s: float
    elapsed_s: float
    bank: Bank
    active: tuple[ActiveChunk, ...]
    files_left: tuple[int, ...]
    requested: tuple[Parameters, ...]
    streams: int
    rtt_s: float
    expected_delay_s: float
    loss: float | None
    lasting: Loss | None
    signal: Signal
    slow_start: float
    forecaster: Forecaster | None
    power_w: float | None
    power_note: str
    base_rtt: BaseRtt
    queue_depth: QueueDepth
    is_longer: bool
    ceiling_bps: float | None = None

    @property
    def is_at_ceiling(self) -> bool:
        """Return whether the transfer carries the known maximum, so that more streams would add nothing."""
        if self.ceiling_bps is None:
            return False
        return abs(self.throughput_bps / self.ceiling_bps - 1) <= CEILING_NOISE

    @property
    def is_lossy(self) -> bool:
        return self.lasting is not None

    @property
    def throughput_bps(self) -> float:
        return self.sample.throughput_bps

    @property
    def has_room(self) -> bool:
        return congestion.has_room(self.sample.queueing_delay_s, self.full_delay_s)

    @property
    def full_delay_s(self) -> float:
        """Return the delay of a full queue, s."""
        return self.queue_depth.compute_full_delay_s(self.throughput_bps, self.expected_delay_s)

    @property
    def is_full(self) -> bool:
        return _is_full(self.sample, self.full_delay_s)

    @property
    def remaining_s(self) -> float:
        """Return the time left at the present rate; infinite while nothing moves."""
        return self.sample.remaining_bits / self.throughput_bps if self.throughput_bps > 0 else math.inf

    def compute_power_on_basis_w(self, basis: Basis) -> float | None:
        return None if self.power_w is None else compute_above_base_w(basis, self.power_w)

    def compute_j_per_byte(self, basis: Basis) -> float | None:
        if self.power_w is None or self.throughput_bps <= 0:
            return None
        return compute_energy_per_byte(basis, throughput_bps=self.throughput_bps, power_w=self.power_w)


def observe(basis: Basis, state: TuningState, sample: TickSample) -> Observation:
    """Interpret the sample; ``state`` is the one before it."""
    interval_s = _compute_interval_s(state, sample)
    plan = {each.chunk: each.parameters for each in state.decision.chunks}
    active = list_active_chunks(basis, plan, sample)
    streams = max(sum([chunk.parameters.streams for chunk in active]), 1)
    rtt_s = next((rtt for rtt in (sample.rtt_s, basis.path.rtt_s, sample.min_rtt_s) if rtt is not None), 0.0)
    tables = [chunk.basis.table for chunk in active if chunk.basis.table is not None]
    # A queue that others keep full does not empty with our streams: what is left after a cut is judged as before it.
    before_cuts = max(streams, state.limit.before)
    stated_min_rtt_s = sample.min_rtt_s or basis.path.min_rtt_s or 0.0
    loss = _find_loss(state, sample)
    tolerated_loss = congestion.compute_tolerated_loss(basis.loss_baseline, state.limit)
    is_overflowing = loss is None or loss.share > tolerated_loss
    lasting = state.limit.join_loss(loss, streams) if loss is not None and is_overflowing else None
    base_rtt = state.base_rtt.update(sample, streams, is_overflowing=is_overflowing)
    sample, power_note = _count_power(basis, sample)
    sample = _set_shortest_rtt(basis, sample, tables, before_cuts)
    base_rtt, queue_depth = _judge_queue(
        state,
        base_rtt,
        base_rtt.correct_sample(sample),
        expected_s=_expect_delay_s(tables, before_cuts, stated_min_rtt_s, base_rtt),
        is_overflowing=lasting is not None,
    )
    sample = base_rtt.correct_sample(sample)
    expected_delay_s = _expect_delay_s(tables, before_cuts, stated_min_rtt_s, base_rtt)
    longer_by_s = base_rtt.found_s - max(stated_min_rtt_s, state.base_rtt.found_s)
    view = build_forecaster(basis, active, state.belief, basis.z)
    power_w = sample.power_w
    if power_w is None and view is not None:
        power_w = view.predict_power_w()
    return Observation(
        sample=sample,
        interval_s=interval_s,
        elapsed_s=state.elapsed_s + interval_s,
        bank=credit_bank(
            state.bank, basis, throughput_bps=sample.throughput_bps, power_w=power_w, interval_s=interval_s
        ),
        active=active,
        files_left=tuple([chunk.files_left for chunk in active]),
        requested=tuple([plan.get(chunk.basis.kind, chunk.parameters) for chunk in active]),
        streams=streams,
        rtt_s=rtt_s,
        expected_delay_s=expected_delay_s,
        loss=None if loss is None else loss.share,
        lasting=lasting,
        signal=congestion.classify_signal(
            delay_s=None if queue_depth.is_own(sample) else sample.queueing_delay_s,
            expected_s=expected_delay_s,
            loss=loss,
            lasting=lasting,
            tolerated_loss=tolerated_loss,
            limit=state.limit,
        ),
        slow_start=_estimate_slow_start(state, interval_s, rtt_s),
        forecaster=view,
        power_w=power_w,
        power_note=power_note,
        ceiling_bps=basis.ceiling_bps,
        base_rtt=base_rtt,
        queue_depth=queue_depth,
        is_longer=longer_by_s > congestion.compute_dead_band_s(expected_delay_s),
    )


def _expect_delay_s(tables: Sequence[CompactTable], streams: int, stated_min_rtt_s: float, base: BaseRtt) -> float:
    return congestion.compute_expected_delay_s(tables, streams, max(stated_min_rtt_s, base.found_s))


def _is_full(sample: TickSample, expected_delay_s: float) -> bool:
    return sample.queueing_delay_s is not None and sample.queueing_delay_s > FULL_SHARE * expected_delay_s


def _judge_queue(
    state: TuningState, base_rtt: BaseRtt, sample: TickSample, *, expected_s: float, is_overflowing: bool
) -> tuple[BaseRtt, QueueDepth]:
    """Return the round trip without a queue, raised where the delay is more than the queue holds, and that depth."""
    fell_by_s = state.base_rtt.found_s - base_rtt.found_s
    depth = state.queue_depth
    if fell_by_s > congestion.compute_dead_band_s(expected_s):
        depth = depth.forget()
    verdict = depth.judge(
        sample,
        expected_s=expected_s,
        is_overflowing=is_overflowing,
        is_full=_is_full(sample, expected_s),
        is_longer=base_rtt.found_s > 0,
    )
    return base_rtt.raise_to(verdict.least_rtt_s), verdict.depth


def _count_power(basis: Basis, sample: TickSample) -> tuple[TickSample, str]:
    """Return the sample with the power of the ends that the target counts, and a note on what was estimated."""
    if not sample.power_ends:
        return sample, ""
    counted = count_power(sample.power_ends, basis.counted_ends, basis.power_by_end)
    return replace(sample, power_w=counted.power_w), counted.note


def _set_shortest_rtt(basis: Basis, sample: TickSample, tables: Sequence[CompactTable], streams: int) -> TickSample:
    """Use the known shortest round trip where a transfer starts behind a full queue and has never seen it empty.

    A difference that no queue explains means that the path has changed.
    """
    known_s = basis.path.min_rtt_s
    if known_s is None or sample.min_rtt_s is None or sample.min_rtt_s <= known_s:
        return sample
    expected_delay_s = congestion.compute_expected_delay_s(tables, streams, 0.0)
    explained_s = expected_delay_s + congestion.compute_dead_band_s(expected_delay_s)
    return replace(sample, min_rtt_s=known_s) if sample.min_rtt_s - known_s <= explained_s else sample


def _compute_interval_s(state: TuningState, sample: TickSample) -> float:
    """Return the time since the last tick by the clock where it is plausible, else by the intervals that must have
    passed.
    """
    if state.sequence < 0 or sample.interval_s == 0:
        return sample.interval_s
    by_ticks = (sample.sequence - state.sequence) * sample.interval_s
    by_clock = sample.at_s - state.at_s
    return by_clock if by_ticks / _CLOCK_SLACK <= by_clock <= by_ticks * _CLOCK_SLACK else by_ticks


def _find_loss(state: TuningState, sample: TickSample) -> Loss | None:
    """Return the loss of this tick; ``None`` where too few bytes were sent, or counters were reset."""
    if None in (sample.sent_bytes, sample.retransmitted_bytes, state.sent_bytes, state.retransmitted_bytes):
        return None
    sent = (sample.sent_bytes or 0) - (state.sent_bytes or 0)
    again = (sample.retransmitted_bytes or 0) - (state.retransmitted_bytes or 0)
    if sent < congestion.MIN_BYTES_FOR_LOSS or again < 0:
        return None
    return Loss(min(again / sent, 1.0), sent)


def _estimate_slow_start(state: TuningState, interval_s: float, rtt_s: float) -> float:
    """Return the share of a tick's throughput that new connections lose to slow start: at first and after a change."""
    fresh = state.elapsed_s == 0 or (state.changed_s is not None and state.changed_s >= state.elapsed_s)
    if not fresh or interval_s <= 0:
        return 0.0
    return min(SLOW_START_ROUND_TRIPS * rtt_s / interval_s, 1.0) / 2


def list_active_chunks(basis: Basis, plan: Plan, sample: TickSample) -> tuple[ActiveChunk, ...]:
    """Return the chunks with bytes left, in the order of the basis, no more than the caps have channels for.

    Raises
    ------
    InvalidValue : a chunk that is not in the basis.
    """
    for i, each in enumerate(sample.chunks):
        if each.kind not in basis.by_kind:
            raise InvalidValue(f"chunks.{i}.chunk", f"{each.kind} is not in the plan of this transfer")
    by_kind = {chunk.kind: chunk for chunk in sample.chunks or _split(basis, plan, sample)}
    chunks = tuple(
        ActiveChunk(
            chunk,
            progress.parameters,
            progress.throughput_bps,
            progress.remaining_bytes,
            chunk.count_files_left(
                progress.remaining_bytes, sample.remaining_files, progress.parameters.concurrency or 1
            ),
        )
        for chunk in basis.chunks
        if (progress := by_kind.get(chunk.kind)) is not None and progress.remaining_bytes > 0
    )
    return limit_chunks_to_channels(chunks, basis.caps, plan)


def limit_chunks_to_channels(
    chunks: tuple[ActiveChunk, ...], caps: Caps, in_plan: Collection[ChunkKind]
) -> tuple[ActiveChunk, ...]:
    """Keep the chunks that can have a channel: those in the plan first, then those with most bytes left."""
    channels = min((cap for cap in (caps.concurrency, caps.streams) if cap is not None), default=len(chunks))
    if channels >= len(chunks):
        return chunks
    order = sorted(range(len(chunks)), key=lambda i: (chunks[i].basis.kind not in in_plan, -chunks[i].remaining_bytes))
    return tuple(chunks[i] for i in sorted(order[:channels]))


def _split(basis: Basis, plan: Plan, sample: TickSample) -> tuple[ChunkProgress, ...]:
    """Split the totals of a tool that reports no chunks by the chunks' bytes at the start."""
    total_bytes = max(basis.total_bytes, 1)
    return tuple(
        ChunkProgress(
            kind=kind,
            parameters=plan.get(kind, chunk.plan.parameters),
            throughput_bps=sample.throughput_bps * chunk.total_bytes / total_bytes,
            remaining_bytes=-(-sample.remaining_bytes * chunk.total_bytes // total_bytes),
        )
        for kind, chunk in basis.by_kind.items()
    )


def compute_log_ratios(observation: Observation) -> tuple[float, Mapping[ChunkKind, float]]:
    """Return ln(measured / expected by the table) of all chunks together and of each; ln T itself without tables."""
    view = observation.forecaster
    total_bps = observation.throughput_bps
    if view is None:
        return math.log(total_bps), {}
    bare = view.compute_table_rates_bps()
    ratios = {
        chunk.basis.kind: math.log(chunk.throughput_bps / rate)
        for chunk, rate in zip(view.active, bare, strict=True)
        if chunk.throughput_bps >= MIN_BPS
    }
    return math.log(total_bps / sum(bare)), ratios if len(ratios) == len(view.active) else {}
