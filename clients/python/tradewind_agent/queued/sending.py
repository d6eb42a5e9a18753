"""A plan at work: wait for each burst, copy its jobs one after another or at once, and tell what came of it.

A job of a burst begins when the planned ones before it have ended, never before it is ready. How long each really took
is known afterwards; what was saved is then modelled again from the times that were.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tradewind.errors import TradewindError
from tradewind.mobile.batching import BatchPlan, BatchTerms, evaluate_bursts, group_into_bursts
from tradewind.mobile.queue import Burst, BurstMode, QueuedJob, ScheduledJob
from tradewind.transfer import Status
from tradewind.units import compute_throughput_bps
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.queued.advice import Advice

PAUSE_S = 0.5
"""Within a burst one copy ends and the next begins; the radio is taken to be active meanwhile."""
WAIT_SLICE_S = 30.0
"""The longest sleep: it does not count the time of a suspended host, which looks at the clock again so soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentJob:
    """A job that was sent, or why it was not; times are seconds since the plan's beginning, unless it never began."""

    planned: ScheduledJob
    starts_s: float | None = None
    ends_s: float | None = None
    report: CopyReport | None = None
    failure: str | None = None

    @property
    def job(self) -> QueuedJob:
        return self.planned.job

    @property
    def succeeded(self) -> bool:
        return self.report is not None and self.report.is_complete

    @property
    def reason(self) -> str | None:
        """Why it is not, or not all, there; ``None`` where it is."""
        if self.report is None or self.succeeded:
            return self.failure
        if failure := next(iter(self.report.failures), None):
            return f"{failure.file}: {failure.reason}"
        if omission := next(iter(self.report.left_out), None):
            return f"{omission.place} was left out: it {omission.reason}"
        return str(self.report.status)

    @property
    def in_time(self) -> bool | None:
        """Whether the deadline was kept; ``None`` where there is none or nothing was finished."""
        if not self.succeeded or self.ends_s is None or self.job.deadline_s is None:
            return None
        return self.ends_s <= self.job.deadline_s

    @property
    def cancelled(self) -> bool:
        return self.report is not None and self.report.status is Status.CANCELLED


@dataclass(frozen=True, slots=True)
class QueueReport:
    """What a queue came to.

    ``unlisted`` : of jobs that were not planned, by their names, why their files could not be listed.
    ``as_sent`` : the plan's figures, of the times that were. ``stopped`` : by the user, before its end.
    """

    advice: Advice
    sent: tuple[SentJob, ...]
    as_sent: BatchPlan | None
    stopped: bool = False
    unlisted: Mapping[str, str] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        return not self.unlisted and all(each.succeeded for each in self.sent)

    def format_lines(self) -> list[str]:
        """Return a line a job, and one with the energy that was saved."""
        lines = [*describe_unlisted(self.unlisted), *(_format_line(each) for each in self.sent)]
        if self.as_sent is not None:
            radio = self.advice.radio
            own_j = self.as_sent.separate_active_j + self.as_sent.separate_tail_j
            lines.append(
                f"saved {self.as_sent.saved_j:.3g} J of the {own_j:.3g} J of {radio.title} (modelled) that each on its "
                f"own would have taken; the plan expected {self.advice.plan.saved_j:.3g} J"
            )
        return lines

    def build_document(self) -> dict[str, Any]:
        return {
            "rationale": self.advice.rationale,
            "planned_by": self.advice.source,
            "radio": self.advice.radio.name,
            "planned": build_batch_plan_document(self.advice.plan),
            "as_sent": None if self.as_sent is None else build_batch_plan_document(self.as_sent),
            "energy_is": "modelled, of the radio above idle",
            "stopped": self.stopped,
            "jobs": [_build_document(each) for each in self.sent],
            "not_planned": dict(self.unlisted),
        }


def send_queue(
    advice: Advice,
    copy: Callable[[str], CopyReport],
    *,
    clock_s: Callable[[], float],
    pause: Callable[[float], object],
    say: Callable[[str], None] = lambda _: None,
) -> QueueReport:
    """Send every job when the plan says, until an interrupt; report what was sent by then, and what was not.

    Parameters
    ----------
    copy : copies the job of a name; called from other threads for jobs that go at once.
    clock_s : seconds since the plan's beginning, those of a suspended host too.
    pause : sleeps for so many seconds.
    """
    sending = _Sending(copy, clock_s, pause)
    stopped = False
    try:
        for burst in advice.plan.bursts:
            if (left_s := burst.starts_s - clock_s()) > 0:
                say(f"waiting {left_s:.0f} s for {_format_names(burst)}, {_explain_wait(burst)}")
                sending.wait_until(burst.starts_s)
            sending.send(burst)
            if stopped := sending.cancelled:
                break  # the user wants no more of it
    except KeyboardInterrupt:
        stopped = True
    placed = [each for burst in advice.plan.bursts for each in burst.placed]
    sent = tuple(sending.build_outcome(each) for each in placed)
    return QueueReport(advice, sent, _evaluate_sent(sent, advice), stopped)


class _Sending:
    """The jobs sent so far, by their names."""

    def __init__(
        self, copy: Callable[[str], CopyReport], clock_s: Callable[[], float], pause: Callable[[float], object]
    ) -> None:
        self._copy, self._clock_s, self._pause = copy, clock_s, pause
        self._started_s: dict[str, float] = {}
        self._sent: dict[str, SentJob] = {}

    @property
    def cancelled(self) -> bool:
        return any(each.cancelled for each in self._sent.values())

    def wait_until(self, moment_s: float) -> None:
        """Wait in slices, as a sleep may end later than it was to."""
        while (left_s := moment_s - self._clock_s()) > 0:
            self._pause(min(left_s, WAIT_SLICE_S))

    def build_outcome(self, placed: ScheduledJob) -> SentJob:
        """Return the result of a job, so far."""
        name = placed.job.name
        if (known := self._sent.get(name)) is not None:
            return known
        if (started_s := self._started_s.get(name)) is None:
            return SentJob(planned=placed, failure="not sent: stopped before")
        reason = "stopped; the next run goes on from what is there"
        return SentJob(planned=placed, starts_s=started_s, ends_s=self._clock_s(), failure=reason)

    def send(self, burst: Burst) -> None:
        """Copy its jobs, one after another or at once, none before it is ready."""
        if burst.mode is BurstMode.CONCURRENT:
            self._send_concurrently(burst)
            return
        for placed in burst.placed:
            self._send_one(placed)

    def _send_concurrently(self, burst: Burst) -> None:
        """Send each job when it is ready and those that were planned to have ended by then are over."""
        over = {placed.job.name: threading.Event() for placed in burst.placed}
        in_order = sorted(burst.placed, key=lambda placed: (placed.starts_s, placed.ends_s))

        def send(placed: ScheduledJob) -> None:
            try:
                for before in in_order[
                    : in_order.index(placed)
                ]:  # of empty jobs, which take no time, earlier ones alone
                    if before.ends_s <= placed.starts_s:
                        over[before.job.name].wait()
                self._send_one(placed)
            finally:
                over[placed.job.name].set()

        # Daemons: an interrupt ends the program, and finished parts stay for the next run.
        threads = [threading.Thread(target=send, args=(placed,), daemon=True) for placed in burst.placed]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _send_one(self, placed: ScheduledJob) -> None:
        """Send one job and store its result; a failed job does not keep the others from being sent."""
        self.wait_until(placed.job.ready_s)
        name = placed.job.name
        self._started_s[name] = starts_s = self._clock_s()
        report, failure = None, None
        try:
            report = self._copy(name)
        except (TradewindError, OSError) as error:
            failure = str(error)
        except Exception as defect:  # noqa: BLE001 -- the job's report has it
            failure = f"cannot be copied: {defect!r}"
        self._sent[name] = SentJob(
            planned=placed, starts_s=starts_s, ends_s=self._clock_s(), report=report, failure=failure
        )


def _format_names(burst: Burst) -> str:
    return ", ".join(each.job.name for each in burst.placed)


def _explain_wait(burst: Burst) -> str:
    """Explain why a burst does not begin at once: some job waits for company, or none may begin before."""
    waits = any(each.job.ready_s < burst.starts_s for each in burst.placed)
    return "to share a tail" if waits else "not to begin before"


def _evaluate_sent(sent: Sequence[SentJob], advice: Advice) -> BatchPlan | None:
    """Evaluate the model at the actual times; only jobs that moved something count."""
    moved = [
        (ScheduledJob(each.job, each.starts_s, each.ends_s), each.report.bytes_moved)
        for each in sent
        if each.report is not None and each.starts_s is not None and each.ends_s is not None
        if each.report.bytes_moved and each.ends_s > each.starts_s
    ]
    if not moved:
        return None
    times = [placed for placed, _ in moved]
    return evaluate_bursts(
        group_into_bursts((_build_measured_job(placed, moved_bytes, times) for placed, moved_bytes in moved), PAUSE_S),
        BatchTerms(radio=advice.radio),
    )


def _build_measured_job(placed: ScheduledJob, moved_bytes: int, among: Sequence[ScheduledJob]) -> ScheduledJob:
    """Return the job as it was: next to others it may have been slower than alone, but not faster."""
    job = placed.job
    overlaps = any(
        other.starts_s < placed.ends_s and placed.starts_s < other.ends_s for other in among if other is not placed
    )
    rate_bps = compute_throughput_bps(moved_bytes, placed.ends_s - placed.starts_s)
    if overlaps:
        rate_bps = max(rate_bps, job.throughput_bps)
    return replace(placed, job=replace(job, total_bytes=moved_bytes, throughput_bps=rate_bps))


def build_batch_plan_document(plan: BatchPlan) -> Mapping[str, Any]:
    """Return a plan as a document, under the names of the wire."""
    return {
        "bursts": [
            {
                "mode": str(burst.mode),
                "starts_s": burst.starts_s,
                "ends_s": burst.ends_s,
                "jobs": [each.job.name for each in burst.placed],
            }
            for burst in plan.bursts
        ],
        "active_j": plan.active_j,
        "tail_j": plan.tail_j,
        "on_their_own_j": plan.separate_active_j + plan.separate_tail_j,
        "saved_j": plan.saved_j,
        "tails_saved": plan.tails_saved,
        "delay_s": plan.delay_s,
        "missed": list(plan.missed),
    }


def _format_line(each: SentJob) -> str:
    due = {True: "; in time", False: "; after its deadline", None: ""}[each.in_time]
    start = "" if each.starts_s is None else f"started after {each.starts_s:.0f} s{due}; "
    lines = each.failure if each.report is None else each.report.format_line()
    return f"{each.job.name}: {start}{lines}"


def describe_unlisted(unlisted: Mapping[str, str]) -> list[str]:
    return [f"{name}: not sent: {reason}" for name, reason in unlisted.items()]


def _build_document(each: SentJob) -> dict[str, Any]:
    return {
        "name": each.job.name,
        "planned_starts_s": each.planned.starts_s,
        "planned_ends_s": each.planned.ends_s,
        "starts_s": each.starts_s,
        "ends_s": each.ends_s,
        "deadline_s": each.job.deadline_s,
        "in_time": each.in_time,
        "failure": each.reason,
        "report": None if each.report is None else each.report.build_document(),
    }
