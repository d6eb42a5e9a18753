"""Log lines of a request, and of the tasks that it led to in other processes, are found by one name."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from services.application.shared.jobs import FitLink, RefreshModels
from services.bootstrap import Container, build_container
from services.embedded.valkey import EmbeddedValkey
from services.observability.telemetry import create_logger
from tests.conditions import eventually
from tests.integration.celery_worker import worker
from tests.integration.live_transfers import Transfer
from tests.integration.models.refreshes import rows
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant, serving

GIVEN = "upload-2026.11_22"


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    """A broker of our own, whose jobs no other test's worker takes."""
    with EmbeddedValkey.temporary() as server:
        yield server


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def parts(database_url: str, redis_url: str, output: io.StringIO) -> Iterator[Container]:
    """Of a process whose log is read."""
    with build_container(database_url=database_url, redis_url=redis_url) as built:
        yield replace(built, log=create_logger("api", output=output))


@pytest.fixture
def tenant(parts: Container, database_url: str) -> Tenant:
    return new_tenant(parts, database_url)


def lines(output: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_an_upload_and_the_tasks_that_learn_it_are_joined_by_one_name(
    parts: Container, tenant: Tenant, database_url: str, redis_url: str, output: io.StringIO, tmp_path: Path
) -> None:
    environment = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "TRADEWIND_REFRESH_INTERVAL_S": "0"}
    with worker(environment, tmp_path, "--concurrency=1") as running, serving(parts) as address:
        with tenant.client(address) as client:
            answer = client.post("/v1/logs", content=ndjson(rows()), headers={"X-Request-ID": GIVEN})
        eventually(lambda: running.finished(FitLink.name))
        tasks, facts = running.outcomes("task.done"), running.outcomes("release.published")
    (stored,) = lines(output)
    assert answer.headers["x-request-id"] == stored["request_id"] == GIVEN
    assert (stored["event"], stored["tenant_id"]) == ("batch.stored", str(tenant.id))
    assert {task["task"] for task in tasks} >= {RefreshModels.name, FitLink.name}
    assert {(line["request_id"], line["tenant_id"]) for line in tasks + facts} == {(GIVEN, str(tenant.id))}


def test_end_of_a_transfer_is_logged_once_with_tenant_and_id(
    parts: Container, tenant: Tenant, output: io.StringIO
) -> None:
    with serving(parts) as address, tenant.client(address) as client:
        transfer = Transfer(client)
        transfer.beat(0)
        told = {"records": [record(transfer_id=transfer.id, chunk="whole")], "heartbeats": []}
        answers = [client.post(f"/v1/transfers/{transfer.id}/complete", json=told) for _ in range(2)]
    (ended,) = [line for line in lines(output) if line["event"] == "transfer.ended"]
    assert (ended["tenant_id"], ended["transfer_id"], ended["status"]) == (str(tenant.id), transfer.id, "succeeded")
    assert ended["request_id"] == answers[0].headers["x-request-id"] != answers[1].headers["x-request-id"]


def test_failed_request_returns_the_request_id_that_its_log_line_has(
    parts: Container, tenant: Tenant, output: io.StringIO
) -> None:
    broken: Any = None
    transfer_id = uuid4()
    with serving(replace(parts, store=broken)) as address, tenant.client(address) as client:
        answer = client.get(f"/v1/transfers/{transfer_id}", headers={"X-Request-ID": "two\twords"})
    (failed,) = lines(output)
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] == failed["request_id"] != "two\twords"
    assert failed["request_id"] in answer.json()["detail"]
    assert (failed["tenant_id"], failed["transfer_id"]) == (str(tenant.id), str(transfer_id))


def test_requests_without_a_name_get_one_each(parts: Container) -> None:
    with serving(parts) as address:
        names = {httpx.get(f"{address}/healthz").headers["x-request-id"] for _ in range(3)}
    assert len(names) == 3
