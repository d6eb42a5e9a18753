"""The budget of energy over HTTP: what heartbeats tell of both ends, compared with a model of one end or of both."""

from collections.abc import Iterator
from typing import Any

import httpx
import orjson
import pytest

from benchmarks.api.cases import make_log_lines
from services.application.access.authenticate import Scope
from services.bootstrap import Container
from services.persistence.log_reader import LogReader
from tests.integration.live_transfers import BYTES, DESTINATION, Transfer, client, learned
from tests.integration.models.refreshes import Refreshes
from tests.stack import STACK, Tenant, new_tenant

__all__ = ["client", "learned"]

WATTS, TARGET_J = 20.0, 3_000.0
RATE_BPS, TICKS = 8e6, 10


def metered(**watts: float) -> dict[str, Any]:
    return {
        "power_w": WATTS,
        "power_ends": [{"host": host, "power_w": power_w} for host, power_w in watts.items()] or None,
    }


def left_j(transfer: Transfer, power: dict[str, Any]) -> tuple[float, str]:
    """What is left of the budget after some ticks, and the reason of the last decision."""
    transfer.beat(0)
    for sequence in range(1, TICKS + 1):
        told = transfer.beat(sequence, RATE_BPS, **power)
    return told["sla_bank"], told["reason"]


def budget_j(ends: int) -> float:
    """What is truly left where so many ends take `WATTS` each."""
    elapsed_s = 5.0 * TICKS
    return TARGET_J * RATE_BPS * elapsed_s / 8 / BYTES - ends * WATTS * elapsed_s


def start_energy_transfer(client: httpx.Client, **fields: Any) -> Transfer:
    return Transfer(client, sla={"kind": "energy_at_most", "target": TARGET_J}, **fields)


def test_a_model_of_one_end_is_budgeted_with_that_end(client: httpx.Client) -> None:
    bank, reason = left_j(start_energy_transfer(client), metered(destination=WATTS, source=90.0))
    assert bank == pytest.approx(budget_j(1))
    assert "metered" not in reason
    assert left_j(start_energy_transfer(client), metered())[0] == pytest.approx(
        budget_j(1)
    )  # an agent that names no end


@pytest.mark.parametrize("ends", [{"destination": WATTS, "source": WATTS}, {"source": WATTS}, {}], ids=str)
def test_without_history_both_ends_are_budgeted(client: httpx.Client, ends: dict[str, float]) -> None:
    path = {"bandwidth_bps": 1e6, "rtt_s": 0.9}  # like none that was learned
    transfer = start_energy_transfer(client, source="nowhere", destination="elsewhere", path=path)
    assert transfer.recommended["source"] == "heuristic"
    bank, reason = left_j(transfer, metered(**ends))
    assert bank == pytest.approx(budget_j(2))
    assert ("metered at" in reason) is (len(ends) < 2)


@pytest.fixture(scope="module")
def of_both_ends(api: str, parts: Container, database_url: str, logs: LogReader) -> Iterator[httpx.Client]:
    """A client of a tenant whose transfers were metered at both ends, the source as the destination."""
    if STACK is not None:
        pytest.skip("its workers learn by themselves, and late")
    tenant: Tenant = new_tenant(parts, database_url)
    with tenant.client(api) as opened:
        opened.post(
            "/v1/logs", content=b"".join(map(_at_both_ends, make_log_lines(1, (DESTINATION,))))
        ).raise_for_status()
    assert Refreshes(tenant, logs).run() is not None
    with tenant.client(api, Scope.AGENT) as opened:
        yield opened


def _at_both_ends(line: bytes) -> bytes:
    record = orjson.loads(line)
    (destination,) = record["energy"]
    record["energy"].append(destination | {"host": "source"})
    return orjson.dumps(record) + b"\n"


@pytest.mark.parametrize("ends", [{"destination": WATTS, "source": WATTS}, {"destination": WATTS}, {}], ids=str)
def test_a_model_of_both_ends_is_budgeted_with_both(of_both_ends: httpx.Client, ends: dict[str, float]) -> None:
    transfer = start_energy_transfer(of_both_ends)
    assert transfer.recommended["source"] != "heuristic"
    for table in transfer.recommended["table"].values():
        assert table["power_ends"].keys() == {"source", "destination"}
    bank, reason = left_j(transfer, metered(**ends))
    assert bank == pytest.approx(budget_j(2), rel=1e-3)
    assert ("metered at" in reason) is (len(ends) < 2)
