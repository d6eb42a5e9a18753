"""Names that the API takes: something of each is seen, and none is that of two things of a kind."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import pytest

from services.app import build_openapi_document
from tests.stack import Tenant

AT_ONCE = 5
UNSEEN = ["", "  ", "\u200b", "\u3164", "a\nb", "a\x00b", "a\x85b", "\u202eabc", "a\u2066b"]
NEW: dict[str, dict[str, Any]] = {
    "/v1/keys": {"scopes": ["agent"]},
    "/v1/price-books": {"currency": "EUR"},
    "/v1/customers": {},
    "/v1/endpoints": {},
}
"""What else a new thing of each kind needs."""

CHANGED = ("/v1/customers", "/v1/endpoints")
"""Kinds whose name can be changed."""

ISSUER = "/v1/statement-issuer"
"""The provider, of which there is one: its name is put, and can be that of no other."""


@pytest.fixture
def client(api: str, tenant: Tenant) -> Iterator[httpx.Client]:
    with tenant.client(api) as opened:
        yield opened


def make(client: httpx.Client, path: str, name: str) -> httpx.Response:
    return client.post(path, json=NEW[path] | {"name": name})


def list_fields(schema: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield from list_fields(schemas[schema["$ref"].rsplit("/", 1)[-1]], schemas)
    for part in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(part, ()):
            yield from list_fields(each, schemas)
    yield from schema.get("properties", {})


def test_every_route_that_takes_a_name_is_tested_here() -> None:
    document = build_openapi_document()
    found = {
        (method, path)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        if "name" in list_fields(content["schema"], document["components"]["schemas"])
    }
    made = {("post", path) for path in NEW}
    changed = {("patch", path) for _, path in found if path.rpartition("/")[0] in CHANGED and path.endswith("_id}")}
    assert found == made | changed | {("put", ISSUER)}


@pytest.mark.parametrize("path", NEW)
def test_name_that_another_has_is_refused(client: httpx.Client, path: str) -> None:
    assert make(client, path, "North Sea").status_code == 201
    before = client.get(path).json()
    for name in ("North Sea",) if path == "/v1/endpoints" else ("North Sea", " north  SEA "):
        refused = make(client, path, name)
        assert refused.status_code == 409, name
        problem = refused.json()
        assert (problem["title"], problem["errors"][0]["field"]) == ("Conflict", "name")
    assert client.get(path).json() == before


@pytest.mark.parametrize("path", CHANGED)
def test_change_to_a_name_that_another_has_is_refused(client: httpx.Client, path: str) -> None:
    make(client, path, "North Sea")
    other = make(client, path, "Baltic").json()
    refused = client.patch(f"{path}/{other['id']}", json={"name": "North Sea"})
    assert (refused.status_code, refused.json()["title"]) == (409, "Conflict")
    assert client.patch(f"{path}/{other['id']}", json={"name": "Baltic"}).status_code == 200, "its own"


@pytest.mark.parametrize("path", NEW)
def test_one_of_several_requests_at_once_gets_the_name(client: httpx.Client, path: str) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = list(pool.map(lambda _: make(client, path, "North Sea").status_code, range(AT_ONCE)))
    assert sorted(statuses) == [201] + [409] * (AT_ONCE - 1)


@pytest.mark.parametrize("name", UNSEEN)
@pytest.mark.parametrize("path", NEW)
def test_name_that_cannot_be_seen_is_refused(client: httpx.Client, path: str, name: str) -> None:
    before = client.get(path).json()
    refused = make(client, path, name)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "name")
    assert client.get(path).json() == before


@pytest.mark.parametrize("path", CHANGED)
def test_change_to_a_name_that_cannot_be_seen_is_refused(client: httpx.Client, path: str) -> None:
    made = make(client, path, f"North Sea {uuid4()}").json()
    refused = client.patch(f"{path}/{made['id']}", json={"name": "\u200b"})
    assert (refused.status_code, refused.json()["errors"][0]["reason"]) == (422, "is blank; type one")


@pytest.mark.parametrize("name", UNSEEN)
def test_name_of_the_provider_that_cannot_be_seen_is_refused(client: httpx.Client, name: str) -> None:
    client.put(ISSUER, json={"name": "Trade Winds", "address": ["Port 1"]}).raise_for_status()
    refused = client.put(ISSUER, json={"name": name, "address": []})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "name")
    assert client.get(ISSUER).json() == {"name": "Trade Winds", "address": ["Port 1"]}


def test_key_may_have_the_name_of_a_revoked_one(client: httpx.Client) -> None:
    made = make(client, "/v1/keys", "mover").json()
    client.delete(f"/v1/keys/{made['id']}").raise_for_status()
    assert make(client, "/v1/keys", "mover").status_code == 201
