"""Logs and metrics of the server's processes: constant event names with their data, and Prometheus counters.

Event names are listed here, so that a search for one finds every place that logs it, and dashboards can rely on them.
"""

import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self, TextIO

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import FilteringBoundLogger

from services.application.monitoring.watch_service import ServiceState
from tradewind.recommendation import AnswerSource
from tradewind.transfer import Status

# Between an answer from memory and one that waited for a database.
REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Event(StrEnum):
    """Everything that the server's processes log."""

    REQUEST_FAILED = "request.failed"
    CALLS_REFUSED = "calls.refused"
    SPENDING_NEAR_LIMIT = "spending.near_limit"
    CALLS_NOT_SHARED = "calls.not_shared"
    SIGN_IN_REFUSED = "sign_in.refused"
    BATCH_STORED = "batch.stored"
    TRANSFER_ENDED = "transfer.ended"
    EVENT_NOT_SENT = "event.not_sent"
    NOTICE_FAILED = "notice.failed"
    LOOK_AT_SHARES_FAILED = "look_at_shares.failed"
    TASK_DONE = "task.done"
    TASK_RETRIED = "task.retried"
    TASK_FAILED = "task.failed"
    LINK_FITTED = "link.fitted"
    LINK_REFUSED = "link.refused"
    RELEASE_PUBLISHED = "release.published"
    RELEASE_REFUSED = "release.refused"
    OLD_RELEASES_REMOVED = "old_releases.removed"
    DAYS_ROLLED_UP = "days.rolled_up"
    USAGE_REFRESHED = "usage.refreshed"
    LOGS_EXPORTED = "logs.exported"
    LOGS_COMPACTED = "logs.compacted"
    LOGS_DROPPED = "logs.dropped"
    LOGS_RETAINED = "logs.kept"
    SWEPT = "sweep.done"
    HEARTBEATS_JOURNALLED = "heartbeats.journalled"
    QUOTES_WAIT = "quotes.wait"
    QUOTES_JOURNALLED = "quotes.journalled"
    QUOTES_DROPPED = "quotes.dropped"
    LONG_READS_ENDED = "long_reads.ended"
    TRACES_NOT_SENT = "traces.not_sent"
    JOURNAL_WAITS = "journal.waits"
    HEARTBEAT_DROPPED = "heartbeat.dropped"
    NOT_READY = "not_ready"
    DEGRADED = "degraded"
    READY_AGAIN = "ready_again"


def create_logger(process: str, *, output: TextIO) -> FilteringBoundLogger:
    """Return a logger that writes one JSON line an event, each with the name of its process."""
    wrapped: FilteringBoundLogger = structlog.wrap_logger(
        structlog.WriteLogger(output),
        processors=[
            structlog.contextvars.merge_contextvars,  # of the running request or task: see ``jobs.REQUEST_ID``
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Without local variables: they hold keys and bodies.
            structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        process=process,
    )
    return wrapped


@dataclass(frozen=True)
class Metrics:
    """The metrics of one process, in a registry of its own."""

    registry: CollectorRegistry
    request_seconds: Histogram
    requests: Counter
    rows_accepted: Counter
    rows_rejected: Counter
    calls_refused: Counter
    spending_limits_near: Counter
    recommendations_beyond_limit: Counter
    sign_ins_refused: Counter
    upload_disk_free: Gauge
    recommended: Mapping[str, Counter]
    """By the source of the recommendation."""

    transfers_ended: Counter
    sla_outcomes: Counter

    @classmethod
    def create(cls) -> Self:
        """Return fresh metrics, all at zero; labels are few and bounded, never an identifier."""
        registry = CollectorRegistry()
        recommendations = Counter(
            "tradewind_recommendations", "Recommendations, by where they come from.", ["source"], registry=registry
        )
        return cls(
            registry=registry,
            request_seconds=Histogram(
                "tradewind_request_seconds",
                "Server time of a request, in seconds.",
                ["method", "route"],
                buckets=REQUEST_SECONDS,
                registry=registry,
            ),
            requests=Counter("tradewind_requests", "Answers.", ["method", "route", "status"], registry=registry),
            calls_refused=Counter(
                "tradewind_calls_refused", "Calls of keys that call too often, by kind.", ["kind"], registry=registry
            ),
            spending_limits_near=Counter(
                "tradewind_spending_limits_near",
                "Customers that have spent 80 % of their limit of a month, and once more all of it.",
                registry=registry,
            ),
            recommendations_beyond_limit=Counter(
                "tradewind_recommendations_beyond_limit",
                "Recommendations refused because their customer's spending limit is reached.",
                registry=registry,
            ),
            sign_ins_refused=Counter(
                "tradewind_sign_ins_refused", "Attempts to sign in that were refused.", registry=registry
            ),
            upload_disk_free=_upload_disk_free(registry),
            rows_accepted=Counter("tradewind_rows_accepted", "Transfer records stored.", registry=registry),
            rows_rejected=Counter("tradewind_rows_rejected", "Transfer records put in quarantine.", registry=registry),
            recommended={source: recommendations.labels(source) for source in AnswerSource},
            transfers_ended=Counter(
                "tradewind_transfers_ended", "Transfers that ended, by how.", ["status"], registry=registry
            ),
            sla_outcomes=_create_sla_counter(registry),
        )

    def count_end(self, status: Status, is_sla_met: bool | None) -> None:
        """Count the first end of a transfer, and whether its SLA was met if it had a target."""
        self.transfers_ended.labels(status).inc()
        if is_sla_met is not None:
            self.sla_outcomes.labels("kept" if is_sla_met else "missed").inc()


def _create_sla_counter(registry: CollectorRegistry) -> Counter:
    """Return the counter with both outcomes, so that a share is defined before the first SLA is missed."""
    counter = Counter(
        "tradewind_agreements", "Agreements of transfers that ended, by outcome.", ["outcome"], registry=registry
    )
    for outcome in ("kept", "missed"):
        counter.labels(outcome)
    return counter


def _upload_disk_free(registry: CollectorRegistry) -> Gauge:
    gauge = Gauge(
        "tradewind_upload_disk_free_ratio",
        "Share that is free of the disk on which uploads are put aside.",
        registry=registry,
    )
    gauge.set_function(_free_share)
    return gauge


def _free_share() -> float:
    try:
        disk = shutil.disk_usage(tempfile.gettempdir())
    except OSError:
        return math.nan
    return disk.free / disk.total


class StateMetrics(Collector):
    """The state of the service as metrics; an unknown value has no sample, and ``tradewind_watched`` says so."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        state, queued = self._state, self._state.queued
        streams = queued.streams if queued else {}
        yield _build_labelled_gauge(
            "watched",
            "1 where the part answers whoever watches over the service, else 0.",
            "part",
            {"database": state.database_answers, "redis": queued is not None},
        )
        yield _build_gauge(
            "state_told",
            "1 where the database answered in time what is stored, else 0; its metrics have no sample then.",
            float(state.live_transfers is not None),
        )
        yield _build_gauge(
            "ingest_lag_seconds",
            "Age in seconds of the oldest rows that are due to be learned, and that no current release knows.",
            state.ingest_lag_s,
        )
        yield _build_gauge(
            "oldest_release_age_seconds",
            "Age in seconds of the oldest current release, of all tenants.",
            state.oldest_release_s,
        )
        yield _build_gauge("live_transfers", "Transfers that are going on.", state.live_transfers)
        yield _build_gauge(
            "days_to_export", "Days of tenants' views that are over and not exported.", state.days_to_export
        )
        yield _build_gauge("months_overdue", "Months of logs that are older than is kept.", state.months_overdue)
        yield _build_labelled_gauge(
            "queue_jobs", "Jobs that no worker has taken, by queue.", "queue", queued.jobs if queued else {}
        )
        yield _build_gauge(
            "taken_jobs", "Jobs that a worker has taken and not done.", queued.taken_jobs if queued else None
        )
        yield _build_labelled_gauge(
            "journal_entries",
            "Entries that wait to be stored in the database, by stream.",
            "stream",
            {name: each.entries for name, each in streams.items()},
        )
        yield _build_labelled_gauge(
            "journal_age_seconds",
            "Time in seconds that the oldest entry has waited to be stored in the database, by stream.",
            "stream",
            {name: each.oldest_s for name, each in streams.items()},
        )
        yield from self._collect_room()

    def _collect_room(self) -> Iterator[Metric]:
        """Yield how much room is left before something is lost."""
        backup, queued = self._state.backup, self._state.queued
        yield _build_gauge(
            "redis_memory_bytes", "Memory that Redis has taken.", queued.memory_bytes if queued else None
        )
        yield _build_gauge(
            "redis_memory_limit_bytes",
            "Memory that Redis takes at most, 0 of no bound.",
            queued.most_memory_bytes if queued else None,
        )
        yield _build_gauge(
            "backup_followed",
            "1 where a backup takes the database's log as it comes, 0 where it has stopped; no sample of none.",
            float(backup.followed) if backup else None,
        )
        yield _build_gauge(
            "backup_behind_bytes",
            "The database's log that it keeps for the backup; no sample where it could not keep all of it.",
            backup.behind_bytes if backup else None,
        )
        yield _build_gauge(
            "backup_copy_age_seconds",
            "Age in seconds of the newest copy of the database; no sample where none is recorded.",
            self._state.copy_s,
        )


def _build_gauge(name: str, help_text: str, value: float | None) -> Metric:
    return GaugeMetricFamily(f"tradewind_{name}", help_text, value=value)


def _build_labelled_gauge(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"tradewind_{name}", help_text, labels=[label])
    for of, value in values.items():
        family.add_metric([of], value)
    return family
