"""What a tenant owns is not there for another: each address that names something, asked with another tenant's."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest

from infra.reference.authorisation import Call, list_calls
from services.bootstrap import Container
from services.persistence.log_reader import LogReader
from tests.contract.owned import BOOK_VERSION, PRICE, THINGS, Owner, cuts_of, negotiated
from tests.integration.admin.visitors import person, signed_in
from tests.integration.api.test_devices_api import PROFILE
from tests.integration.live_transfers import Transfer, learned, learned_tenant
from tests.records import record
from tests.stack import Tenant

__all__ = ["learned"]

NOT_FOUND, CONFLICT, INVALID, FAILED = 404, 409, 422, 500

FILES_OF_OURS = ("/docs/", "/admin/static/")
"""Named like things, and the same for everybody."""

Body = Callable[[Owner, Mapping[str, str]], Any]
CUTS = {"confidence": "0.9", "basis": "total"}


def _end(_: Owner, named: Mapping[str, str]) -> Any:
    return {"records": [record(transfer_id=named["transfer_id"], chunk="whole")]}


def _prices_of(owner: Owner) -> str:
    return f"tier_id,base,per_gb,per_kwh,margin_percent\n{owner.own('tier_id')},1,0,0,0\n"


QUERIES = {"GET /v1/customers/{customer_id}/statement": {"month": "2026-11"}}

BODIES: dict[str, Any] = {
    "PATCH /v1/customers/{customer_id}": {"note": "calls on Mondays"},
    "PATCH /v1/endpoints/{endpoint_id}": {"aliases": ["another name"]},
    "PATCH /v1/keys/{key_id}": {"weight": 2.0},
    "PATCH /v1/price-books/{book_id}": {"energy_cost_per_kwh": "0.25"},
    "POST /v1/customers/{customer_id}/negotiated-prices": {"adjustment": "-0.1"},
    "POST /v1/negotiated-prices/{prices_id}/end": {},
    "POST /v1/price-books/{book_id}/publish": {},
    "POST /v1/releases/decisions/{decision_id}": {"accept": True},
    "POST /v1/releases/{release_id}/publish": {"reason": "looked at"},
    "POST /v1/transfers/{transfer_id}/complete": _end,
    "POST /v1/transfers/{transfer_id}/heartbeats": lambda owner, _: Transfer(owner.client).body(0),
    "PUT /v1/customers/{customer_id}/keys": {"key_ids": []},
    "PUT /v1/devices/{name}": PROFILE,
    "PUT /v1/links/{link_id}/labels": {"labels": ["europe"]},
    "PUT /v1/price-books/{book_id}/prices.csv": lambda owner, _: _prices_of(owner).encode(),
    "PUT /v1/price-books/{book_id}/rules": {"rules": [{"price": PRICE}]},
    "PUT /v1/price-books/{book_id}/tiers/{tier_id}": PRICE,
    "PUT /v1/regions/{region}": {"currency": "EUR"},
    "POST /admin/customers/{customer_id}": lambda *_: {"name": f"renamed {uuid4()}", "version": "1"},
    "POST /admin/customers/{customer_id}/archive": {"version": "1"},
    "POST /admin/customers/{customer_id}/prices": {"adjustment": "10", "direction": "off"},
    "POST /admin/customers/{customer_id}/prices/end": lambda owner, named: {
        "prices_id": negotiated(owner, named["customer_id"])
    },
    "POST /admin/endpoints/{endpoint_id}/policy": {"policy": "battery"},
    "POST /admin/endpoints/{endpoint_id}/region": {"region": ""},
    "POST /admin/keys/{key_id}/calls": {"rate_factor": "2"},
    "POST /admin/keys/{key_id}/weight": {"weight": "2"},
    "POST /admin/logs/quarantine/{row_id}/retry": lambda *_: {"raw": json.dumps(record())},
    "POST /admin/price-books/{book_id}/delete": {"version": BOOK_VERSION},
    "POST /admin/price-books/{book_id}/energy-cost": {"version": BOOK_VERSION, "energy_cost_per_kwh": "0.25"},
    "POST /admin/price-books/{book_id}/prices": lambda owner, _: (
        {"version": BOOK_VERSION} | {f"{part}.{owner.own('tier_id')}": amount for part, amount in PRICE.items()}
    ),
    "POST /admin/price-books/{book_id}/prices.csv": lambda owner, _: {
        "version": BOOK_VERSION,
        "prices": _prices_of(owner),
    },
    "POST /admin/price-books/{book_id}/rules": {"version": BOOK_VERSION, "order.0": "1"}
    | {f"{part}.0": amount for part, amount in PRICE.items()},
    "POST /admin/price-books/{book_id}/publish": {"version": BOOK_VERSION},
    "POST /admin/price-books/{book_id}/together": lambda owner, _: (
        PRICE | {"version": BOOK_VERSION, "link": owner.own("link_id")}
    ),
    "POST /admin/price-books/{book_id}/withdraw": {"version": BOOK_VERSION},
    "POST /admin/releases/decisions/{decision_id}": {"accept": "true"},
    "POST /admin/releases/{release_id}/publish": {"reason": "looked at"},
    "POST /admin/tiers/{cluster_id}/{kind}": lambda owner, _: cuts_of(owner, owner.own("cluster_id")),
    "POST /admin/tiers/{cluster_id}/{kind}/proposed": CUTS,
    "POST /admin/tiers/{tier_id}/name": lambda *_: {"name": f"gold {uuid4()}"},
    "POST /admin/users/{user_id}/roles": {"roles": ["analyst"]},
}
"""What is sent with a call, by its name, so that nothing is refused before the thing is looked up."""

ANSWERED_OTHERWISE = {
    ("PUT /v1/devices/{name}", "name"): (200, "it is a profile of one's own that gets the name"),
    ("POST /v1/transfers/{transfer_id}/complete", "transfer_id"): (200, "agents name transfers: it is one's own"),
    ("POST /v1/transfers/{transfer_id}/heartbeats", "transfer_id"): (200, "agents name transfers: it is one's own"),
    ("PUT /v1/regions/{region}", "region"): (200, "it is a region of one's own that gets the name"),
    ("PUT /v1/price-books/{book_id}/tiers/{tier_id}", "tier_id"): (INVALID, "the book is there, the tier is refused"),
    ("DELETE /v1/price-books/{book_id}/tiers/{tier_id}", "tier_id"): (200, "it has no price there, and has none after"),
    ("POST /admin/users/{user_id}/no-password", "user_id"): (CONFLICT, "nobody does it without a provider"),
}
"""(call, what is another's) → what is answered instead of 404, and why that tells and changes nothing of another's."""


def name_of(call: Call) -> str:
    return f"{call.method} {call.path}"


def places(call: Call) -> list[str]:
    return [name.partition(":")[0] for name in re.findall(r"{(.+?)}", call.path)]


NAMING = [call for call in list_calls() if "{" in call.path and not call.path.startswith(FILES_OF_OURS)]
ASKED = [(call, place) for call in NAMING for place in places(call) if place != "kind"]


def ask(owner: Owner, call: Call, named: Mapping[str, str]) -> int:
    """The status of a call; what comes after the head is not waited for, because some answers never end."""
    told = BODIES.get(name_of(call))
    body = told(owner, named) if callable(told) else told
    sent: dict[str, Any] = {} if body is None else {"content" if isinstance(body, bytes) else "json": body}
    if call.is_page and call.method == "POST":
        sent = {"data": (body or {}) | {"form_token": owner.form_token}}
    client = owner.visitor if call.is_page else owner.client
    query = QUERIES.get(name_of(call))
    with client.stream(call.method, call.path.format_map(named), params=query, **sent) as answer:
        return answer.status_code


@pytest.fixture(scope="module")
def owners(
    api: str, parts: Container, database_url: str, logs: LogReader, learned: Tenant
) -> Iterator[tuple[Owner, Owner]]:
    """Two tenants that both have all there is."""
    with ExitStack() as stack:

        def owner(tenant: Tenant) -> Owner:
            visitor = stack.enter_context(signed_in(api, person(parts, tenant)))
            return Owner(tenant, stack.enter_context(tenant.client(api)), visitor, visitor.token)

        yield owner(learned), owner(learned_tenant(api, parts, database_url, logs))


def test_every_place_of_an_address_has_a_thing_and_every_exception_a_call() -> None:
    assert {place for call in NAMING for place in places(call)} == THINGS.keys()
    names = {name_of(call) for call in NAMING}
    assert BODIES.keys() <= names
    assert {(name_of(call), place) for call, place in ASKED} >= ANSWERED_OTHERWISE.keys()


@pytest.mark.parametrize(
    ("call", "place"), ASKED, ids=lambda value: name_of(value) if isinstance(value, Call) else value
)
def test_objects_of_another_tenant_are_not_found(owners: tuple[Owner, Owner], call: Call, place: str) -> None:
    owner, neighbour = owners
    owned = {name: owner.own(name) for name in places(call)}
    mixed = {name: neighbour.own(name) for name in places(call)} | {place: owned[place]}
    expected, _ = ANSWERED_OTHERWISE.get((name_of(call), place), (NOT_FOUND, ""))
    assert ask(neighbour, call, mixed) == expected
    found = ask(owner, call, owned)
    assert found not in (NOT_FOUND, INVALID), "what was sent is valid, and it is there for its owner still"
    assert found < FAILED


@pytest.mark.parametrize(
    ("place", "path"), [("transfer_id", "/v1/transfers/{}"), ("name", "/v1/devices/{}")]
)  # fmt: skip
def test_calls_with_ids_of_another_tenant_leave_its_objects_unchanged(
    owners: tuple[Owner, Owner], place: str, path: str
) -> None:
    owner, neighbour = owners
    name = owner.own(place)
    before = owner.client.get(path.format(name)).raise_for_status().json()
    for call in NAMING:
        if (name_of(call), place) in ANSWERED_OTHERWISE:
            ask(neighbour, call, {place: name})
    assert owner.client.get(path.format(name)).raise_for_status().json() == before


def test_a_body_that_names_what_another_tenant_owns_gets_nothing_of_it(owners: tuple[Owner, Owner]) -> None:
    owner, neighbour = owners
    copied = neighbour.client.post("/v1/price-books", json={"name": "a copy", "copy_of": owner.own("book_id")})
    assert copied.status_code == NOT_FOUND
    assert neighbour.client.get("/v1/sla-tiers", params={"link_id": owner.own("link_id")}).json() == []
    assert neighbour.visitor.get("/admin/sql", params={"saved": owner.own("query_id")}).status_code == NOT_FOUND
    assert neighbour.visitor.get("/admin/tiers", params={"link": owner.own("link_id")}).status_code == NOT_FOUND
