"""What is sent twice, by a double click or after a lost answer, is done once and answered alike."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from services.application.access.authenticate import Scope
from services.bootstrap import Container
from tests.integration.admin.visitors import Visitor, entries, person, signed_in
from tests.stack import Tenant

AT_ONCE = 5


@pytest.fixture
def visitor(parts: Container, api: str, tenant: Tenant) -> Iterator[Visitor]:
    with signed_in(api, person(parts, tenant, "operator", "provider")) as opened:
        yield opened


@pytest.fixture
def client(api: str, tenant: Tenant) -> Iterator[httpx.Client]:
    with tenant.client(api, Scope.OPERATOR, Scope.PROVIDER) as opened:
        yield opened


def at_once(send: Callable[[], httpx.Response]) -> list[httpx.Response]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda _: send(), range(AT_ONCE)))


def tokens(visitor: Visitor, page: str, action: str) -> dict[str, str]:
    """What a form of a page carries unseen."""
    form = re.search(rf'<form method="post" action="{action}".*?</form>', visitor.get(page).text, re.DOTALL)
    assert form is not None
    return dict(re.findall(r'<input type="hidden" name="(form_token|once)" value="([^"]+)"', form[0]))


def books(client: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/v1/price-books").json()
    return found


def test_form_that_is_sent_several_times_at_once_makes_one(visitor: Visitor, client: httpx.Client) -> None:
    fields = tokens(visitor, "/admin/price-books", "/admin/price-books") | {"name": "Winter", "currency": "EUR"}
    answers = at_once(lambda: visitor.post("/admin/price-books", data=fields))
    assert [book["name"] for book in books(client)] == ["Winter"]
    assert {(each.status_code, each.headers["location"]) for each in answers} == {
        (303, f"/admin/price-books/{books(client)[0]['id']}")
    }


def test_key_that_was_made_by_a_double_click_shows_its_secret_in_both_answers(
    visitor: Visitor, client: httpx.Client, admin_database_url: str
) -> None:
    before = len(client.get("/v1/keys").json())
    fields = tokens(visitor, "/admin/keys", "/admin/keys") | {"name": "mover", "scopes": "agent"}
    answers = at_once(lambda: visitor.post("/admin/keys", data=fields))
    (secret,) = {found[0] for each in answers if (found := re.search(r"tw_[\w-]+", each.text))}
    assert {each.status_code for each in answers} == {201}
    assert len(client.get("/v1/keys").json()) == before + 1
    with psycopg.connect(admin_database_url) as admin:
        assert all(secret not in row[0] for row in admin.execute("SELECT answer FROM submissions"))


def test_form_that_was_refused_is_sent_again_with_what_was_corrected(visitor: Visitor, client: httpx.Client) -> None:
    fields = tokens(visitor, "/admin/price-books", "/admin/price-books") | {"name": "Winter"}
    assert visitor.post("/admin/price-books", data=fields | {"currency": "DEM"}).status_code == 422
    assert visitor.post("/admin/price-books", data=fields | {"currency": "DEM"}).status_code == 422
    assert visitor.post("/admin/price-books", data=fields | {"currency": "EUR"}).status_code == 303
    assert len(books(client)) == 1


def test_form_of_a_page_that_was_gone_back_to_makes_another_with_other_content(
    visitor: Visitor, client: httpx.Client
) -> None:
    fields = tokens(visitor, "/admin/price-books", "/admin/price-books") | {"currency": "EUR"}
    for name in ("Winter", "Summer", "Winter"):
        assert visitor.post("/admin/price-books", data=fields | {"name": name}).status_code == 303
    assert sorted(book["name"] for book in books(client)) == ["Summer", "Winter"]


def test_form_is_done_again_by_nobody_but_who_sent_it(
    parts: Container, api: str, tenant: Tenant, visitor: Visitor, client: httpx.Client
) -> None:
    fields = tokens(visitor, "/admin/price-books", "/admin/price-books") | {"name": "Winter", "currency": "EUR"}
    visitor.post("/admin/price-books", data=fields)
    with signed_in(api, person(parts, tenant, "provider")) as other:
        of_another = fields | {"form_token": other.token, "name": "Spring"}
        assert other.post("/admin/price-books", data=of_another).status_code == 303
    assert len(books(client)) == 2


def test_request_with_an_idempotency_key_is_done_once(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": str(uuid4())}
    asked = {"name": "Winter", "currency": "EUR"}
    answers = at_once(lambda: client.post("/v1/price-books", json=asked, headers=headers))
    assert {each.status_code for each in answers} == {201}
    assert len({each.content for each in answers}) == 1
    assert {each.headers["etag"] for each in answers} == {'"1"'}
    assert len(books(client)) == 1
    assert client.post("/v1/price-books", json=asked).status_code == 409, "without the key it is another of the name"


def test_answers_that_are_stored_of_a_tenant_are_bounded(
    client: httpx.Client, tenant: Tenant, admin_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.persistence.repositories.access.submissions.MOST_OF_TENANT", 3)
    for number in range(5):
        headers = {"Idempotency-Key": str(number)}
        client.post("/v1/endpoints", json={"name": f"end {number}"}, headers=headers).raise_for_status()
    with psycopg.connect(admin_database_url) as admin:
        count = "SELECT count(*) FROM submissions WHERE tenant_id = %s"
        assert admin.execute(count, [tenant.id]).fetchone() == (3,)
    assert client.post("/v1/endpoints", json={"name": "end 4"}, headers={"Idempotency-Key": "4"}).status_code == 201


def test_a_long_answer_is_not_stored_and_its_request_not_done_twice(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.idempotent_requests.LONGEST_ANSWER_BYTES", 10)
    monkeypatch.setattr("services.idempotent_requests.TIMEOUT_S", 0.0)
    headers = {"Idempotency-Key": str(uuid4())}
    answers = [client.post("/v1/endpoints", json={"name": "once"}, headers=headers) for _ in range(2)]
    assert [each.status_code for each in answers] == [201, 409]
    assert "look whether it was done" in answers[1].json()["detail"]


def test_new_key_has_one_secret_however_often_it_is_requested(
    client: httpx.Client, parts: Container, tenant: Tenant
) -> None:
    headers = {"Idempotency-Key": "nightly"}
    asked = {"name": "mover", "scopes": ["agent"]}
    before = entries(parts, tenant, "key")
    first, again = (client.post("/v1/keys", json=asked, headers=headers).json() for _ in range(2))
    assert first == again
    assert len(entries(parts, tenant, "key")) == len(before) + 1


def test_idempotency_key_of_other_content_is_refused(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "1"}
    client.post("/v1/price-books", json={"name": "Winter", "currency": "EUR"}, headers=headers)
    refused = client.post("/v1/price-books", json={"name": "Summer", "currency": "EUR"}, headers=headers)
    assert (refused.status_code, "other content" in refused.json()["detail"]) == (409, True)


def test_request_that_was_refused_may_be_sent_again_under_its_idempotency_key(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "1"}
    for _ in range(2):
        refused = client.post("/v1/price-books", json={"name": "Winter", "currency": "DEM"}, headers=headers)
        assert refused.status_code == 422
    made = client.post("/v1/price-books", json={"name": "Winter", "currency": "EUR"}, headers=headers)
    assert made.status_code == 201


def test_another_api_key_has_idempotency_keys_of_its_own(api: str, tenant: Tenant, client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "1"}
    with tenant.client(api, Scope.PROVIDER) as other:
        made = [
            each.post("/v1/price-books", json={"name": name, "currency": "EUR"}, headers=headers).json()["id"]
            for each, name in ((client, "Winter"), (other, "Summer"))
        ]
    assert len(set(made)) == 2


@pytest.mark.parametrize("token", ["", "x" * 201])
def test_idempotency_key_that_cannot_be_one_is_refused(client: httpx.Client, token: str) -> None:
    refused = client.post(
        "/v1/price-books", json={"name": "Winter", "currency": "EUR"}, headers={"Idempotency-Key": token}
    )
    assert (refused.status_code, books(client)) == (422, [])
