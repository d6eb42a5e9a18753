"""What others take of a path, from the logs that show it to the answers that reckon with it."""

import math
import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from services.bootstrap import Container
from services.persistence.log_reader import LogReader
from tests.integration.models.refreshes import Refreshes
from tests.records import START, ndjson, record
from tests.stack import Tenant, new_tenant

BANDWIDTH_BPS = 1e9
FILES, FILE_BYTES = 10, 500_000_000
LEVELS = (0.1, 0.6, 0.35, 0.7, 0.2, 0.5)
"""Shares of the path that unlogged traffic takes, one after another."""
ROWS_A_LEVEL = 40


def rows() -> Iterator[dict[str, Any]]:
    """Large transfers one after another: the more streams, the more of what others leave."""
    draw = random.Random(3)
    for i in range(len(LEVELS) * ROWS_A_LEVEL):
        cc, p = draw.choice((2, 4, 8)), draw.choice((1, 2, 4))
        left_bps = BANDWIDTH_BPS * (1 - LEVELS[i // ROWS_A_LEVEL])
        bps = left_bps * (1 - math.exp(-0.8 * cc * p)) * math.exp(draw.gauss(0, 0.03))
        bps = min(bps, BANDWIDTH_BPS)
        seconds = 8 * FILES * FILE_BYTES / bps
        started_at = START + timedelta(minutes=10 * i)
        yield record(
            10 * i,
            ended_at=(started_at + timedelta(seconds=seconds)).isoformat(),
            parameters={"concurrency": cc, "parallelism": p, "pipelining": 1},
            dataset={"file_count": FILES, "total_bytes": FILES * FILE_BYTES},
            outcome={
                "status": "succeeded",
                "bytes_moved": FILES * FILE_BYTES,
                "files_done": FILES,
                "files_failed": 0,
                "throughput_bps": bps,
            },
            energy=[
                {
                    "host": "destination",
                    "total_j": (20 + 0.2 * cc * p + 8 * bps / BANDWIDTH_BPS) * seconds,
                    "base_w": 18,
                    "method": "rapl",
                    "quality": "measured",
                }
            ],
        )


@pytest.fixture(scope="module")
def learned(api: str, parts: Container, database_url: str, logs: LogReader) -> Tenant:
    tenant = new_tenant(parts, database_url)
    with tenant.client(api) as client:
        assert client.post("/v1/logs", content=ndjson(rows())).json()["rejected"] == 0
    assert Refreshes(tenant, logs).run() is not None
    return tenant


@pytest.fixture
def client(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api) as opened:
        yield opened


def recommended(client: httpx.Client, load: float | None, **sla: Any) -> dict[str, Any]:
    body = {
        "source": "alpha",
        "destination": "omega",
        "dataset": {"file_count": FILES, "total_bytes": FILES * FILE_BYTES},
        "sla": sla or {"kind": "max_throughput"},
    } | ({} if load is None else {"load": load})
    answer = client.post("/v1/recommend", json=body)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    assert made["source"] == "release"
    return made


def mean_bps(made: dict[str, Any]) -> float:
    mean: float = made["predicted"]["throughput_bps"]["mean"]
    return mean


def test_prediction_falls_with_load(client: httpx.Client) -> None:
    rates = [mean_bps(recommended(client, load)) for load in (0.1, 0.35, 0.6)]
    assert rates == sorted(rates, reverse=True)
    assert rates[2] / rates[0] == pytest.approx(0.4 / 0.9, rel=0.2)


def test_sla_is_likely_on_an_idle_path_and_not_on_a_busy_one(client: httpx.Client) -> None:
    agreed = {"kind": "throughput_at_least", "target": 6e8}
    idle, busy = (recommended(client, load, **agreed)["sla"] for load in (0.1, 0.6))
    assert idle["feasible"]
    assert not busy["feasible"]
    assert busy["probability"] < 0.2 < 0.9 <= idle["probability"]


@pytest.mark.parametrize("basis", ["total", "dynamic"])
def test_a_busy_path_costs_more_energy_for_the_same_bytes(client: httpx.Client, basis: str) -> None:
    idle, busy = (
        recommended(client, load, kind="min_energy", energy_basis=basis)["predicted"]["energy_j"]["mean"]
        for load in (0.1, 0.6)
    )
    assert busy > 1.2 * idle  # either may be up to 5 % above the least


def test_answer_has_the_table_of_the_load(client: httpx.Client) -> None:
    idle, busy = (recommended(client, load)["table"] for load in (0.1, 0.6))
    fastest = [
        max(each["log_throughput_mean"] for table in tables.values() for each in table["settings"])
        for tables in (idle, busy)
    ]
    assert fastest[1] - fastest[0] == pytest.approx(math.log(0.4 / 0.9), abs=0.2)


def test_request_without_a_load_gets_that_of_the_last_transfers(client: httpx.Client) -> None:
    made = recommended(client, None)
    assert "(last known)" in made["rationale"]
    assert mean_bps(made) == pytest.approx(BANDWIDTH_BPS * (1 - LEVELS[-1]), rel=0.15)
