"""When to send the copies of a queue: by the service, which knows one's own devices, else by the same rules here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tradewind.errors import InvalidValue, TradewindError
from tradewind.mobile.batching import BatchPlan, BatchTerms, evaluate_bursts, plan_batches
from tradewind.mobile.profiles import RadioProfile
from tradewind.mobile.queue import Burst, BurstMode, QueuedJob, ScheduledJob
from tradewind.wire.batching import BatchingAdvice, BatchingRequest, WireQueuedJob
from tradewind_agent.copy.listing import Listing, list_files
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import prepare_listed
from tradewind_agent.engine.http.address import Url
from tradewind_agent.errors import KeyRefused, ScopeMissing, ServiceProblem, ServiceUnreachable
from tradewind_agent.queued.queue_file import CopyRequest
from tradewind_agent.session.radio_profile import find_radio_profile
from tradewind_agent.system_errors import explain_os_error

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioChoice:
    """``waiting_price_w`` : what a second of delay of one job is worth, J. ``capacity_bps`` : of the radio."""

    radio: str
    device: str | None = None
    waiting_price_w: float = 0.0
    capacity_bps: float | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """A plan, the radio that it was made for, and who made it."""

    plan: BatchPlan
    radio: RadioProfile
    source: str

    @property
    def rationale(self) -> str:
        return f"{self.plan.explain_plan(self.radio)}; planned by {self.source}"

    @property
    def concurrent_jobs(self) -> frozenset[str]:
        """Names of the jobs of bursts whose jobs go at once."""
        at_once = (burst for burst in self.plan.bursts if burst.mode is BurstMode.CONCURRENT)
        return frozenset(placed.job.name for burst in at_once for placed in burst.placed)


@dataclass(frozen=True, slots=True)
class SizedQueue:
    """The jobs that can be planned, and of the others, by their names, why their files cannot be listed."""

    jobs: Sequence[QueuedJob]
    unlisted: Mapping[str, str]


def size_queue(requests: Sequence[CopyRequest], options: CopyOptions, client: "Client | None") -> SizedQueue:
    """Return the copies with their bytes and the rate that each is expected to reach alone.

    Raises
    ------
    InvalidValue : the rate is unknown, one would last too long, or two would write one file.
    """
    listings: list[tuple[CopyRequest, Listing]] = []
    unlisted: dict[str, str] = {}
    for each in requests:
        try:
            settings = each.apply_to(options)
            listing = list_files(
                each.sources, each.destination, manifest=each.manifest, options=settings.engine, rules=settings.listing
            )
        except TradewindError as wrong:
            unlisted[each.name] = str(wrong)
        except OSError as failed:
            unlisted[each.name] = str(explain_os_error(failed))
        else:
            listings.append((each, listing))
    _check_apart(listings)
    return SizedQueue([_size_job(*each, options, client) for each in listings], unlisted)


def _check_apart(listings: Sequence[tuple[CopyRequest, Listing]]) -> None:
    """Check that no two jobs write the same file, at once or one over the other."""
    writers: dict[str, str] = {}
    for request, listing in listings:
        for job in listing.jobs:
            file = _format_file_name(job.destination)
            if (other := writers.setdefault(file, request.name)) != request.name:
                raise InvalidValue(request.name, f"would write {file}, as {other} does; give each a place of its own")


def _format_file_name(destination: Url | str) -> str:
    """Return the one name of a file, however it is spelt."""
    return str(Path(destination).resolve() if isinstance(destination, str) else destination)


def _size_job(request: CopyRequest, listing: Listing, options: CopyOptions, client: "Client | None") -> QueuedJob:
    rate_bps = request.throughput_bps
    if rate_bps is None:
        predicted = prepare_listed(listing, options=options, client=client).plan.predicted
        rate_bps = options.bandwidth_bps if predicted is None else predicted.throughput_bps.mean
    if rate_bps is None:
        raise InvalidValue(
            request.name, 'nobody knows how fast it will be; add a "rate" to the job, or --bandwidth of the path'
        )
    return QueuedJob(
        name=request.name,
        total_bytes=sum(listing.sizes_bytes),
        throughput_bps=rate_bps,
        ready_s=request.ready_s,
        deadline_s=request.deadline_s,
    ).require_plannable()


def advise_queue(jobs: Sequence[QueuedJob], choice: RadioChoice, client: "Client | None") -> Advice:
    """Advise when to send the jobs; by the rules of this host if the service is unreachable, fails or has no such
    advice.

    Raises
    ------
    NotFound : no such radio or device; only the service knows the user's own devices.
    KeyRefused, ScopeMissing : the user has to correct the key.
    """
    radio = find_radio_profile(choice.radio, choice.device, client)
    terms = BatchTerms(radio=radio, waiting_price_w=choice.waiting_price_w, capacity_bps=choice.capacity_bps)
    if client is not None:
        try:
            return Advice(evaluate_bursts(_ask_service(jobs, choice, client), terms), radio, "the service")
        except (KeyRefused, ScopeMissing):
            raise
        except (ServiceUnreachable, ServiceProblem):
            pass
    return Advice(plan_batches(jobs, terms), radio, "this host")


def _ask_service(jobs: Sequence[QueuedJob], choice: RadioChoice, client: "Client") -> list[Burst]:
    request = BatchingRequest(
        radio=choice.radio,
        device=choice.device,
        waiting_price_j_per_s=choice.waiting_price_w,
        bandwidth_bps=choice.capacity_bps,
        jobs=tuple(WireQueuedJob.from_domain(job) for job in jobs),
    )
    return _list_bursts(client.mobile.advise_batching(request), jobs)


def _list_bursts(advice: BatchingAdvice, jobs: Sequence[QueuedJob]) -> list[Burst]:
    by_name = {job.name: job for job in jobs}
    return [
        Burst(burst.mode, tuple(ScheduledJob(by_name[each.name], each.starts_s, each.ends_s) for each in burst.jobs))
        for burst in advice.bursts
    ]
