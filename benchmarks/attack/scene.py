"""A service with two tenants, two customers of the first one, and whatever attackers need to know of it."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx

from benchmarks.api.cases import DESTINATIONS, FAMILIES, SOURCE, make_log_lines
from benchmarks.faults.service import API, JOURNAL, SCHEDULE, WORKERS, Service, run_service
from benchmarks.faults.waiting import wait_until
from benchmarks.support.report import ROOT
from services.application.access.authenticate import Scope
from services.application.access.users import ROLES
from services.bootstrap import Container, build_container
from services.prepare import issue_key
from services.processes import NICENESS

LINKED = DESTINATIONS[:2]
"""Ends of the links that the victim has a release of."""

VICTIM, HOSTILE = "victim", "hostile"
PASSWORD = "nine horses under rain"
SERVICE_LOG = ROOT / "var" / "bench" / "attack-service.log"
API_PROCESSES = 2
RELEASE_PATIENCE_S = 600.0


@dataclass
class Party:
    """One tenant: clients by scope, one with all scopes, and a signed-in user."""

    id: UUID
    root: httpx.Client
    by_scope: Mapping[Scope, httpx.Client]
    login: str = ""


@dataclass
class Scene:
    """The service; `customers` are two agent keys of the victim's tenant, made by its provider."""

    service: Service
    parts: Container
    folder: Path
    victim: Party
    hostile: Party
    customers: tuple[httpx.Client, httpx.Client]
    seed: int
    things: dict[str, str] = field(default_factory=dict)
    """Places of addresses, each with something that the victim owns."""

    def open_client(self, key: str = "") -> httpx.Client:
        """Return a client of its own: without a key, of an unauthenticated caller."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.service.address, headers=headers, timeout=60.0)

    def make_customer(self, **fields: Any) -> httpx.Client:
        """Return a client with a new agent key of the victim's tenant."""
        return make_key(self.service.address, self.victim.root, Scope.AGENT, **fields)


class Transfer:
    """A live transfer of a customer, heartbeat by heartbeat."""

    def __init__(self, client: httpx.Client, destination: str = DESTINATIONS[0], **request: Any) -> None:
        self.client, self.request = client, make_request(destination) | request
        answer = client.post("/v1/recommend", json=self.request).raise_for_status().json()
        self.id: str = answer["transfer_id"]
        self.sequence, self.share, self.moved = 0, 0, 0

    def make_beat(self, sequence: int, *, throughput_bps: float = 80e6, **changes: Any) -> dict[str, Any]:
        interval_s = 5.0 if sequence else 0.0
        self.moved += int(throughput_bps * interval_s / 8)
        return {
            "sequence": sequence,
            "at": datetime.now(UTC).isoformat(),
            "interval_s": interval_s,
            "bytes_moved": self.moved,
            "throughput_bps": throughput_bps if sequence else 0.0,
            "remaining_bytes": 10**9,
            "remaining_files": 1_000,
            "parameters": {"concurrency": max(self.share, 1), "parallelism": 1, "pipelining": 1},
            "chunks": [],
            "enquiry": self.request,
        } | changes

    def beat(self, **changes: Any) -> httpx.Response:
        """Send the next heartbeat, and follow what it is answered."""
        answer = self.client.post(
            f"/v1/transfers/{self.id}/heartbeats", json=self.make_beat(self.sequence, **changes)
        ).raise_for_status()
        found = answer.json()
        self.sequence += bool(found["granted"])
        self.share = found["share"]["concurrency"] or 0
        return answer

    def complete(self, client: httpx.Client | None = None, status: str = "succeeded") -> httpx.Response:
        body = {"records": [make_record(self.id, status)], "heartbeats": []}
        return (client or self.client).post(f"/v1/transfers/{self.id}/complete", json=body)


def make_request(destination: str = DESTINATIONS[0]) -> dict[str, Any]:
    """Return a request for a recommendation from the release."""
    files = FAMILIES["medium"]
    dataset = {"file_count": files.file_count, "total_bytes": files.total_bytes}
    return {"source": SOURCE, "destination": destination, "dataset": dataset, "sla": {"kind": "max_throughput"}}


def make_record(transfer_id: str | None, status: str = "succeeded", **changes: Any) -> dict[str, Any]:
    """Return the record of a transfer that ended just now."""
    ended_at = datetime.now(UTC) - timedelta(seconds=1)
    record: dict[str, Any] = {
        "id": str(uuid4()),
        "started_at": (ended_at - timedelta(seconds=3)).isoformat(),
        "ended_at": ended_at.isoformat(),
        "source": SOURCE,
        "destination": DESTINATIONS[0],
        "mover": {"name": "tradewind", "version": "0.1.0"},
        "protocol": "http",
        "direction": "download",
        "path": {"bandwidth_bps": 1e9, "rtt_s": 0.06},
        "dataset": {"file_count": 10, "total_bytes": 11_600_000},
        "parameters": {"concurrency": 4, "parallelism": 1, "pipelining": 1},
        "outcome": {
            "status": status, "bytes_moved": 11_600_000, "files_done": 10, "files_failed": 0, "throughput_bps": 3e7,
        },
        "chunk": "whole",
    }  # fmt: skip
    return record | ({"transfer_id": transfer_id} if transfer_id else {}) | changes


def make_key(address: str, root: httpx.Client, *scopes: Scope, **fields: Any) -> httpx.Client:
    """Return a client with a new key of these scopes, made by an operator's client."""
    new = {"name": f"{scopes[0].value} {uuid4().hex[:8]}", "scopes": list(scopes)} | fields
    secret = root.post("/v1/keys", json=new).raise_for_status().json()["secret"]
    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {secret}"}, timeout=60.0)


@contextmanager
def set_up_scene(seed: int, *, smoke: bool = False) -> Iterator[Scene]:
    """Run the complete service with a release of the victim's links."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tradewind-attack-")))
        folder.chmod(0o755)
        SERVICE_LOG.parent.mkdir(parents=True, exist_ok=True)
        output = stack.enter_context(SERVICE_LOG.open("wb"))
        parts = (API, WORKERS, JOURNAL, SCHEDULE)
        service = stack.enter_context(
            run_service(
                folder / "service",
                parts=parts,
                api_processes=API_PROCESSES,
                output=output,
                niceness={} if smoke else NICENESS,
            )
        )
        container = stack.enter_context(
            build_container(database_url=service.database_url, redis_url=service.valkey.url())
        )
        victim, hostile = (_make_party(service, container, name, stack) for name in (VICTIM, HOSTILE))
        victim.root.post("/v1/logs", content=b"".join(make_log_lines(seed, LINKED))).raise_for_status()
        wait_until(
            lambda: all(link["release"] for link in victim.root.get("/v1/links").json()),
            "a release of all links",
            patience_s=RELEASE_PATIENCE_S,
        )
        customers = (
            stack.enter_context(make_key(service.address, victim.root, Scope.AGENT)),
            stack.enter_context(make_key(service.address, victim.root, Scope.AGENT)),
        )
        yield Scene(service, container, folder, victim, hostile, customers, seed)


def _make_party(service: Service, parts: Container, name: str, stack: ExitStack) -> Party:
    key = issue_key(parts, tenant=name, name=f"{name} root", scopes=tuple(Scope)).secret
    headers = {"Authorization": f"Bearer {key}"}
    root = stack.enter_context(httpx.Client(base_url=service.address, headers=headers, timeout=60.0))
    by_scope = {scope: stack.enter_context(make_key(service.address, root, scope)) for scope in Scope}
    tenant_id = parts.store.registry.find_tenant(name)
    assert tenant_id is not None, "the key has made it"
    login = f"user of {name}"
    password_hash = parts.passwords.hash(PASSWORD)
    with parts.store.unit_of_work(tenant_id) as uow:
        user = uow.users.add(login, password_hash, ROLES, at=parts.clock.now())
        uow.users.set_password(user.id, password_hash, must_change=False)
        uow.commit()
    return Party(tenant_id, root, by_scope, login)
