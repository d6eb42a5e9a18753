"""Cores of a running transfer, by a real service that has learned what cores do."""

import json
import math
import random
from datetime import datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import pytest

from benchmarks.api.cases import make_log_lines
from services.application.access.authenticate import Scope
from services.bootstrap import Container
from services.persistence.log_reader import LogReader
from tests.integration.live_transfers import BYTES, DESTINATION, FILES, Transfer
from tests.integration.models.refreshes import Refreshes
from tests.stack import Tenant, new_tenant

CORES, MOST_BPS_A_CORE = (1, 2, 4), 30e6
IDLE_W, CORE_W = 20.0, 8.0
TARGET_BPS = 20e6


def make_lines() -> list[bytes]:
    """Return transfers of the tests' own data set on three numbers of cores, which limit the rate and take power."""
    template = json.loads(next(make_log_lines(1, (DESTINATION,))))
    draw, lines = random.Random(3), []
    for number, (concurrency, cores) in enumerate(product((2, 4, 8), CORES * 12)):
        rate_bps = min(80e6 * (1 - math.exp(-concurrency / 3)), MOST_BPS_A_CORE * cores) * math.exp(draw.gauss(0, 0.03))
        started_at = datetime.fromisoformat(template["started_at"]) + timedelta(hours=number)
        duration_s = 8 * BYTES / rate_bps
        row = template | {
            "id": str(UUID(int=draw.getrandbits(128), version=4)),
            "started_at": started_at.isoformat(),
            "ended_at": (started_at + timedelta(seconds=duration_s)).isoformat(),
            "dataset": {"file_count": FILES, "total_bytes": BYTES},
            "parameters": {"concurrency": concurrency, "parallelism": 1, "pipelining": 1, "cores": cores},
            "outcome": template["outcome"] | {"bytes_moved": BYTES, "files_done": FILES, "throughput_bps": rate_bps},
        }
        row["energy"] = [
            template["energy"][0] | {"total_j": (IDLE_W + CORE_W * cores**1.5) * duration_s, "base_w": IDLE_W}
        ]
        lines.append(json.dumps(row).encode() + b"\n")
    return lines


@pytest.fixture(scope="module")
def learned(api: str, parts: Container, database_url: str, logs: LogReader) -> Tenant:
    tenant = new_tenant(parts, database_url)
    with tenant.client(api) as client:
        client.post("/v1/logs", content=b"".join(make_lines())).raise_for_status()
    assert Refreshes(tenant, logs).run() is not None
    return tenant


def run_under_load(api: str, tenant: Tenant, **enquiry: Any) -> tuple[int, list[int]]:
    """Return the cores at the start, and those of each answer while the path gives a third of what it gave."""
    sla = {"kind": "throughput_at_least", "target": TARGET_BPS, "energy_basis": "dynamic"}
    with tenant.client(api, Scope.AGENT) as client:
        transfer = Transfer(client, sla=sla, **enquiry)
        first = transfer.beat(0)["parameters"]["cores"]
        cores = first
        seen = []
        for sequence in range(1, 9):
            rate_bps = min(TARGET_BPS / 2, MOST_BPS_A_CORE * cores) * cores / first
            cores = transfer.beat(sequence, rate_bps)["parameters"]["cores"]
            seen.append(cores)
        return first, seen


def test_agent_that_can_change_its_cores_gets_more_where_the_target_is_missed(api: str, learned: Tenant) -> None:
    first, seen = run_under_load(api, learned, adjustable_resources=["cores"])
    assert first < CORES[-1]
    assert seen[-1] > first


def test_other_agents_retain_the_cores_that_they_started_with(api: str, learned: Tenant) -> None:
    first, seen = run_under_load(api, learned)
    assert set(seen) == {first}


def test_resources_that_nobody_can_change_are_refused(api: str, learned: Tenant) -> None:
    with learned.client(api, Scope.AGENT) as client:
        body = Transfer(client).enquiry | {"adjustable_resources": ["beans"]}
        assert client.post("/v1/recommend", json=body).status_code == 422
