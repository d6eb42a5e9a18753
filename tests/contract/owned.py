"""One of each thing that an address of the service names, made anew for whoever is to own it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from services.application.models.priced_tiers import UndecidedModel
from tests.integration.admin.visitors import HASH, Visitor
from tests.integration.api.test_connections_api import ANALYSE, PAGE
from tests.integration.api.test_devices_api import PROFILE
from tests.integration.live_transfers import Transfer
from tests.integration.pricing.past_transfers import THIRD, Billed
from tests.records import ndjson, record
from tests.stack import Tenant

CUT_KIND = "throughput_at_least"
PRICE = {"base": "0.01", "per_gb": "0.02", "per_kwh": "0", "margin": "0.1"}
BOOK_VERSION = "2"
"""Of the books that are made here."""


@dataclass(frozen=True)
class Owner:
    """A tenant with a current release, one of its keys, and one of its people, with every role."""

    tenant: Tenant
    client: httpx.Client
    visitor: Visitor
    form_token: str

    def own(self, kind: str) -> str:
        """The name of a thing of the tenant, as the placeholder ``kind`` of an address takes it."""
        return str(THINGS[kind](self))

    def listed(self, path: str) -> dict[str, Any]:
        """The first of a list of the API."""
        found: list[dict[str, Any]] = self.client.get(path).raise_for_status().json()
        return found[0]

    def made(self, path: str, **told: Any) -> dict[str, Any]:
        """What the API made, by its answer."""
        answer: dict[str, Any] = self.client.post(path, json=told).raise_for_status().json()
        return answer


def _book(owner: Owner) -> str:
    """A draft with a price, so that it can be published."""
    book = owner.made("/v1/price-books", name=f"Winter {uuid4()}", currency="EUR")["id"]
    owner.client.put(f"/v1/price-books/{book}/tiers/{owner.own('tier_id')}", json=PRICE).raise_for_status()
    return book


def _endpoint(owner: Owner) -> str:
    return owner.made("/v1/endpoints", name=f"an end {uuid4()}")["id"]


def _key(owner: Owner) -> str:
    return owner.made("/v1/keys", name=f"a key {uuid4()}", scopes=["analyst"])["id"]


def _device(owner: Owner) -> str:
    name = f"router-{uuid4().hex[:8]}"
    owner.client.put(f"/v1/devices/{name}", json=PROFILE).raise_for_status()
    return name


def _region(owner: Owner) -> str:
    name = f"region-{uuid4().hex[:8]}"
    owner.client.put(f"/v1/regions/{name}", json={"currency": "EUR"}).raise_for_status()
    return name


def _batch(owner: Owner) -> str:
    sent = ndjson([record()]) + b"broken\n"
    return owner.client.post("/v1/logs", content=sent).raise_for_status().json()["batch_id"]


def _refused_row(owner: Owner) -> int:
    _batch(owner)
    with owner.tenant.parts.store.unit_of_work(owner.tenant.id) as uow:
        return uow.quarantine.list_page(limit=1)[0].id


def _cluster(owner: Owner) -> str:
    return owner.listed(f"/v1/links/{owner.own('link_id')}/clusters")["id"]


def _transfer(owner: Owner) -> str:
    transfer = Transfer(owner.client)
    ended = {"records": [record(transfer_id=transfer.id, chunk="whole")], "heartbeats": []}
    owner.client.post(f"/v1/transfers/{transfer.id}/complete", json=ended).raise_for_status()
    return transfer.id


def _page_load(owner: Owner) -> str:
    return owner.made(ANALYSE, **PAGE)["pages"][0]["id"]


def _customer(owner: Owner) -> str:
    return owner.made("/v1/customers", name=f"a customer {uuid4()}")["id"]


def _negotiated_prices(owner: Owner) -> str:
    customer = owner.own("customer_id")
    return owner.made(f"/v1/customers/{customer}/negotiated-prices", adjustment="-0.1")["id"]


def _issued_statement(owner: Owner) -> str:
    billed = Billed.new(owner.tenant, str(owner.client.base_url), "")
    billed.move(THIRD, "1", kept=None)
    issued: dict[str, Any] = billed.issue(owner.client, THIRD).raise_for_status().json()
    return str(issued["id"])


def negotiated(owner: Owner, customer: str) -> str:
    """Prices of a customer; of another one, where this one is another tenant's."""
    made = owner.client.post(f"/v1/customers/{customer}/negotiated-prices", json={"adjustment": "-0.1"})
    price: str = made.json()["id"] if made.is_success else owner.own("prices_id")
    return price


def _user(owner: Owner) -> str:
    with owner.tenant.parts.store.unit_of_work(owner.tenant.id) as uow:
        user = uow.users.add(f"somebody-{uuid4()}", HASH, ("analyst",), at=owner.tenant.parts.clock.now())
        uow.commit()
    return str(user.id)


def _saved_query(owner: Owner) -> str:
    kept = owner.visitor.submit("/admin/sql/save", sql="SELECT 1", name=f"mine {uuid4()}")
    return kept.headers["Location"].rpartition("=")[2]


def _decision(owner: Owner) -> str:
    """An open decision on the current model."""
    with owner.tenant.parts.store.unit_of_work(owner.tenant.id) as uow:
        release = uow.releases.find_current()
        assert release is not None
        stored = uow.models.of_link(release, uow.links.list_all()[0].id)
        assert stored is not None
        now = owner.tenant.parts.clock.now()
        model_id = uow.models.add(stored.link_id, stored.model(), [leaf.tiers for leaf in stored.leaves], fitted_at=now)
        undecided = UndecidedModel(model_id=model_id, release_id=release, raised_at=now, changes=())
        uow.tier_decisions.raise_for(stored.link_id, undecided)
        decision = uow.tier_decisions.list_all()[0].id
        uow.commit()
    return str(decision)


THINGS: dict[str, Callable[[Owner], object]] = {
    "batch_id": _batch,
    "book_id": _book,
    "cluster_id": _cluster,
    "customer_id": _customer,
    "decision_id": _decision,
    "endpoint_id": _endpoint,
    "key_id": _key,
    "kind": lambda _: CUT_KIND,  # a word, the same for everybody
    "link_id": lambda owner: owner.listed("/v1/links")["id"],
    "name": _device,
    "page_load_id": _page_load,
    "prices_id": _negotiated_prices,
    "query_id": _saved_query,
    "region": _region,
    "statement_id": _issued_statement,
    "release_id": lambda owner: owner.listed("/v1/releases")["id"],
    "row_id": _refused_row,
    "tier_id": lambda owner: owner.listed("/v1/sla-tiers")["tier_id"],
    "transfer_id": _transfer,
    "user_id": _user,
}


def cuts_of(owner: Owner, cluster_id: str) -> dict[str, Any]:
    """The form of tiers cut otherwise, with the bounds as they are."""
    page = owner.visitor.get(f"/admin/tiers/{cluster_id}/{CUT_KIND}").raise_for_status().text
    bounds = dict.fromkeys(re.findall(r'name="to" value="([^"]*)"', page))
    return {"version": str(uuid4()), "to": list(bounds), "confidence": "0.9", "basis": "total"}
