"""The metrics of real workers, scraped as Prometheus does."""

import os
import socket
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from services.application.shared.jobs import ExportLogs, FitLink, RefreshModels, RemoveOldReleases
from services.queue.dispatcher import create_job_publisher
from tests.conditions import eventually
from tests.integration.celery_worker import ROOT, worker
from tests.integration.models.refreshes import rows, upload
from tests.integration.operations.test_workers import PAIR, Store, environment, store, valkey
from tests.ports import free_port
from tests.records import record
from tests.stack import Tenant
from workers.schedule import SWEEP

__all__ = ["environment", "store", "valkey"]

pytestmark = pytest.mark.long


@pytest.fixture
def metrics(tmp_path: Path) -> dict[str, str]:
    """Variables of a worker that serves its metrics."""
    return {"TRADEWIND_WORKER_METRICS_PORT": str(free_port()), "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics")}


def scraped(metrics: dict[str, str]) -> dict[str, float]:
    """Every sample that the worker serves, as ``name{labels}``."""
    answer = httpx.get(f"http://127.0.0.1:{metrics['TRADEWIND_WORKER_METRICS_PORT']}/metrics")
    assert answer.status_code == 200
    return {
        sample.name
        + "".join(f" {value}" for name, value in sorted(sample.labels.items()) if name != "le"): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_the_metrics_of_all_processes_of_a_worker_are_scraped_in_one_place(
    api: str,
    tenant: Tenant,
    store: Store,
    environment: dict[str, str],
    metrics: dict[str, str],
    tmp_path: Path,
) -> None:
    settings = environment | metrics | {"TRADEWIND_KEPT_RELEASES": "2"}
    with worker(settings, tmp_path, PAIR) as running, closing(create_job_publisher(environment["REDIS_URL"])) as celery:
        for n in range(3):
            before = store.find_current_release()
            upload(api, tenant, [*rows(seed=n, first_minute=100 * n), record(900 + n, destination="never fitted")])
            eventually(lambda before=before: store.find_current_release() != before)
        celery.send_task(SWEEP)
        eventually(lambda: scraped(metrics).get("tradewind_removed_total models") == 1)
        eventually(lambda: len(running.outcomes("release.published")) == 3)
        (sweep,) = eventually(lambda: running.outcomes("sweep.done"))
        found = scraped(metrics)
        assert found["tradewind_fit_seconds_count fitted"] == 3
        assert found["tradewind_fit_seconds_count refused"] == 3
        assert found["tradewind_fitted_rows_total"] == 60 + 120 + 180
        assert found["tradewind_releases_total published"] == found["tradewind_release_seconds_count"] == 3
        assert found["tradewind_removed_total releases"] == 1
        assert found[f"tradewind_task_seconds_count done {FitLink.name}"] == 6
        failures = [found[f"tradewind_task_seconds_count failed {task}"] for task in (ExportLogs.name, SWEEP)]
        assert failures == [0, 0], "told before there is one"
        assert found["tradewind_gate_failures_total"] == 0, "a link of one row has no model to judge"
        assert found["tradewind_tenants_with_work"] == sweep["tenants_with_work"]
        assert found[f"tradewind_swept_jobs_total {RefreshModels.name}"] == sweep["tenants_with_work"]
        assert found[f"tradewind_swept_jobs_total {RemoveOldReleases.name}"] == 1
        assert (
            abs(found["tradewind_last_sweep_time_seconds"] - datetime.fromisoformat(sweep["timestamp"]).timestamp()) < 1
        )
        running.kill_children()  # what they counted still counts
        assert scraped(metrics)["tradewind_fit_seconds_count fitted"] == 3
    fits = running.outcomes("link.fitted")
    assert [fit["rows"] for fit in fits] == [60, 120, 180]
    assert all(fit["tenant_id"] == str(tenant.id) and fit["duration_s"] > 0 for fit in fits)
    assert fits[0]["verdict"]["accuracy"] > 0.8
    assert fits[0]["verdict"]["compared_rows"] == 0
    assert fits[-1]["verdict"]["error_in_force"] > 0
    assert {refused["verdict"] for refused in running.outcomes("link.refused")} == {None}
    (removed,) = running.outcomes("old_releases.removed")
    assert (removed["releases"], removed["models"]) == (1, 1)
    assert sweep["tenants_with_old_releases"] == 1


def test_a_worker_whose_port_for_metrics_is_taken_says_so_in_one_line(
    environment: dict[str, str], metrics: dict[str, str]
) -> None:
    with socket.create_server(("127.0.0.1", int(metrics["TRADEWIND_WORKER_METRICS_PORT"]))):
        command = [sys.executable, "-P", "-m", "celery", "-q", "-A", "workers.app", "worker"]
        told = os.environ | environment | metrics
        answer = subprocess.run(command, env=told, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert "workers: TRADEWIND_WORKER_METRICS_PORT" in answer.stderr
    assert "Traceback" not in answer.stderr
