"""Metrics of a worker: each process counts in files of a folder, and the main process serves the sums.

With ``PROMETHEUS_MULTIPROC_DIR`` set, prometheus_client stores its numbers in files, one set a process, so that the
numbers of a replaced process still count. Without it every process counts alone and nothing is served.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector

FIT_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Buckets from a link with little history to one with 10^7 rows."""


@dataclass(frozen=True)
class WorkerMetrics:
    """The metrics of one worker process; labels are few and bounded: never an identifier."""

    registry: CollectorRegistry
    task_seconds: Histogram
    fit_seconds: Histogram
    fitted_rows: Counter
    release_seconds: Histogram
    releases: Counter
    removed: Counter
    rolled_up_days: Counter
    refreshed_usage: Counter
    exported_rows: Counter
    heartbeats: Counter
    quotes: Counter
    gate_failures: Counter
    tenants_with_work: Gauge
    swept_jobs: Counter
    last_sweep: Gauge

    def expect(self, tasks: Iterable[str]) -> None:
        """Start the counts of failures at zero, so that the first failure is an increase and not a new series at 1.

        Parameters
        ----------
        tasks : names of the tasks that may run.
        """
        for task in tasks:
            self.task_seconds.labels(task, "failed")
        for entries in (self.heartbeats, self.quotes):
            entries.labels("dropped")

    @classmethod
    def create(cls) -> Self:
        """Return the metrics of this process; call it after the fork."""
        registry = CollectorRegistry()
        return cls(
            registry=registry,
            task_seconds=Histogram(
                "tradewind_task_seconds",
                "Time of a task in seconds, by outcome.",
                ["task", "outcome"],
                buckets=FIT_SECONDS,
                registry=registry,
            ),
            fit_seconds=Histogram(
                "tradewind_fit_seconds",
                "Time of a link's fit in seconds, by whether its model serves.",
                ["outcome"],
                buckets=FIT_SECONDS,
                registry=registry,
            ),
            fitted_rows=Counter(
                "tradewind_fitted_rows", "Log rows that new models were fitted from.", registry=registry
            ),
            release_seconds=Histogram(
                "tradewind_release_seconds",
                "Seconds from the start of a release to its publication.",
                buckets=FIT_SECONDS,
                registry=registry,
            ),
            releases=Counter("tradewind_releases", "Complete releases.", ["outcome"], registry=registry),
            removed=Counter("tradewind_removed", "Old releases and models removed.", ["what"], registry=registry),
            rolled_up_days=Counter("tradewind_rollups", "Days of links that were summed again.", registry=registry),
            refreshed_usage=Counter(
                "tradewind_refreshed_usage",
                "Transfers whose billing was computed again.",
                registry=registry,
            ),
            exported_rows=Counter("tradewind_exported_rows", "Log rows written as Parquet.", registry=registry),
            heartbeats=Counter(
                "tradewind_heartbeats", "Heartbeats taken from the stream.", ["outcome"], registry=registry
            ),
            quotes=Counter(
                "tradewind_quote_entries", "Entries of quotes taken from the stream.", ["outcome"], registry=registry
            ),
            gate_failures=Counter(
                "tradewind_gate_failures", "New models of links that the gate refused.", registry=registry
            ),
            swept_jobs=Counter(
                "tradewind_swept_jobs",
                "Jobs that the sweep sent because the first ones were lost or had to wait.",
                ["task"],
                registry=registry,
            ),
            last_sweep=Gauge(
                "tradewind_last_sweep_time_seconds",
                "When the last sweep ended, in seconds since 1970.",
                registry=registry,
                multiprocess_mode="mostrecent",
            ),
            tenants_with_work=Gauge(
                "tradewind_tenants_with_work",
                "Tenants with logs newer than their models, at the last sweep.",
                registry=registry,
                multiprocess_mode="mostrecent",
            ),
        )


class SumsBelow(MultiProcessCollector):
    """A collector of sums over the processes that count in a folder or below it, other workers' included."""

    def __init__(self, registry: CollectorRegistry, folder: Path) -> None:
        super().__init__(registry, path=str(folder))  # type: ignore[no-untyped-call]  # the library's
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        while True:
            with suppress(FileNotFoundError):  # a worker that starts removes the counts of its earlier processes
                files = [str(path) for path in self._folder.rglob("*.db") if path.stat().st_size]
                return self.merge(files)  # type: ignore[no-untyped-call,no-any-return]


def reset_counts(folder: Path) -> None:
    """Let this worker's processes count from zero.

    Parameters
    ----------
    folder : of this worker alone; it is created if missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old_file in folder.glob("*.db"):
        old_file.unlink()


def serve_metrics(host: str, port: int, folder: Path) -> None:
    """Serve the sums over all processes that count below a folder, until this process ends."""
    registry = CollectorRegistry()
    SumsBelow(registry, folder)
    start_http_server(port, host, registry)
