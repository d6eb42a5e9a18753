"""Algorithms 1 and 2 of GreenDataFlow as they are printed, to show what their defects do. Not for use.

Algorithm 2 in print::

    if Q ≪ Q.expected:   pp ← pp − 1   else: pp ← pp + 1
    if loss ≪ threshold: cc ← cc − 1   else: cc ← cc + 1

1. It is inverted: a short queue and no loss take channels away, loss adds them. The text says the contrary.
2. It turns pp (pipelining) where the text says parallelism; requests in flight do not relieve a queue.
3. It has no dead band, no floor and no cap: here alone what no plan can hold, less than one, is cut to one.

Algorithm 1 in print compares, once a check::

    energy:      if power > SLA:       if high queueing delay: fairness_control()    else: opportunistic_decrease(SLA)
                 params ← get_precomputed_results(…, SLA)
    throughput:  if throughput < SLA:  if high queueing delay: fairness_control()    else: opportunistic_increase(SLA)
                 params ← get_precomputed_results(…, SLA)

4. The last line runs always and overwrites what fairness_control has decided.
5. Power, W, is compared with an energy SLA, J; here the SLA is the number that power is compared with.
6. The else belongs to the comparison with the SLA by its place, so that a kept SLA is tightened for ever.

What ≪ means is not said: less than half here.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.tuning.reference.variant import Plan, require_power_w
from tradewind.tuning.sample import TickSample

MUCH_LESS = 0.5
TIGHTENING = 0.05
"""Share by which opportunistic_increase and _decrease move the SLA; the paper gives none."""


class Constraint(StrEnum):
    ENERGY = "energy"
    THROUGHPUT = "throughput"


@dataclass(frozen=True, slots=True)
class PrintedState:
    """``sla`` as tightened so far (W or bit/s), current ``parameters``, counters of the last sample.

    ``overruled`` : what fairness_control has decided at the last check, and line 7 or 15 has overwritten.
    """

    sla: float
    parameters: Parameters
    overruled: Parameters | None = None
    sent_bytes: int = 0
    retransmitted_bytes: int = 0


def back_off_control(
    parameters: Parameters, *, delay_s: float, expected_delay_s: float, loss: float, threshold: float
) -> Parameters:
    """Apply algorithm 2 literally."""
    pp = -1 if delay_s < MUCH_LESS * expected_delay_s else 1
    cc = -1 if loss < MUCH_LESS * threshold else 1
    return replace(
        parameters,
        pipelining=max((parameters.pipelining or 1) + pp, 1),
        concurrency=max((parameters.concurrency or 1) + cc, 1),
    )


@dataclass(frozen=True, slots=True)
class Algorithms12:
    """Algorithm 1 with Algorithm 2 for fairness_control.

    ``precomputed`` : get_precomputed_results, the setting for an SLA. ``sla`` : W or bit/s by ``constraint``.
    """

    plan: ChunkPlan
    constraint: Constraint
    sla: float
    precomputed: Callable[[float], Parameters]
    expected_delay_s: float
    loss_threshold: float = 1e-3

    def begin(self) -> tuple[PrintedState, Plan]:
        return PrintedState(self.sla, self.plan.parameters), (self.plan,)

    def step(self, state: PrintedState, sample: TickSample) -> tuple[PrintedState, Plan]:
        sla, overruled = state.sla, None
        if self.constraint is Constraint.ENERGY:
            violated, tightened = require_power_w(sample) > sla, sla * (1 - TIGHTENING)
        else:
            violated, tightened = sample.throughput_bps < sla, sla * (1 + TIGHTENING)
        if not violated:
            sla = tightened
        elif (sample.queueing_delay_s or 0.0) > self.expected_delay_s:
            overruled = self._build_fairness_control(state, sample)
        parameters = self.precomputed(sla)
        now = PrintedState(sla, parameters, overruled, sample.sent_bytes or 0, sample.retransmitted_bytes or 0)
        return now, (self.plan._replace(parameters=parameters),)

    def _build_fairness_control(self, state: PrintedState, sample: TickSample) -> Parameters:
        sent = (sample.sent_bytes or 0) - state.sent_bytes
        again = (sample.retransmitted_bytes or 0) - state.retransmitted_bytes
        return back_off_control(
            state.parameters,
            delay_s=sample.queueing_delay_s or 0.0,
            expected_delay_s=self.expected_delay_s,
            loss=again / sent if sent > 0 else 0.0,
            threshold=self.loss_threshold,
        )
