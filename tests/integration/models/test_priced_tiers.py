"""A priced tier does not vanish unannounced: the model that would take it away waits for a provider's decision."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from services.application.access.authenticate import Scope
from services.application.models.remove_old_releases import ReleaseRetention
from services.application.shared.events import ReleasePublished
from services.application.shared.jobs import RemoveOldReleases
from services.bootstrap import Container
from services.persistence.log_reader import LogReader
from tests.integration.admin.visitors import entries, person, signed_in
from tests.integration.billing.quotes import publish_book
from tests.integration.models.refreshes import Refreshes, rows, upload
from tests.stack import Tenant

KIND = "throughput_at_least"
DATASET = {"file_count": 300, "total_bytes": 30_000_000}


@pytest.fixture
def provider(api: str, tenant: Tenant) -> Iterator[httpx.Client]:
    with tenant.client(api, Scope.PROVIDER, Scope.AGENT) as opened:
        yield opened


@pytest.fixture
def priced(api: str, tenant: Tenant, logs: LogReader, provider: httpx.Client) -> Refreshes:
    """A link whose throughput tiers have a price."""
    fixture = Refreshes(tenant, logs)
    upload(api, tenant, rows(200))
    fixture.run_now()
    publish_book(provider, KIND)
    return fixture


def slow_down(api: str, tenant: Tenant, admin_database_url: str, factor: float = 0.2) -> None:
    """Replace the link's history by one in which the path has become slower."""
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("DELETE FROM transfer_logs WHERE tenant_id = %s", [tenant.id])
    slower = rows(200, seed=7, first_minute=1000)
    for each in slower:
        each["outcome"]["throughput_bps"] *= factor
    upload(api, tenant, slower)


def tiers(client: httpx.Client) -> dict[str, dict[str, Any]]:
    told = client.get("/v1/sla-tiers", params={"limit": 1000}).json()
    return {each["tier_id"]: each for each in told if each["kind"] == KIND}


def current(client: httpx.Client) -> dict[str, Any]:
    release: dict[str, Any] = next(each for each in client.get("/v1/releases").json() if each["current"])
    return release


def fastest_quoted(client: httpx.Client, held: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The recommendation for a target in the fastest tier."""
    top = max((each for each in held.values() if each["confidence"] == 0.9), key=lambda each: each["upper"])
    sla = {"kind": KIND, "target": (top["lower"] + top["upper"]) / 2, "confidence": 0.9}
    answer = client.post(
        "/v1/recommend", json={"source": "alpha", "destination": "omega", "dataset": DATASET, "sla": sla}
    )
    answer.raise_for_status()
    made: dict[str, Any] = answer.json()
    return made


def test_a_release_that_would_lose_priced_tiers_keeps_the_model_and_says_so(
    api: str, tenant: Tenant, parts: Container, priced: Refreshes, provider: httpx.Client, admin_database_url: str
) -> None:
    before = tiers(provider)
    slow_down(api, tenant, admin_database_url)
    priced.run_now()
    assert tiers(provider) == before
    made = fastest_quoted(provider, before)
    assert made["sla"]["price"]["currency"] == "EUR"
    (waiting,) = current(provider)["undecided"]
    assert {each["tier_id"] for each in waiting["tiers"]} <= set(before)
    assert (waiting["source"], waiting["destination"]) == ("alpha", "omega")
    assert current(provider)["gate"]["waiting_for_decision"] == 1
    assert "until a provider has decided" in provider.get("/v1/links").json()[0]["reason"]
    with signed_in(api, person(parts, tenant, "provider")) as visitor:
        for page in ("/admin", "/admin/releases", f"/admin/releases/{current(provider)['id']}"):
            text = visitor.get(page).text
            assert "Priced tiers wait for your decision" in text
            assert "Take the new model" in text
    with signed_in(api, person(parts, tenant, "analyst")) as visitor:
        assert "A provider or an operator decides." in visitor.get("/admin").text
    assert any(
        isinstance(fact, ReleasePublished) and fact.outcomes.get("waiting_for_decision") for fact in priced.facts
    )


def test_the_new_model_serves_once_a_provider_accepts_it(
    api: str, tenant: Tenant, parts: Container, priced: Refreshes, provider: httpx.Client, admin_database_url: str
) -> None:
    before = tiers(provider)
    slow_down(api, tenant, admin_database_url)
    priced.run_now()
    (waiting,) = current(provider)["undecided"]
    ReleaseRetention(priced._unit_of_work, retained=1, reporter=priced).remove(RemoveOldReleases(tenant.id))
    held = current(provider)["id"]
    with signed_in(api, person(parts, tenant, "provider")) as visitor:
        address = f"/admin/releases/decisions/{waiting['decision_id']}"
        assert visitor.submit(address, accept="true").status_code == 303
        assert visitor.submit(address, accept="true").status_code == 404
        assert "wait for your decision" not in visitor.get("/admin").text
    assert current(provider)["id"] > held
    assert current(provider)["undecided"] == []
    assert max(each["upper"] for each in tiers(provider).values()) < 0.5 * max(
        each["upper"] for each in before.values()
    )
    assert provider.get("/v1/links").json()[0]["reason"] is None
    assert entries(parts, tenant, "tier")[0][0] == "tier.model_accepted"


def test_the_model_before_stays_where_a_provider_keeps_it(
    api: str, tenant: Tenant, priced: Refreshes, provider: httpx.Client, admin_database_url: str
) -> None:
    before = tiers(provider)
    slow_down(api, tenant, admin_database_url)
    priced.run_now()
    (waiting,) = current(provider)["undecided"]
    address = f"/v1/releases/decisions/{waiting['decision_id']}"
    with tenant.client(api, Scope.AGENT) as customer:
        assert customer.post(address, json={"accept": True}).status_code == 403
    assert provider.post(address, json={"accept": False}).json()["undecided"] == []
    assert provider.post(address, json={"accept": False}).status_code == 404
    assert tiers(provider) == before
    upload(
        api,
        tenant,
        [each | {"outcome": each["outcome"] | {"throughput_bps": 2e7}} for each in rows(30, seed=9, first_minute=2000)],
    )
    priced.run_now()
    assert tiers(provider) == before  # it is asked again, or the fit was refused: nothing moves unannounced


def test_an_older_decision_gives_way_to_a_newer_model_of_its_link(
    api: str, tenant: Tenant, priced: Refreshes, provider: httpx.Client, admin_database_url: str
) -> None:
    for factor in (0.2, 0.15):
        slow_down(api, tenant, admin_database_url, factor)
        priced.run_now()
    (waiting,) = current(provider)["undecided"]
    assert waiting["release"] == current(provider)["id"]
    with psycopg.connect(admin_database_url) as admin:
        found = admin.execute("SELECT count(*) FROM link_models WHERE tenant_id = %s", [tenant.id]).fetchone()
    assert found == (2,)  # the one that serves, and the one that waits


def test_transfers_that_their_user_limited_leave_a_priced_tier_as_it_is(
    api: str, tenant: Tenant, priced: Refreshes, provider: httpx.Client
) -> None:
    before = tiers(provider)
    limited = rows(100, seed=3, first_minute=1000)
    for each in limited:
        each["parameters"]["nic_bps"] = 2e7
        each["outcome"]["throughput_bps"] = 1.9e7
    upload(api, tenant, limited)
    priced.run_now()
    assert current(provider)["undecided"] == []
    assert set(tiers(provider)) == set(before)
    assert fastest_quoted(provider, before)["sla"]["price"] is not None


def test_parts_of_a_split_tier_have_its_price_in_every_book_and_published_ones_take_no_other(
    tenant: Tenant, priced: Refreshes, provider: httpx.Client
) -> None:
    origin, part = next(iter(tiers(provider))), "01990000-0000-7000-8000-00000000000b"
    book = provider.get("/v1/price-books").json()[0]["id"]
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        uow.price_books.inherit({UUID(part): UUID(origin)})
        uow.commit()
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        prices = uow.price_books.get(UUID(book)).prices
        assert prices[UUID(part)] == prices[UUID(origin)]
        with pytest.raises(Exception, match="row-level security"):
            uow.price_books.put(UUID(book), {UUID(book): prices[UUID(origin)]})
