"""Metrics, alerts and log events of the service, from the code and the rules of Prometheus."""

from collections.abc import Iterator
from typing import Any

import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from infra.prometheus_rule import ALERTS
from infra.reference.markdown import format_code, format_page, format_table
from services.application.monitoring.watch_service import ServiceState
from services.observability.telemetry import Event, Metrics, StateMetrics
from workers.metrics import WorkerMetrics

INTRODUCTION = """\
What the service counts, what it raises alerts on, and what it logs. How to set up Prometheus and Grafana:
[watch the service](../how-to/watch-the-service.md).

Prometheus adds `_total` to the name of a counter. A histogram has the series `_bucket`, `_count` and `_sum`.
Labels are few and bounded; none is an identifier."""

NOTHING_KNOWN = ServiceState(
    database_answers=False,
    ingest_lag_s=None,
    oldest_release_s=None,
    live_transfers=None,
    days_to_export=None,
    months_overdue=None,
    backup=None,
    copy_s=None,
    queued=None,
)
HEAD = ("metric", "type", "labels", "meaning")


def render_metrics() -> str:
    """Return the page of metrics, alerts and log events."""
    return format_page(
        "Metrics, alerts and log events",
        INTRODUCTION,
        "## Each API process: `/metrics`\n\n" + format_table(HEAD, _list_counted(Metrics.create().registry)),
        "## The service as a whole: `/metrics/service` of any API process\n\n" + format_table(HEAD, _list_watched()),
        "## Each worker: port `TRADEWIND_WORKER_METRICS_PORT`\n\n"
        + format_table(HEAD, _list_counted(WorkerMetrics.create().registry)),
        "## Alerts\n\n" + _format_alerts(),
        "## Log events\n\n" + _format_events(),
    )


def _list_counted(registry: CollectorRegistry) -> Iterator[tuple[str, str, str, str]]:
    for collector in registry._collector_to_names:  # noqa: SLF001 -- the library lists its metrics nowhere else
        if isinstance(collector, MetricWrapperBase):
            (family,) = collector.describe()
            yield _build_line(family, collector._labelnames)  # noqa: SLF001 -- likewise


def _list_watched() -> Iterator[tuple[str, str, str, str]]:
    for family in StateMetrics(NOTHING_KNOWN).collect():
        yield _build_line(family, getattr(family, "_labelnames", ()))


def _build_line(family: Any, labels: tuple[str, ...]) -> tuple[str, str, str, str]:
    return format_code(family.name), family.type, ", ".join(map(format_code, labels)), family.documentation


def _format_alerts() -> str:
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    rows = (
        (
            f"[{rule['alert']}](../how-to/answer-alerts.md#{rule['alert'].lower()})",
            rule["labels"]["severity"],
            str(rule["for"]),
            rule["annotations"]["summary"],
            format_code(" ".join(str(rule["expr"]).split())),
        )
        for rule in rules
    )
    return format_table(("alert", "severity", "after", "summary", "condition"), rows)


def _format_events() -> str:
    text = "Logs are JSON lines. `event` is one of these names; `request_id` joins a request and the tasks it led to."
    return text + "\n\n" + "\n".join(f"- {format_code(event.value)}" for event in Event)
