"""Claims of the GreenDataFlow paper (001) on tuning while a transfer runs: its two algorithms as printed, and ours."""

from collections.abc import Iterator, Mapping
from math import inf

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import (
    Comparison,
    Finding,
    Source,
    compare_cases,
    compare_computed,
    compare_property,
    make_finding,
)
from tradewind.dataset import ChunkKind
from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.recommendation import ChunkPlan
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.sla.outcome import is_met
from tradewind.tuning import Basis, ChunkBasis, ChunkProgress, TickSample, begin, step
from tradewind.tuning.bank import Bank, compute_bank_limit_bits, credit_bank, set_goal
from tradewind.tuning.path.congestion import DEAD_BAND, Loss, Signal, StreamLimit, classify_signal, has_room
from tradewind.tuning.reference.algorithms_1_2 import Algorithms12, Constraint, back_off_control

TICK_S = 5.0
START = Parameters(concurrency=16, parallelism=2, pipelining=4)
TOTAL_BYTES = 10**11


def _make_sample(
    number: int, streams: Parameters, *, rate_bps: float, rtt_s: float, lost: float, power_w: float = 80.0
) -> TickSample:
    moved = int(rate_bps * TICK_S * number / 8)
    return TickSample(
        sequence=number,
        at_s=TICK_S * number,
        interval_s=TICK_S,
        bytes_moved=moved,
        throughput_bps=rate_bps,
        remaining_bytes=TOTAL_BYTES - moved,
        remaining_files=1000,
        rtt_s=rtt_s,
        min_rtt_s=0.04,
        sent_bytes=max(moved, 1),
        retransmitted_bytes=int(lost * moved),
        power_w=power_w,
        chunks=(ChunkProgress(ChunkKind.WHOLE, streams, rate_bps, TOTAL_BYTES - moved),),
    )


def check_printed_tuning(claim: Claim, _claims: Claims) -> Finding:
    """Check algorithm 1 as printed: one check answers and overrules congestion, and compares an energy with a power."""
    plan = ChunkPlan(ChunkKind.WHOLE, None, START)
    literal = Algorithms12(plan, Constraint.THROUGHPUT, 5e8, lambda _: START, expected_delay_s=0.01)
    state, _ = literal.begin()
    after, _ = literal.step(state, _make_sample(1, START, rate_bps=1e8, rtt_s=0.2, lost=0.0))
    power_w, seconds, target_j = 80.0, 100.0, 600.0
    spent = [
        EnergyReading(host=host, total_j=power_w * seconds, method=EnergyMethod.METER, quality=EnergyQuality.MEASURED)
        for host in Host
    ]
    broken = is_met(
        Sla(kind=SlaKind.ENERGY_AT_MOST, target=target_j), throughput_bps=1e8, duration_s=seconds, energy=spent
    )
    compares_power = any("power > SLA" in line for line in claim.values["lines"])
    return make_finding(
        compare_property(
            "what fairness_control decides holds after the check",
            after.overruled == after.parameters,
            source=Source.ARITHMETIC,
        ),
        compare_property(
            "its test of power against an energy SLA detects that too much energy was used",
            (power_w > target_j if compares_power else True) == (broken is False),
            source=Source.ARITHMETIC,
        ),
    )


def check_printed_fairness(_claim: Claim, _claims: Claims) -> Finding:
    """Run algorithm 2 literally where packets are lost and the queue is long: its text takes streams away."""
    setting = START
    for _ in range(10):
        setting = back_off_control(setting, delay_s=0.2, expected_delay_s=0.05, loss=0.05, threshold=1e-3)
    return make_finding(
        compare_property(
            "loss takes files at once away",
            (setting.concurrency or 0) < (START.concurrency or 0),
            source=Source.ARITHMETIC,
        ),
        compare_property(
            "a long queue takes streams of a file away",
            (setting.parallelism or 0) < (START.parallelism or 0),
            source=Source.ARITHMETIC,
        ),
    )


def check_controller(_claim: Claim, _claims: Claims) -> Finding:
    """Run our controller on ticks that are all congested by loss: streams never exceed the start, and one stays."""
    basis = Basis(
        Sla(kind=SlaKind.MAX_THROUGHPUT),
        (ChunkBasis(ChunkPlan(ChunkKind.WHOLE, None, START), 1000, TOTAL_BYTES),),
        Path(bandwidth_bps=1e9, rtt_s=0.04, min_rtt_s=0.04),
    )
    state, setting, counts = begin(basis), START, [START.streams]
    for number in range(1, 25):
        sample = _make_sample(number, setting, rate_bps=2e8, rtt_s=0.12, lost=0.02 * (1 + number / 10))
        state, decision = step(basis, state, sample)
        setting = decision.chunks[0].parameters
        counts.append(decision.streams)
    return make_finding(
        compare_property("streams are given up under loss", counts[-1] < counts[0]),
        compare_property("one stream is kept at least", min(counts) >= 1),
        compare_computed(
            "ticks on which streams exceed those of the start", 0, sum(each > counts[0] for each in counts)
        ),
        _compare_bank_limits(),
    )


def _make_basis(target: float, kind: SlaKind = SlaKind.THROUGHPUT_AT_LEAST) -> Basis:
    return Basis(
        Sla(kind=kind, target=target),
        (ChunkBasis(ChunkPlan(ChunkKind.WHOLE, None, START), 1000, TOTAL_BYTES),),
    )


def _compare_bank_limits() -> Comparison:
    target = 1e8
    basis, bank = _make_basis(target), Bank()
    limit = compute_bank_limit_bits(basis, target)
    outside = 0
    for number in range(200):
        bank = credit_bank(
            bank, basis, throughput_bps=target * (2 if number % 40 < 20 else 0.1), power_w=None, interval_s=TICK_S
        )
        outside += abs(bank.bits) > limit
    return compare_computed("ticks on which the bank exceeds its bounds", 0, outside)


def check_fairness(claim: Claim, _claims: Claims) -> Finding:
    """Check our signals in all cells of queue and loss: loss first, then delay, else quiet.

    Check also when streams are added, and that one stays.
    """
    expected_s, tolerated = 0.06, 1e-3
    band = claim.values["h_default"]
    cells = {
        (queue, lost): classify_signal(
            delay_s=queue * expected_s,
            expected_s=expected_s,
            loss=Loss(lost * tolerated, inf),
            tolerated_loss=tolerated,
            limit=StreamLimit(),
        )
        for queue in (*_FREE_QUEUES, 1.0, 1.2, 1.3, 3.0)
        for lost in (0.0, 1.0, 5.0)
    }
    expected_signals = {
        (queue, lost): Signal.LOSS if lost > 1 else Signal.DELAY if queue > 1 + band else Signal.QUIET
        for queue, lost in cells
    }
    floor = StreamLimit().cut(Signal.LOSS, 1, delay_s=0.0, loss=0.1, elapsed_s=0.0)
    return make_finding(
        compare_computed("dead band around the expected delay", band, DEAD_BAND),
        compare_computed("streams that are left of one", claim.values["min"], floor.streams or 0),
        compare_cases(
            "cells of queue and loss: classified as in the table",
            len(cells),
            sum(cells[each] is expected_signals[each] for each in cells),
        ),
        compare_cases(
            "queues below the band: streams are added",
            len(_FREE_QUEUES),
            sum(has_room(queue * expected_s, expected_s) for queue in _FREE_QUEUES),
        ),
    )


_FREE_QUEUES = (0.2, 0.5, 0.7)
"""Over the expected one."""


def check_loss_first(_claim: Claim, _claims: Claims) -> Finding:
    """Check which signal is answered, and how many streams each leaves of `START`; ours is one count over all files."""
    both = classify_signal(delay_s=1.0, expected_s=0.06, loss=Loss(0.05, inf), tolerated_loss=1e-3, limit=StreamLimit())
    files, each = START.concurrency or 1, START.parallelism or 1
    left = {
        signal: StreamLimit().cut(signal, files * each, delay_s=0.1, loss=0.05, elapsed_s=0.0)
        for signal in (Signal.LOSS, Signal.DELAY)
    }
    return make_finding(
        compare_property("loss outweighs queueing delay", both is Signal.LOSS),
        compare_computed(
            f"streams that loss leaves of {files} files of {each}",
            (files - 1) * each,
            _count_streams(left, Signal.LOSS),
        ),
        compare_computed("and delay", files * (each - 1), _count_streams(left, Signal.DELAY)),
    )


def _count_streams(left: Mapping[Signal, StreamLimit], signal: Signal) -> int:
    return left[signal].streams or 0


def check_opportunistic(_claim: Claim, _claims: Claims) -> Finding:
    """Check that after a dip the goal is above the target until the missed bytes are made up for."""
    target = 1e8
    basis, bank, seconds, moved_bits = _make_basis(target), Bank(), 0.0, 0.0
    goals = []
    for number in range(240):
        aim = set_goal(bank, basis, remaining_bytes=TOTAL_BYTES, elapsed_s=seconds, knows_power=False).floor_bps or 0.0
        rate = 0.8 * target if number < 12 else aim
        goals.append(aim)
        bank = credit_bank(bank, basis, throughput_bps=rate, power_w=None, interval_s=TICK_S)
        seconds, moved_bits = seconds + TICK_S, moved_bits + rate * TICK_S
    return make_finding(
        compare_property("the goal is above the agreement after a dip", goals[12] > target),
        compare_property("what a dip of 20 % took is made up for", moved_bits >= target * seconds),
        compare_property("a full bank eases the goal", goals[-1] < goals[12]),
        *_compare_energy_made_up_for(),
    )


def _compare_energy_made_up_for() -> Iterator[Comparison]:
    """Compare the same for an energy SLA, when the first ticks take a fifth too much."""
    target_j, ticks = 6e4, 160
    basis, bank = _make_basis(target_j, SlaKind.ENERGY_AT_MOST), Bank()
    tick_bytes, left_bytes, aims = TOTAL_BYTES // ticks, TOTAL_BYTES, list[float]()
    for number in range(ticks):
        aim = set_goal(bank, basis, remaining_bytes=left_bytes, elapsed_s=number * TICK_S, knows_power=True)
        aims.append(aim.ceiling_j_per_byte or 0.0)
        spent_j = tick_bytes * (1.2 * target_j / TOTAL_BYTES if number < 12 else aims[-1])
        bank = credit_bank(
            bank, basis, throughput_bps=8 * tick_bytes / TICK_S, power_w=spent_j / TICK_S, interval_s=TICK_S
        )
        left_bytes -= tick_bytes
    yield compare_property("the energy aimed at is below the agreement after a fifth too much", aims[12] < aims[0])
    yield compare_property("what was too much is made up for", bank.used_j <= target_j * (1 + 1e-9))


CHECKS = {
    "001-alg1": check_printed_tuning,
    "001-alg1-sane": check_controller,
    "001-alg2": check_printed_fairness,
    "001-alg2-sane": check_fairness,
    "001-fairness-order": check_loss_first,
    "001-opp": check_opportunistic,
}
