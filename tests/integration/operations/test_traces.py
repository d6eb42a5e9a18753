"""One trace from the agent through the API to the worker, as a real receiver gets it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from services.application.access.authenticate import Scope
from services.application.shared.jobs import REQUEST_ID, RefreshModels
from services.bootstrap import Options, build_container
from services.observability.telemetry import create_logger
from services.observability.tracing import create_tracing
from services.queue.dispatcher import create_job_publisher
from tests.conditions import eventually
from tests.integration.celery_worker import worker
from tests.integration.live_transfers import ENQUIRY, Transfer
from tests.otlp import ReceivedSpan, Receiver, receiving
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant, serving
from tradewind.errors import InvalidValue
from workers.schedule import JOURNAL

BEATS = 3
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def received() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def tracing_environment(received: Receiver) -> dict[str, str]:
    """What an operator sets; spans are sent at once rather than every five seconds."""
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": received.address, "OTEL_BSP_SCHEDULE_DELAY": "50"}


@pytest.fixture(scope="module")
def traced_api(database_url: str, redis_url: str, tracing_environment: dict[str, str]) -> Iterator[tuple[str, Tenant]]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in tracing_environment.items():
            patch.setenv(name, value)
        tracing = create_tracing(
            os.environ, service="tradewind-api", log=create_logger("api", output=sys.stderr), trusted=False
        )
    with (
        build_container(database_url=database_url, redis_url=redis_url, options=Options(tracing=tracing)) as parts,
        serving(parts) as address,
    ):
        yield address, new_tenant(parts, database_url)


@pytest.fixture(scope="module")
def exported(
    traced_api: tuple[str, Tenant],
    tracing_environment: dict[str, str],
    received: Receiver,
    database_url: str,
    redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Receiver, Tenant, str]:
    """All spans of an upload by an agent, of heartbeats, and of what a worker made of both; and the transfer's id."""
    address, tenant = traced_api
    folder = tmp_path_factory.mktemp("traces")
    upload(address, tenant, tracing_environment, folder)
    with tenant.client(address, Scope.AGENT) as agent:
        agent.headers["traceparent"] = CALLER
        transfer = Transfer(agent)
        for sequence in range(BEATS):
            transfer.beat(sequence)
        agent.get("/v1/links", params={"token": "hidden-in-the-query"})
    urls = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    with (
        worker(urls | tracing_environment, folder, "--concurrency=1"),
        closing(create_job_publisher(redis_url)) as celery,
    ):
        celery.send_task(JOURNAL, queue="journal")
        eventually(lambda: received.named(RefreshModels.name) and received.named("journal heartbeats"))
    return received, tenant, transfer.id


def upload(address: str, tenant: Tenant, tracing_environment: dict[str, str], folder: Path) -> None:
    """By the command line of the agent."""
    log = folder / "log.ndjson"
    log.write_bytes(ndjson([record(n) for n in range(3)]))
    environment = (
        os.environ
        | tracing_environment
        | {"TRADEWIND_URL": address, "TRADEWIND_KEY": tenant.secret, "HOME": str(folder)}
    )
    command = [sys.executable, "-m", "tradewind_agent", "logs", "upload", str(log)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def only(receiver: Receiver, service: str, name: str) -> ReceivedSpan:
    (found,) = [span for span in receiver.named(name) if span.service == service]
    return found


def test_an_upload_is_one_trace_from_the_agent_to_the_worker(exported: tuple[Receiver, Tenant, str]) -> None:
    receiver, tenant, _ = exported
    command = only(receiver, "tradewind-agent", "tradewind logs")
    call = only(receiver, "tradewind-agent", "POST /v1/logs")
    answered = only(receiver, "tradewind-api", "POST /v1/logs")
    task, *_ = receiver.named(RefreshModels.name)  # and again, for what came meanwhile
    assert task.service == "tradewind-worker"
    assert {span.trace_id for span in (command, call, answered, task)} == {command.trace_id}
    assert [span.parent_id for span in (call, answered, task)] == [command.span_id, call.span_id, answered.span_id]
    assert answered.attributes["http.response.status_code"] == "201"
    for span in (answered, task):
        assert span.attributes["tradewind.tenant_id"] == str(tenant.id)
        assert span.attributes[f"tradewind.{REQUEST_ID}"]


def test_heartbeats_are_linked_to_what_stored_them(exported: tuple[Receiver, Tenant, str]) -> None:
    receiver, tenant, transfer_id = exported
    beats = receiver.named("POST /v1/transfers/{transfer_id}/heartbeats")
    (stored,) = receiver.named("journal heartbeats")
    assert len(beats) == BEATS
    assert {beat.attributes["tradewind.transfer_id"] for beat in beats} == {transfer_id}
    assert {beat.trace_id for beat in beats} == {stored.trace_id} == {CALLER.split("-")[1]}
    assert {stored.parent_id, *stored.links} == {beat.span_id for beat in beats}
    assert stored.attributes["tradewind.tenant_id"] == str(tenant.id)
    assert only(receiver, "tradewind-api", "POST /v1/recommend").trace_id == stored.trace_id


def test_spans_hold_no_secret(exported: tuple[Receiver, Tenant, str]) -> None:
    receiver, tenant, _ = exported
    sent = b"".join(receiver.bodies)
    assert b"/v1/links" in sent
    for secret in (tenant.secret, "hidden-in-the-query", "Bearer", str(ENQUIRY["destination"])):
        assert secret.encode() not in sent


def test_a_failure_is_a_failed_span(traced_api: tuple[str, Tenant], received: Receiver) -> None:
    address, _ = traced_api
    httpx.get(f"{address}/v1/keys")
    refused = eventually(lambda: received.named("GET /v1/keys"))[0]
    assert (refused.failed, refused.attributes["http.response.status_code"]) == (False, "401")
    assert not received.named("GET /healthz")


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "PROTOCOL"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, None),
        ({}, None),
    ],
)
def test_standard_variables_switch_on_traces(environment: dict[str, str], named: str | None) -> None:
    log = create_logger("api", output=sys.stderr)
    if named is None:
        assert create_tracing(environment, service="tradewind-api", log=log, trusted=False) is None
    else:
        with pytest.raises(InvalidValue, match=named):
            create_tracing(environment, service="tradewind-api", log=log, trusted=False)


def test_a_command_that_is_not_traced_loads_nothing_for_it() -> None:
    code = (
        "import sys; from tradewind_agent.cli.app import run; run(['doctor', '--help']); "
        "import tradewind_agent.service.client"
    )
    loaded = f"{code}; print([name for name in sys.modules if name.startswith('opentelemetry')])"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run([sys.executable, "-c", loaded], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
