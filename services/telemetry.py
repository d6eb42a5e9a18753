"""Logs and metrics of the server's processes: constant event names with their data beside them, Prometheus counters.

Event names are listed here, so that a search for one finds every place that says it, and dashboards can rely on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self, TextIO

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import FilteringBoundLogger

from tradewind.recommendation import AnswerSource

# Between an answer from memory and one that waited for a database.
REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Event(StrEnum):
    """Everything that the server's processes log."""

    REQUEST_FAILED = "request.failed"
    BATCH_STORED = "batch.stored"
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
    LOGS_EXPORTED = "logs.exported"
    LOGS_DROPPED = "logs.dropped"
    LOGS_KEPT = "logs.kept"
    SWEPT = "sweep.done"
    HEARTBEATS_JOURNALLED = "heartbeats.journalled"
    QUOTES_WAIT = "quotes.wait"
    QUOTES_JOURNALLED = "quotes.journalled"
    QUOTES_DROPPED = "quotes.dropped"
    JOURNAL_WAITS = "journal.waits"
    HEARTBEAT_DROPPED = "heartbeat.dropped"


def logger(process: str, *, output: TextIO) -> FilteringBoundLogger:
    """Return a logger that writes one JSON line an event, each with the process that it comes from."""
    wrapped: FilteringBoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(output),
        processors=[
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
    recommended: Mapping[str, Counter]
    """By where the recommendation comes from."""

    @classmethod
    def create(cls) -> Self:
        """Return fresh metrics, all at zero; labels are few and bounded: never an identifier."""
        registry = CollectorRegistry()
        recommendations = Counter(
            "tradewind_recommendations", "Recommendations, by where they come from.", ["source"], registry=registry
        )
        return cls(
            registry=registry,
            request_seconds=Histogram(
                "tradewind_request_seconds",
                "Server time of a request.",
                ["method", "route"],
                buckets=REQUEST_SECONDS,
                registry=registry,
            ),
            requests=Counter("tradewind_requests", "Answers.", ["method", "route", "status"], registry=registry),
            rows_accepted=Counter("tradewind_rows_accepted", "Transfer records stored.", registry=registry),
            rows_rejected=Counter("tradewind_rows_rejected", "Transfer records put in quarantine.", registry=registry),
            recommended={source: recommendations.labels(source) for source in AnswerSource},
        )
