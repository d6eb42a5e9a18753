"""A label changes negotiated prices that choose links by it: at once, and with their customers named before."""

from uuid import uuid4

import httpx

from services.bootstrap import Container
from tests.integration.admin.visitors import person, signed_in
from tests.integration.billing.quotes import publish_book
from tests.integration.live_transfers import learned
from tests.integration.pricing.test_customers import as_key, negotiate, new_customer, new_key, price_of, provider
from tests.stack import Tenant

__all__ = ["learned", "provider"]


def test_label_changes_negotiated_prices_at_once_and_their_customers_are_named(
    api: str, parts: Container, learned: Tenant, provider: httpx.Client
) -> None:
    publish_book(provider)
    key, label = new_key(provider), f"group-{uuid4().hex[:8]}"
    customer = new_customer(provider, key)
    link = next(each["id"] for each in provider.get("/v1/links").json() if each["release"])
    rule = {"kind": "max_throughput", "label": label, "price": {"base": "77"}}
    negotiate(provider, customer, rules=[rule], currency="EUR")
    with as_key(api, key) as client, signed_in(api, person(parts, learned, "provider")) as visitor:
        before = price_of(client)["amount"]
        page = visitor.get("/admin/links").text
        assert customer["name"] in page.partition("Negotiated prices change at once")[2]
        provider.put(f"/v1/links/{link}/labels", json={"labels": [label]}).raise_for_status()
        assert float(price_of(client)["amount"]) == 77
        visitor.submit("/admin/links/labels", change="remove", label=label, links=[link])
        assert f"Negotiated prices of {customer['name']} follow." in visitor.get("/admin/links").text
        assert price_of(client)["amount"] == before
