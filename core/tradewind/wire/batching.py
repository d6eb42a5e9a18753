"""``POST /v1/batching/advise``: when to send queued jobs so that a radio's tail is paid once for several.

Times are seconds from now; all energies are modelled.
"""

from typing import Annotated, Self

from pydantic import Field

from tradewind.mobile.batching import MAX_JOBS, BatchPlan, BatchTerms
from tradewind.mobile.profiles import MAX_VALUE, RadioProfile
from tradewind.mobile.queue import MAX_WAIT_S, Burst, BurstMode, QueuedJob
from tradewind.wire.base import Bandwidth, Count, Name, Open, ProfileName, Strict

Moment = Annotated[float, Field(ge=0, le=MAX_WAIT_S)]


class WireQueuedJob(Strict):
    """``throughput_bps`` : what it reaches alone. It may begin at ``ready_s`` and must have ended at ``deadline_s``.

    Alone it takes 30 days at most.
    """

    name: Name
    total_bytes: Count
    throughput_bps: Bandwidth
    ready_s: Moment = 0.0
    deadline_s: Moment | None = None

    def to_job(self) -> QueuedJob:
        """Return the job.

        Raises
        ------
        InvalidValue : it would last too long.
        """
        return QueuedJob(**dict(self)).require_plannable()

    @classmethod
    def from_domain(cls, job: QueuedJob) -> Self:
        return cls(
            name=job.name,
            total_bytes=job.total_bytes,
            throughput_bps=job.throughput_bps,
            ready_s=job.ready_s,
            deadline_s=job.deadline_s,
        )


class BatchingRequest(Strict):
    """The queue, and what a delay costs.

    ``device`` : whose radio it is, where it has values of its own. ``waiting_price_j_per_s`` : what a second of delay
    of a job is worth. ``bandwidth_bps`` : of the radio; by default what the fastest job reaches.
    """

    radio: ProfileName
    device: ProfileName | None = None
    waiting_price_j_per_s: Annotated[float, Field(ge=0, le=MAX_VALUE)] = 0.0
    bandwidth_bps: Bandwidth | None = None
    jobs: tuple[WireQueuedJob, ...] = Field(min_length=1, max_length=MAX_JOBS)

    def to_jobs(self) -> list[QueuedJob]:
        return [job.to_job() for job in self.jobs]

    def to_terms(self, radio: RadioProfile) -> BatchTerms:
        return BatchTerms(radio=radio, waiting_price_w=self.waiting_price_j_per_s, capacity_bps=self.bandwidth_bps)


class BatchedJob(Open):
    name: str
    starts_s: float
    ends_s: float
    deadline_s: float | None = None
    meets_deadline: bool


class WireBurst(Open):
    """Jobs without a pause between them: one after another in this order, or all at once."""

    mode: BurstMode
    starts_s: float
    ends_s: float
    jobs: tuple[BatchedJob, ...]

    @classmethod
    def from_domain(cls, burst: Burst) -> Self:
        jobs = tuple(
            BatchedJob(
                name=slot.job.name,
                starts_s=slot.starts_s,
                ends_s=slot.ends_s,
                deadline_s=slot.job.deadline_s,
                meets_deadline=slot.meets_deadline,
            )
            for slot in burst.placed
        )
        return cls(mode=burst.mode, starts_s=burst.starts_s, ends_s=burst.ends_s, jobs=jobs)


class RadioEnergy(Open):
    """Above idle, without the energy of the bits, which is the same in every plan."""

    active_j: float
    tail_j: float


class BatchingAdvice(Open):
    """``saved_j`` : against each job on its own with an entire tail. ``missed`` : deadlines that are not kept."""

    radio: str
    bursts: tuple[WireBurst, ...]
    planned: RadioEnergy
    on_their_own: RadioEnergy
    saved_j: float
    tails_saved: int
    delay_s: float
    missed: tuple[str, ...]
    rationale: str

    @classmethod
    def from_domain(cls, plan: BatchPlan, radio: RadioProfile) -> Self:
        return cls(
            radio=radio.name,
            bursts=tuple(WireBurst.from_domain(burst) for burst in plan.bursts),
            planned=RadioEnergy(active_j=plan.active_j, tail_j=plan.tail_j),
            on_their_own=RadioEnergy(active_j=plan.separate_active_j, tail_j=plan.separate_tail_j),
            saved_j=plan.saved_j,
            tails_saved=plan.tails_saved,
            delay_s=plan.delay_s,
            missed=plan.missed,
            rationale=plan.explain_plan(radio),
        )
