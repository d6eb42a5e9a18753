"""Browsers' logs through the API into the database and the warehouse."""

import json
from collections.abc import Iterator
from uuid import UUID

import httpx
import pytest

from services.api.middleware import MAX_HAR_BYTES
from services.application.access.authenticate import Scope
from services.bootstrap import Container
from tests.stack import Tenant, new_tenant
from tests.unit.connections.hars import entry, har

PAGE = har(
    entry(0, connection="7", connect=40, ssl=20, wait=60, receive=100, size=30_000, headers={"X-Cache": "HIT from a"}),
    entry(200, connection="7", wait=50, receive=50, size=1_000),
    entry(0, connection="9", connect=40, ssl=20, wait=60, receive=50, size=5_000),
    entry(5, url="data:,"),
    load_ms=500,
)
ANALYSE = "/v1/connections/analyse"


@pytest.fixture(scope="module")
def surfer(parts: Container, database_url: str) -> Tenant:
    return new_tenant(parts, database_url)


@pytest.fixture
def client(api: str, surfer: Tenant) -> Iterator[httpx.Client]:
    with surfer.client(api, Scope.AGENT, Scope.ANALYST) as opened:
        yield opened


def query(client: httpx.Client, sql: str) -> list[dict[str, object]]:
    answer = client.post("/v1/warehouse/query", json={"sql": sql})
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, object]] = answer.json()["rows"]
    return rows


def test_page_uploaded_several_times_is_analysed_and_stored_once(client, parts, database_url, api):
    first = client.post(ANALYSE, json=PAGE)
    assert first.status_code == 200, first.text
    (page,) = first.json()["pages"]
    assert page["net_transfer_s"] == pytest.approx(0.15)
    assert page["caches"] == {"hit": 1, "none": 2}
    assert page["left_out"] == {"neither http nor https": 1}
    again = client.post(ANALYSE, json=PAGE, params={"rtt_s": 0.1})
    assert [each["id"] for each in again.json()["pages"]] == [page["id"]]

    (kept,) = query(client, "SELECT * FROM page_loads")
    assert kept["page_load_id"] == page["id"]
    assert (kept["objects"], kept["wire_bytes"], kept["cache_hits"], kept["name"]) == (
        3,
        36000,
        1,
        "https://example.org:443",
    )
    connections = query(client, "SELECT objects, wire_bytes FROM page_connections ORDER BY ordinal")
    assert connections == [{"objects": 2, "wire_bytes": 31000}, {"objects": 1, "wire_bytes": 5000}]

    other = new_tenant(parts, database_url)
    with other.client(api, Scope.AGENT, Scope.ANALYST) as stranger:
        assert (
            query(stranger, "SELECT page_load_id FROM page_loads UNION SELECT page_load_id FROM page_connections") == []
        )
        (theirs,) = stranger.post(ANALYSE, json=PAGE).json()["pages"]
        assert theirs["id"] != page["id"]


@pytest.mark.parametrize(
    ("content", "status", "reason"),
    [(b"", 422, "is empty"), (json.dumps(PAGE).encode()[:-30], 422, "is cut off"), (b"[]", 422, "no object called log"),
     (json.dumps(har()).encode(), 422, "no entries"), (b" " * (MAX_HAR_BYTES + 1), 413, f"{MAX_HAR_BYTES} bytes")],
)  # fmt: skip
def test_invalid_log_is_refused_with_its_reason(client, content, status, reason):
    answer = client.post(ANALYSE, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert reason in answer.json()["detail"]


def test_newest_pages_are_retained(parts, api, database_url):
    tenant = new_tenant(parts, database_url)
    with tenant.client(api, Scope.AGENT) as client:
        ids = [
            client.post(ANALYSE, json=har(entry(), load_ms=load_ms)).json()["pages"][0]["id"] for load_ms in (1, 2, 3)
        ]
    with parts.store.unit_of_work(tenant.id) as uow:
        uow.page_loads.keep_newest(3, objects=3)
        assert [str(each.id) for each in uow.page_loads.list_page(limit=9)] == ids[::-1]
        uow.page_loads.keep_newest(3, objects=2)
        assert [str(each.id) for each in uow.page_loads.list_page(limit=9)] == ids[:0:-1]
        uow.page_loads.keep_newest(1, objects=3)
        assert [str(each.id) for each in uow.page_loads.list_page(limit=9)] == ids[2:]
        uow.page_loads.keep_newest(1, objects=0)
        assert [str(each.id) for each in uow.page_loads.list_page(limit=9)] == ids[2:], "however many the newest has"


def test_pages_of_one_key_do_not_drive_out_those_of_another(parts, api, database_url):
    tenant = new_tenant(parts, database_url)
    with tenant.client(api, Scope.AGENT) as client, tenant.client(api, Scope.AGENT) as rival:
        ids = [
            sender.post(ANALYSE, json=har(entry(), load_ms=load_ms)).json()["pages"][0]["id"]
            for sender, load_ms in ((client, 1), (rival, 2), (rival, 3), (rival, 4))
        ]
    with parts.store.unit_of_work(tenant.id) as uow:
        uow.page_loads.keep_newest(2, objects=9)
        assert [str(each.id) for each in uow.page_loads.list_page(limit=9)] == [ids[3], ids[0]]


def test_page_that_is_uploaded_again_becomes_the_newest(parts, api, database_url):
    tenant = new_tenant(parts, database_url)
    with tenant.client(api, Scope.AGENT) as client:
        ids = [
            client.post(ANALYSE, json=har(entry(), load_ms=load_ms)).json()["pages"][0]["id"]
            for load_ms in (1, 2, 3, 1)
        ]
    assert ids[0] == ids[3]
    with parts.store.unit_of_work(tenant.id) as uow:
        listed = [str(each.id) for each in uow.page_loads.list_page(limit=9)]
        assert listed == [ids[0], ids[2], ids[1]]
        older = uow.page_loads.list_page(limit=9, before=UUID(listed[0]))
        assert [str(each.id) for each in older] == listed[1:]
        uow.page_loads.keep_newest(2, objects=9)
        assert [str(each.id) for each in uow.page_loads.list_page(limit=9)] == listed[:2]
        assert uow.page_loads.compute_distributions(newest=9, objects=9).pages == 2
        assert uow.page_loads.compute_distributions(newest=9, objects=1).pages == 1
        assert uow.page_loads.compute_distributions(newest=1, objects=9).pages == 1


def test_only_agents_may_have_logs_analysed(api, surfer):
    with surfer.client(api, Scope.ANALYST) as analyst:
        assert analyst.post(ANALYSE, json=PAGE).status_code == 403
