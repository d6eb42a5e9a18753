"""Links, endpoints and learned caps that one key can make are bounded; what other keys make is not."""

from datetime import UTC, datetime
from uuid import uuid4

import httpx
import pytest

from services.application.access.authenticate import Scope
from services.persistence.repositories import limits, links
from tests.integration.transfers.test_transfers_api import complete, completion
from tests.records import ndjson, record
from tests.stack import Tenant


def upload(client: httpx.Client, *destinations: str) -> dict[str, object]:
    rows = ndjson([record(number, destination=name) for number, name in enumerate(destinations)])
    receipt: dict[str, object] = client.post("/v1/logs", content=rows).json()
    return receipt


@pytest.mark.usefixtures("stores_in_this_process")
def test_key_makes_no_more_links_than_its_room_and_keeps_those_it_has(
    api: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "MOST_LINKS_OF_KEY", 3)
    with tenant.client(api, Scope.AGENT) as greedy, tenant.client(api, Scope.AGENT) as other:
        first = upload(greedy, "a", "b", "c", "d", "e", "a")
        assert (first["accepted"], first["rejected"]) == (4, 2)
        assert {each["field"] for each in first["rejections"]} == {"destination"}  # type: ignore[attr-defined]
        assert "20,000, the limit" in str(first["rejections"])
        again = upload(greedy, "c", "f", "a")
        assert (again["accepted"], again["rejected"]) == (2, 1)
        assert upload(other, "f", "a")["accepted"] == 2
    with tenant.client(api) as root:
        names = {each["name"] for each in root.get("/v1/endpoints").json()}
        assert len(root.get("/v1/links").json()) == 4
    assert {"a", "b", "c", "f"} <= names
    assert names.isdisjoint({"d", "e"})


@pytest.mark.usefixtures("stores_in_this_process")
def test_transfer_that_the_service_saw_is_stored_whatever_links_its_key_has_made(
    api: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was quoted, and is billed by what is stored."""
    monkeypatch.setattr(links, "MOST_LINKS_OF_KEY", 0)
    with tenant.client(api, Scope.AGENT) as client:
        transfer_id = str(uuid4())
        receipt = complete(client, transfer_id, completion(transfer_id))
        assert (receipt["accepted"], receipt["rejected"]) == (1, 0)
        assert upload(client, "a")["rejected"] == 1


def test_key_learns_caps_of_so_many_endpoints_in_a_day(
    api: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_LEARNED_OF_KEY", 2)

    def learn(client: httpx.Client, endpoint: str) -> int:
        learned = {"endpoint": endpoint, "streams": 4, "refused_at": datetime.now(UTC).isoformat()}
        return client.post("/v1/limits/learned", json=learned).status_code

    with tenant.client(api, Scope.AGENT) as greedy, tenant.client(api, Scope.AGENT) as other:
        assert [learn(greedy, name) // 100 for name in ("a", "b", "c", "a")] == [2, 2, 4, 2]
        assert learn(other, "c") // 100 == 2
