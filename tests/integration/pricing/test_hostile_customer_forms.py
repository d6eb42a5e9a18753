"""Forms and calls about customers with hostile content: a sentence, and nothing is changed."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from services.bootstrap import Container
from tests.integration.admin.visitors import Visitor, person, signed_in
from tests.integration.live_transfers import learned
from tests.integration.pricing.test_customers import new_customer, new_key
from tests.stack import Tenant, new_tenant

__all__ = ["learned"]

REFUSED = {400, 403, 404, 409, 413, 422}
HUGE = "9" * 400
SCRIPT = "<script>alert(1)</script>"
VALUES = ["", " ", "-1", "0", HUGE, "1e999", "NaN", "inf", SCRIPT, "\u202e1", "١٢", "' OR 1=1 --", "x" * 5000, "1,2,3"]
NUMBERS = ["spending_limit", "rate_factor", "adjustment", "starts_at", "ends_at", "version"]


@pytest.fixture
def provider(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api) as opened:
        yield opened


@pytest.fixture
def visitor(api: str, parts: Container, learned: Tenant) -> Iterator[Visitor]:
    with signed_in(api, person(parts, learned, "provider")) as opened:
        yield opened


def read(provider: httpx.Client, customer: dict[str, Any]) -> list[Any]:
    path = f"/v1/customers/{customer['id']}"
    return [provider.get(each).raise_for_status().json() for each in (path, f"{path}/negotiated-prices")]


def fields_of(customer: dict[str, Any]) -> dict[str, Any]:
    return {"name": customer["name"], "version": str(customer["version"]), "spending_currency": "EUR"}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("field", NUMBERS)
def test_hostile_value_in_a_field_is_refused_or_stored_as_it_is_shown(
    provider: httpx.Client, visitor: Visitor, field: str, value: str
) -> None:
    customer = new_customer(provider)
    page = f"/admin/customers/{customer['id']}"
    before = read(provider, customer)
    is_negotiated = field in {"adjustment", "starts_at", "ends_at"}
    fields = {"adjustment": "5", "direction": "off"} if is_negotiated else fields_of(customer)
    sent = visitor.submit(f"{page}/prices" if is_negotiated else page, **(fields | {field: value}))
    assert sent.status_code in REFUSED | {303}, sent.text
    assert SCRIPT not in sent.text
    if sent.status_code != 303:
        assert read(provider, customer) == before
    assert visitor.get(page).status_code == 200


@pytest.mark.parametrize("token", ["", "x", "0" * 64, "é"])
def test_forged_token_changes_nothing(provider: httpx.Client, visitor: Visitor, token: str) -> None:
    customer = new_customer(provider)
    before = read(provider, customer)
    page = f"/admin/customers/{customer['id']}"
    for path, fields in {
        page: fields_of(customer) | {"name": f"Mallory {uuid4()}"},
        f"{page}/archive": {"version": str(customer["version"])},
        f"{page}/restore": {},
        f"{page}/prices": {"adjustment": "50", "direction": "off"},
        f"{page}/prices/end": {"prices_id": str(uuid4())},
    }.items():
        assert visitor.post(path, data=fields | {"form_token": token}).status_code == 403, path
        assert visitor.post(path, data=fields).status_code == 403, path
    assert read(provider, customer) == before


def test_second_of_two_editors_is_refused_with_a_sentence(provider: httpx.Client, visitor: Visitor) -> None:
    customer = new_customer(provider)
    page = f"/admin/customers/{customer['id']}"
    first, second = f"First {uuid4()}", f"Second {uuid4()}"
    assert visitor.submit(page, **fields_of(customer) | {"name": first}).status_code == 303
    refused = visitor.submit(page, **fields_of(customer) | {"name": second})
    assert (refused.status_code, "changed the customer meanwhile" in refused.text) == (409, True)
    assert visitor.submit(f"{page}/archive", version=str(customer["version"])).status_code == 409
    assert read(provider, customer)[0]["name"] == first


def test_ids_of_others_are_refused_in_every_field(
    api: str, learned: Tenant, provider: httpx.Client, visitor: Visitor
) -> None:
    customer, rival = new_customer(provider), new_customer(provider, new_key(provider))
    page, before = f"/admin/customers/{customer['id']}", read(provider, rival)
    path = f"/v1/customers/{customer['id']}"
    with new_tenant(learned.parts, learned.database_url).client(api) as neighbour:
        foreign, foreign_key = new_customer(neighbour), new_key(neighbour)
        prices = neighbour.post(f"/v1/customers/{foreign['id']}/negotiated-prices", json={"adjustment": "-0.1"}).json()
        for key_id in (foreign_key["id"], *rival["key_ids"], str(uuid4())):
            assert visitor.submit(page, **fields_of(customer), key_ids=key_id).status_code == 422
            assert provider.put(f"{path}/keys", json={"key_ids": [key_id]}).status_code == 422
        assert visitor.submit(f"{page}/prices/end", prices_id=prices["id"]).status_code == 404
        for action, fields in {
            "": fields_of(foreign),
            "/archive": {"version": "1"},
            "/restore": {},
            "/prices": {"adjustment": "5"},
        }.items():
            assert visitor.submit(f"/admin/customers/{foreign['id']}{action}", **fields).status_code == 404, action
        assert visitor.get(f"/admin/customers/{foreign['id']}").status_code == 404
        assert visitor.get(f"/admin/usage/statement?month=2026-11&customer={foreign['id']}").status_code == 404
        (unchanged,) = neighbour.get(f"/v1/customers/{foreign['id']}/negotiated-prices").json()
        assert unchanged["id"] == prices["id"]
        assert unchanged["ends_at"] is None
    assert read(provider, rival) == before


def test_prices_of_another_customer_are_not_ended_from_ones_own_page(provider: httpx.Client, visitor: Visitor) -> None:
    customer, rival = new_customer(provider), new_customer(provider)
    prices = provider.post(f"/v1/customers/{rival['id']}/negotiated-prices", json={"adjustment": "-0.1"}).json()
    before = read(provider, rival)
    refused = visitor.submit(f"/admin/customers/{customer['id']}/prices/end", prices_id=prices["id"])
    assert refused.status_code == 404
    assert read(provider, rival) == before
