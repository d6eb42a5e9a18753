"""Jobs that wait to be sent over one radio, and their schedules.

All times are seconds from now.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, isfinite

from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE

_DAY_S = 86400.0
MAX_WAIT_S = 30 * _DAY_S
"""Latest time for a job to start or to finish."""
MAX_TRANSFER_S = 30 * _DAY_S
"""Longest transfer of one job. A tail of seconds does not matter to a longer one, which more likely has a rate in the
wrong unit."""
_ROUNDING_S = 1e-9
"""Moments that differ by less are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A job to send. ``throughput_bps`` : its rate with the radio to itself. ``deadline_s`` : when it must have
    finished.
    """

    name: str
    total_bytes: int
    throughput_bps: float
    ready_s: float = 0.0
    deadline_s: float | None = None

    def __post_init__(self) -> None:
        for name, value, least in (
            ("total_bytes", self.total_bytes, 0.0),
            ("ready_s", self.ready_s, 0.0),
            ("deadline_s", 0.0 if self.deadline_s is None else self.deadline_s, 0.0),
        ):
            if not isfinite(value) or value < least:
                raise InvalidValue(f"{self.name}.{name}", "must be finite and not negative")
        if not isfinite(self.throughput_bps) or self.throughput_bps <= 0:
            raise InvalidValue(f"{self.name}.throughput_bps", "must be above 0")

    @property
    def duration_s(self) -> float:
        """Return the duration with the radio to itself, s."""
        return BITS_PER_BYTE * self.total_bytes / self.throughput_bps

    def require_plannable(self) -> "QueuedJob":
        """Return the job itself after checking its duration.

        Raises
        ------
        InvalidValue : it would last too long to be planned for.
        """
        if self.duration_s > MAX_TRANSFER_S:
            days, longest_days = self.duration_s / _DAY_S, MAX_TRANSFER_S / _DAY_S
            raise InvalidValue(
                f"{self.name}.throughput_bps",
                f"the job would take {days:.0f} days at this rate, but {longest_days:.0f} days is the maximum; "
                "is the rate in bit/s?",
            )
        return self

    def count_times_from(self, now_s: float) -> "QueuedJob":
        """Return the job with times that count from a later moment."""
        deadline_s = None if self.deadline_s is None else max(self.deadline_s - now_s, 0.0)
        return replace(self, ready_s=max(self.ready_s - now_s, 0.0), deadline_s=deadline_s)

    @property
    def undelayed_end_s(self) -> float:
        """Return when the job would finish if it were sent alone as soon as it is ready, s."""
        return self.ready_s + self.duration_s

    @property
    def due_s(self) -> float:
        return inf if self.deadline_s is None else self.deadline_s


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """A job with its start and end."""

    job: QueuedJob
    starts_s: float
    ends_s: float

    @property
    def meets_deadline(self) -> bool:
        return self.ends_s <= self.job.due_s + _ROUNDING_S

    @property
    def delay_s(self) -> float:
        """Return how much later the job finishes than it would alone, s."""
        return max(0.0, self.ends_s - self.job.undelayed_end_s)


class BurstMode(StrEnum):
    SINGLE = "single"
    BACK_TO_BACK = "back_to_back"
    CONCURRENT = "concurrent"


@dataclass(frozen=True, slots=True)
class Burst:
    """Jobs without a pause between them: the radio is active from the first start to the last end."""

    mode: BurstMode
    placed: tuple[ScheduledJob, ...]

    @property
    def starts_s(self) -> float:
        return min(slot.starts_s for slot in self.placed)

    @property
    def ends_s(self) -> float:
        return max(slot.ends_s for slot in self.placed)

    @property
    def active_s(self) -> float:
        return self.ends_s - self.starts_s

    @property
    def delay_s(self) -> float:
        return sum(slot.delay_s for slot in self.placed)


def schedule_in_turn(jobs: Sequence[QueuedJob], not_before_s: float) -> Burst:
    """Schedule jobs one after another in the given order without a pause, as early as possible."""
    start_s, queued_s = not_before_s, 0.0
    for job in jobs:
        start_s = max(start_s, job.ready_s - queued_s)
        queued_s += job.duration_s
    placed, at_s = [], start_s
    for job in jobs:
        placed.append(ScheduledJob(job, at_s, at_s + job.duration_s))
        at_s += job.duration_s
    return Burst(BurstMode.SINGLE if len(jobs) == 1 else BurstMode.BACK_TO_BACK, tuple(placed))


def schedule_concurrently(jobs: Sequence[QueuedJob], not_before_s: float, capacity_bps: float) -> Burst:
    """Schedule all jobs to start together, when the last is ready."""
    start_s = max(not_before_s, *(job.ready_s for job in jobs))
    placed = share_capacity([(job, start_s) for job in jobs], capacity_bps)
    return Burst(BurstMode.SINGLE if len(jobs) == 1 else BurstMode.CONCURRENT, tuple(placed))


def share_capacity(starts: Iterable[tuple[QueuedJob, float]], capacity_bps: float) -> list[ScheduledJob]:
    """Schedule jobs with given starts that share a capacity: each at its own rate, all slowed equally above the
        capacity.

    A job faster than the capacity gets its own rate when it is alone: that rate is what the radio carries.
    """
    waiting = sorted(starts, key=lambda each: each[1])
    ends_s: dict[int, float] = {}
    left_bits: dict[int, float] = {}
    now_s = 0.0
    started = 0
    while len(ends_s) < len(waiting):
        rates_bps = _build_shares({index: waiting[index][0] for index in left_bits}, capacity_bps)
        left_s = {index: left_bits[index] / rates_bps[index] for index in left_bits}
        first_left_s = min(left_s.values(), default=inf)
        next_start_s = waiting[started][1] if started < len(waiting) else inf
        then_s = min(now_s + first_left_s, next_start_s)
        ending = now_s + first_left_s <= next_start_s
        for index, own_left_s in left_s.items():
            left_bits[index] -= rates_bps[index] * (then_s - now_s)
            # A job whose time has come is finished: at late moments rounding may leave some bits.
            if (ending and own_left_s <= first_left_s) or left_bits[index] <= rates_bps[index] * _ROUNDING_S:
                del left_bits[index]
                ends_s[index] = then_s
        now_s = then_s
        while started < len(waiting) and waiting[started][1] <= now_s:
            left_bits[started] = BITS_PER_BYTE * float(waiting[started][0].total_bytes)
            started += 1
    return [ScheduledJob(job, start_s, ends_s[index]) for index, (job, start_s) in enumerate(waiting)]


def _build_shares(jobs: dict[int, QueuedJob], capacity_bps: float) -> dict[int, float]:
    requested_bps = sum(job.throughput_bps for job in jobs.values())
    room_bps = max(capacity_bps, *(job.throughput_bps for job in jobs.values())) if jobs else 0.0
    slowed = min(1.0, room_bps / requested_bps) if requested_bps else 1.0
    return {index: slowed * job.throughput_bps for index, job in jobs.items()}
