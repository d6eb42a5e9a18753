"""Live transfers for tests, on a release that a real refresh made: each told as its agent tells it."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import UUID

import httpx
import pytest
import redis.asyncio

from benchmarks.api.cases import SOURCE, make_log_lines
from services.application.access.authenticate import Scope
from services.application.transfers.sessions import TransferKey
from services.bootstrap import Container, build_container
from services.persistence.log_reader import LogReader
from services.queue.sessions import RedisSessions
from tests.conditions import eventually, stretched
from tests.integration.models.first_fits import FIRST_FITS
from tests.integration.models.refreshes import Refreshes
from tests.stack import STACK, Tenant, new_tenant, serving

__all__ = ["client", "learned", "learned_tenant", "transfer"]

DESTINATION = "amber"
FILES, BYTES = 3_000, 300_000_000
ENQUIRY = {
    "source": SOURCE,
    "destination": DESTINATION,
    "dataset": {"file_count": FILES, "total_bytes": BYTES},
    "sla": {"kind": "max_throughput"},
}


@pytest.fixture(scope="module")
def learned(api: str, parts: Container, database_url: str, logs: LogReader) -> Tenant:
    return learned_tenant(api, parts, database_url, logs)


def learned_tenant(api: str, parts: Container, database_url: str, logs: LogReader) -> Tenant:
    """A tenant with a current release."""
    tenant = new_tenant(parts, database_url)
    with tenant.client(api) as client:
        client.post("/v1/logs", content=b"".join(make_log_lines(1, (DESTINATION,)))).raise_for_status()
    if STACK is None:
        assert Refreshes(tenant, logs, learner=FIRST_FITS).run() is not None
    else:  # whose workers learn by themselves
        eventually(lambda: release_of(tenant), patience_s=stretched(180))
    return tenant


def release_of(tenant: Tenant) -> int | None:
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        return uow.releases.find_current()


@pytest.fixture
def client(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api, Scope.AGENT) as opened:
        yield opened


class Transfer:
    """A transfer as its agent tells it: one heartbeat after another, at the rate given, doing as it is told."""

    def __init__(self, client: httpx.Client, **enquiry: Any) -> None:
        self.client = client
        self.enquiry = ENQUIRY | enquiry
        answer = client.post("/v1/recommend", json=self.enquiry)
        assert answer.status_code == 200, answer.text
        self.recommended = answer.json()
        self.id = self.recommended["transfer_id"]
        self.chunks = [
            {"chunk": each["chunk"], "parameters": each["parameters"]} for each in self.recommended["chunks"]
        ]
        self.moved = 0

    def body(self, sequence: int, throughput_bps: float = 80e6, **changes: Any) -> dict[str, Any]:
        interval_s = 5.0 if sequence else 0.0
        self.moved += int(throughput_bps * interval_s / 8)
        left = max(BYTES - self.moved, 1)
        whole = {
            "sequence": sequence,
            "at": "2026-11-21T10:00:00Z",
            "interval_s": interval_s,
            "bytes_moved": self.moved,
            "throughput_bps": throughput_bps if sequence else 0.0,
            "remaining_bytes": left,
            "remaining_files": -(-left * FILES // BYTES),
            "parameters": self.recommended["parameters"],
            "rtt_s": 0.06,
            "min_rtt_s": 0.06,
            "chunks": [
                each | {"throughput_bps": throughput_bps if sequence else 0.0, "remaining_bytes": left}
                for each in self.chunks
            ],
            "enquiry": self.enquiry,
        }
        return {name: value for name, value in (whole | changes).items() if value is not None}

    def beat(self, sequence: int, *args: Any, client: httpx.Client | None = None, **changes: Any) -> dict[str, Any]:
        answer = self.send(self.body(sequence, *args, **changes), client)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        self.chunks = told["chunks"]
        return told

    def send(self, body: dict[str, Any], client: httpx.Client | None = None) -> httpx.Response:
        return (client or self.client).post(f"/v1/transfers/{self.id}/heartbeats", json=body)


@pytest.fixture
def transfer(client: httpx.Client) -> Transfer:
    return Transfer(client)


@contextmanager
def another_process(client: httpx.Client, database_url: str, redis_url: str) -> Iterator[httpx.Client]:
    """A client with the same key of an API process that knows nothing of the transfers so far."""
    with ExitStack() as stack:
        other = stack.enter_context(build_container(database_url=database_url, redis_url=redis_url))
        address = stack.enter_context(serving(other))
        key = {"Authorization": client.headers["Authorization"]}
        yield stack.enter_context(httpx.Client(base_url=address, headers=key, timeout=60))


def end_session(tenant: Tenant, transfer: Transfer, redis_url: str) -> None:
    """As the completion of a transfer does."""
    end_sessions(tenant, redis_url, transfer.id)


def end_sessions(tenant: Tenant, redis_url: str, only: str = "*") -> None:
    """End all transfers of a tenant: one that a test leaves is live for a while, and counts in plans of the next."""

    async def end() -> None:
        store = redis.asyncio.Redis.from_url(redis_url)
        async for name in store.scan_iter(f"tradewind:session:{tenant.id}:{only}"):
            await RedisSessions(store).end(TransferKey(tenant.id, UUID(name.decode().rpartition(":")[2])))
        await store.aclose()

    asyncio.run(end())
