"""When to send queued jobs so that a radio's tail is paid once for several (mobile paper, section 4 and figure 8).

A radio stays in its high-power state for a while after the last byte. Jobs that run back to back or concurrently pay
for that once; but waiting for other jobs delays a job, which has its price. The cost of a plan, in joules:

    Σ bursts (P_active − P_idle) · active time  +  Σ gaps (P_tail − P_idle) · min(gap, t_tail)  +  price · Σ delays

Energy of the bits themselves is the same in every plan. A plan meets every deadline that sending as soon as possible
meets: see `_schedule_soonest`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from math import inf, isclose, isfinite

from tradewind.errors import InvalidValue
from tradewind.mobile.profiles import MAX_VALUE, RadioProfile
from tradewind.mobile.queue import (
    Burst,
    BurstMode,
    QueuedJob,
    ScheduledJob,
    schedule_concurrently,
    schedule_in_turn,
    share_capacity,
)
from tradewind.units import format_count

MAX_JOBS = 40
"""The planner's work grows with the cube of the number of jobs."""
_MOST_PERMUTED = 6
"""Up to so many jobs are tried in every order where an obvious order misses a deadline."""
_MOST_AT_ONCE = 8
"""Transfers that run concurrently; each has enough streams of its own."""
_MOST_STATES = 4
"""States kept for a prefix of the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTerms:
    """The terms by which plans are compared.

    ``waiting_price_w`` : what a second of delay of one job is worth, J.
    ``capacity_bps`` : of the radio; at least what the fastest job reaches, and None is no more than that.
    """

    radio: RadioProfile
    waiting_price_w: float = 0.0
    capacity_bps: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.waiting_price_w <= MAX_VALUE:
            raise InvalidValue("waiting_price_j_per_s", f"must be from 0 to {MAX_VALUE:g}")
        if self.capacity_bps is not None and not (isfinite(self.capacity_bps) and self.capacity_bps > 0):
            raise InvalidValue("bandwidth_bps", "must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """Bursts in order of time, with their modelled energies and delays.

    Attributes
    ----------
    active_j, tail_j : of the plan.
    separate_active_j, separate_tail_j : of each job on its own, with an entire tail each.
    delay_s : of all jobs together.
    missed : names of jobs whose deadline is not kept.
    tails_saved : jobs that do not end with an entire tail of their own.
    """

    bursts: tuple[Burst, ...]
    active_j: float
    tail_j: float
    separate_active_j: float
    separate_tail_j: float
    delay_s: float
    missed: tuple[str, ...]
    tails_saved: int

    @property
    def saved_j(self) -> float:
        """Return the energy saved against each job on its own, J; 0 where the two differ by rounding alone."""
        separate_j, batched_j = self.separate_active_j + self.separate_tail_j, self.active_j + self.tail_j
        return 0.0 if isclose(separate_j, batched_j, rel_tol=1e-9) else separate_j - batched_j

    def explain_plan(self, radio: RadioProfile) -> str:
        """Explain the plan to users."""
        jobs = format_count(sum(len(burst.placed) for burst in self.bursts), "job")
        bursts = format_count(len(self.bursts), "burst")
        tail = f"a tail of {radio.title} takes {radio.compute_tail_energy_j(inf):.3g} J ({radio.tail_s.value:.3g} s)"
        less = f"{self.saved_j:.3g} J less than" if self.saved_j else "as much energy as"
        saved = f"{less} each on its own (modelled) for {round(self.delay_s, 1):g} s of delay in all"
        return f"{jobs} in {bursts}: {tail}; {saved}"


def plan_batches(jobs: Sequence[QueuedJob], terms: BatchTerms) -> BatchPlan:
    """Return the cheapest plan found that meets every deadline that can be met.

    Raises
    ------
    InvalidValue : no job, too many, or two of one name.
    """
    _check(jobs)
    capacity_bps = max(terms.capacity_bps or 0.0, *(job.throughput_bps for job in jobs))
    soonest = _schedule_soonest(jobs, capacity_bps)
    punctual = frozenset(slot.job.name for slot in soonest[0] if slot.meets_deadline)
    orders = [
        sorted(jobs, key=lambda job: (job.ready_s, job.due_s)),
        sorted(jobs, key=lambda job: (job.due_s, job.ready_s)),
    ]
    if len(punctual) < len(jobs):
        orders.append(sorted(jobs, key=lambda job: (job.name not in punctual, job.due_s, job.ready_s)))
    candidates = [group_into_bursts(way) for way in soonest]
    candidates += [
        found for order in orders if (found := _find_cheapest(order, terms, capacity_bps, punctual)) is not None
    ]
    return evaluate_bursts(min(candidates, key=lambda bursts: _compute_cost_j(bursts, terms)), terms)


def evaluate_bursts(bursts: Sequence[Burst], terms: BatchTerms) -> BatchPlan:
    """Return the plan of these bursts with its energies and delays; they may also be bursts as they were sent."""
    radio = terms.radio
    jobs = [slot.job for burst in bursts for slot in burst.placed]
    return BatchPlan(
        bursts=tuple(bursts),
        active_j=radio.active_above_idle_w * sum(burst.active_s for burst in bursts),
        tail_j=_compute_tails_j(bursts, radio),
        separate_active_j=radio.active_above_idle_w * sum(job.duration_s for job in jobs),
        separate_tail_j=len(jobs) * radio.compute_tail_energy_j(inf),
        delay_s=sum(burst.delay_s for burst in bursts),
        missed=tuple(slot.job.name for burst in bursts for slot in burst.placed if not slot.meets_deadline),
        tails_saved=len(jobs) - sum(gap_s >= radio.tail_s.value for gap_s in _list_gaps_s(bursts)),
    )


def group_into_bursts(placed: Iterable[ScheduledJob], pause_s: float = 0.0) -> tuple[Burst, ...]:
    """Group scheduled jobs into bursts: jobs that overlap, or start within ``pause_s`` of another, belong together."""
    groups: list[list[ScheduledJob]] = []
    for slot in sorted(placed, key=lambda each: (each.starts_s, each.ends_s)):
        if groups and slot.starts_s <= max(before.ends_s for before in groups[-1]) + pause_s:
            groups[-1].append(slot)
        else:
            groups.append([slot])
    return tuple(Burst(_determine_mode(group), tuple(group)) for group in groups)


def _determine_mode(group: Sequence[ScheduledJob]) -> BurstMode:
    if len(group) == 1:
        return BurstMode.SINGLE
    overlap = any(later.starts_s < before.ends_s for before, later in pairwise(group))
    return BurstMode.CONCURRENT if overlap else BurstMode.BACK_TO_BACK


def _check(jobs: Sequence[QueuedJob]) -> None:
    if not jobs:
        raise InvalidValue("jobs", "must not be empty")
    if len(jobs) > MAX_JOBS:
        raise InvalidValue("jobs", f"must be at most {MAX_JOBS}, are {len(jobs)}")
    names = [job.name for job in jobs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidValue("jobs", f"two are named {twice!r}; give each a name of its own")


def _schedule_soonest(jobs: Sequence[QueuedJob], capacity_bps: float) -> list[list[ScheduledJob]]:
    """Schedule everything as soon as it is ready, in the ways that miss the fewest deadlines.

    The ways are in turn by deadline, or concurrently; if both miss one, also in turn with some jobs postponed, or few
    jobs in every order. Which deadlines can be met at all is a hard problem: with more jobs, those are met that one of
    the first three ways meets.
    """
    ways = [_schedule_by_deadline(jobs), share_capacity([(job, job.ready_s) for job in jobs], capacity_bps)]
    if min(map(_count_misses, ways)):
        ways.append(_schedule_with_postponed_jobs(jobs))
        if len(jobs) <= _MOST_PERMUTED:
            ways += [_schedule_one_by_one(order) for order in permutations(jobs)]
    fewest = min(map(_count_misses, ways))
    return [way for way in ways if _count_misses(way) == fewest]


def _count_misses(placed: Sequence[ScheduledJob]) -> int:
    return sum(not slot.meets_deadline for slot in placed)


def _schedule_by_deadline(jobs: Sequence[QueuedJob]) -> list[ScheduledJob]:
    """Schedule jobs in turn without idling while one is ready; of those that are ready the most urgent goes first."""
    waiting, placed, now_s = list(jobs), list[ScheduledJob](), 0.0
    while waiting:
        now_s = max(now_s, min(job.ready_s for job in waiting))
        job = min((job for job in waiting if job.ready_s <= now_s), key=lambda job: (job.due_s, job.duration_s))
        waiting.remove(job)
        placed.append(ScheduledJob(job, now_s, now_s + job.duration_s))
        now_s += job.duration_s
    return placed


def _schedule_with_postponed_jobs(jobs: Sequence[QueuedJob]) -> list[ScheduledJob]:
    """Schedule by deadline, but put last each job that cannot be in time, and the longest job before one that would be
    late.

    Moore (1968): the fewest misses where all are ready; where they become so one by one, a good way.
    """
    in_time, postponed = list(jobs), [job for job in jobs if job.undelayed_end_s > job.due_s]
    for job in postponed:
        in_time.remove(job)
    while _count_misses(placed := _schedule_by_deadline(in_time)):
        late = next(number for number, slot in enumerate(placed) if not slot.meets_deadline)
        longest = max(placed[: late + 1], key=lambda each: each.job.duration_s).job
        in_time.remove(longest)
        postponed.append(longest)
    return placed + _schedule_one_by_one(postponed, max((slot.ends_s for slot in placed), default=0.0))


def _schedule_one_by_one(jobs: Sequence[QueuedJob], now_s: float = 0.0) -> list[ScheduledJob]:
    placed = list[ScheduledJob]()
    for job in jobs:
        now_s = max(now_s, job.ready_s)
        placed.append(ScheduledJob(job, now_s, now_s + job.duration_s))
        now_s += job.duration_s
    return placed


def _list_gaps_s(bursts: Sequence[Burst]) -> list[float]:
    """Return the gap after each burst, s; infinite after the last."""
    return [*(later.starts_s - before.ends_s for before, later in pairwise(bursts)), *([inf] if bursts else [])]


def _compute_tails_j(bursts: Sequence[Burst], radio: RadioProfile) -> float:
    return sum(map(radio.compute_tail_energy_j, _list_gaps_s(bursts)))


def _compute_cost_j(bursts: Sequence[Burst], terms: BatchTerms) -> float:
    active_s = sum(burst.active_s for burst in bursts)
    waiting_j = terms.waiting_price_w * sum(burst.delay_s for burst in bursts)
    return terms.radio.active_above_idle_w * active_s + _compute_tails_j(bursts, terms.radio) + waiting_j


@dataclass(frozen=True, slots=True)
class _State:
    """The first jobs of an order as bursts; ``cost_j`` excludes the tail after the last."""

    ends_s: float
    cost_j: float
    bursts: tuple[Burst, ...]


def _find_cheapest(
    order: Sequence[QueuedJob], terms: BatchTerms, capacity_bps: float, punctual: frozenset[str]
) -> tuple[Burst, ...] | None:
    """Divide an order into bursts by dynamic programming; ``None`` where no division meets what can be met."""
    radio = terms.radio
    states: list[list[_State]] = [[_State(-inf, 0.0, ())], *([] for _ in order)]
    for first in range(len(order)):
        for state in states[first]:
            for after in range(first + 1, len(order) + 1):
                layouts = _list_layouts(order[first:after], max(state.ends_s, 0.0), capacity_bps)
                for burst in (layout for layout in layouts if _meets_deadlines(layout, punctual)):
                    tail_j = radio.compute_tail_energy_j(burst.starts_s - state.ends_s) if state.bursts else 0.0
                    cost_j = state.cost_j + tail_j + radio.active_above_idle_w * burst.active_s
                    cost_j += terms.waiting_price_w * burst.delay_s
                    _add_state(states[after], _State(burst.ends_s, cost_j, (*state.bursts, burst)), radio)
    last = min(states[-1], key=lambda state: state.cost_j, default=None)
    return None if last is None else group_into_bursts(slot for burst in last.bursts for slot in burst.placed)


def _meets_deadlines(burst: Burst, punctual: frozenset[str]) -> bool:
    """Return whether every job that can be in time is."""
    return all(slot.meets_deadline for slot in burst.placed if slot.job.name in punctual)


def _list_layouts(jobs: Sequence[QueuedJob], not_before_s: float, capacity_bps: float) -> list[Burst]:
    orders = [list(jobs)]
    for other in (
        sorted(jobs, key=lambda job: (job.due_s, job.ready_s)),
        sorted(jobs, key=lambda job: job.duration_s),  # the least delay of all together
    ):
        if all(other != order for order in orders):
            orders.append(other)
    layouts = [schedule_in_turn(order, not_before_s) for order in orders]
    if 1 < len(jobs) <= _MOST_AT_ONCE:
        layouts.append(schedule_concurrently(jobs, not_before_s, capacity_bps))
    return layouts


def _add_state(states: list[_State], new: _State, radio: RadioProfile) -> None:
    """Add a state unless another is as good whatever follows; drop those that it makes useless."""
    if any(_dominates(old, new, radio) for old in states):
        return
    states[:] = [old for old in states if not _dominates(new, old, radio)]
    states.append(new)
    if len(states) > _MOST_STATES:
        states.remove(max(states, key=lambda state: state.cost_j))


def _dominates(one: _State, other: _State, radio: RadioProfile) -> bool:
    """Return whether ``one`` ends no later and costs no more, even if its tail has to bridge the time between."""
    if one.ends_s > other.ends_s:
        return False
    return one.cost_j + radio.compute_tail_energy_j(other.ends_s - one.ends_s) <= other.cost_j
