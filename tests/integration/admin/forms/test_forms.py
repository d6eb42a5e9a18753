"""Forms: sent twice they are done once, names are not blank and of one thing, and a session that ended leads back."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from services.application.warehouse.saved_queries import save_query
from tests.integration.admin.visitors import PASSWORD, Visitor, entries, person, signed_in


@pytest.fixture
def operator(parts, api, tenant):
    with signed_in(api, person(parts, tenant)) as visitor:
        yield visitor


def keys(parts, tenant):
    with parts.store.unit_of_work(tenant.id) as uow:
        return sorted(key.name for key in uow.keys.list_all())


def books(parts, tenant):
    with parts.store.unit_of_work(tenant.id) as uow:
        return sorted(book.name for book in uow.price_books.list_without_prices())


@pytest.mark.parametrize("name", ["", " ", "\u2003 ", "mover", " MOVER "])
def test_name_of_a_key_is_not_blank_and_of_no_other_key_in_use(parts, tenant, operator, name):
    assert operator.submit("/admin/keys", name="mover", scopes="agent").status_code == 201
    before = keys(parts, tenant)
    refused = operator.submit("/admin/keys", name=name, scopes="agent")
    assert refused.status_code == (422 if not name.strip() else 409)
    assert re.search(r'role="alert">Name (is|must) ', refused.text)
    assert 'aria-label="Pages"' in refused.text
    assert keys(parts, tenant) == before


def test_name_of_a_revoked_key_is_free_again(parts, tenant, operator):
    assert operator.submit("/admin/keys", name="mover", scopes="agent").status_code == 201
    with parts.store.unit_of_work(tenant.id) as uow:
        key = next(each for each in uow.keys.list_all() if each.name == "mover")
    assert operator.submit(f"/admin/keys/{key.id}/revoke").status_code == 303
    assert operator.submit("/admin/keys", name="mover", scopes="agent").status_code == 201
    assert keys(parts, tenant).count("mover") == 2


def test_name_of_a_price_book_is_not_blank_and_of_no_other_and_copies_are_numbered(parts, tenant, operator):
    draft = {"name": "Spring", "currency": "EUR"}
    first = operator.submit("/admin/price-books", **draft)
    assert first.status_code == 303
    for name, status in (("spring", 409), ("  ", 422), ("Spring ", 409)):
        assert operator.submit("/admin/price-books", **(draft | {"name": name})).status_code == status
    origin = first.headers["location"].rpartition("/")[2]
    for _ in range(2):
        copied = operator.submit("/admin/price-books", name="Copy of Spring", copy_of=origin)
        assert copied.status_code == 303
    assert books(parts, tenant) == ["Copy of Spring", "Copy of Spring 2", "Spring"]


def test_a_form_that_is_sent_twice_is_done_once(parts, tenant, operator):
    page = operator.get("/admin/keys").text
    once = re.findall(r'name="once" value="([^"]+)"', page)[-1]
    sent = {"name": "twice", "scopes": "agent", "once": once, "form_token": operator.token}
    first, again = (operator.post("/admin/keys", data=sent) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.text == again.text
    assert keys(parts, tenant).count("twice") == 1


def test_a_user_is_deleted_and_signed_out_and_the_queries_stay(parts, api, tenant, operator):
    leaver = person(parts, tenant, "analyst")
    with signed_in(api, leaver) as leaving:
        with parts.store.unit_of_work(tenant.id) as uow:
            user = next(each for each in uow.users.list_all() if each.login == leaver.login)
            visitor = type("Author", (), {"user": user, "actor": None})
            save_query("of all", "SELECT 1", author=visitor, uow=uow, clock=parts.clock)
        assert operator.submit(f"/admin/users/{user.id}/delete").status_code == 303
        assert leaving.get("/admin").headers["location"].startswith("/admin/sign-in")
        assert leaving.sign_in(leaver).status_code == 401
    with parts.store.unit_of_work(tenant.id) as uow:
        assert leaver.login not in {each.login for each in uow.users.list_all()}
        assert [each.name for each in uow.saved_queries.list_all()] == ["of all"]
    assert entries(parts, tenant, "user.")[0][::2] == ("user.deleted", leaver.login)
    assert operator.submit(f"/admin/users/{user.id}/delete").status_code == 404


def test_nobody_deletes_the_own_account_or_that_of_another_tenant(parts, api, tenant, operator, database_url):
    with parts.store.unit_of_work(tenant.id) as uow:
        (own,) = uow.users.list_all()
    assert operator.submit(f"/admin/users/{own.id}/delete").status_code == 409
    with signed_in(api, person(parts, tenant, "provider")) as provider:
        assert provider.submit(f"/admin/users/{own.id}/delete").status_code == 403
    with parts.store.unit_of_work(tenant.id) as uow:
        assert own.login in {each.login for each in uow.users.list_all()}


def test_a_form_of_a_session_that_has_ended_leads_back_to_its_page(parts, api, tenant):
    somebody = person(parts, tenant)
    with signed_in(api, somebody) as visitor:
        token, before = visitor.token, keys(parts, tenant)
        visitor.post("/admin/sign-out", data={"form_token": token})
        headers = {"referer": f"{api}/admin/keys?q=mover"}
        sent = visitor.post("/admin/keys", data={"name": "x", "scopes": "agent"}, headers=headers)
        address = urlsplit(sent.headers["location"])
        assert (sent.status_code, address.path) == (303, "/admin/sign-in")
        assert parse_qs(address.query)["next"] == ["/admin/keys?q=mover"]
        assert "tradewind_unsent=1" in sent.headers["set-cookie"]
        assert keys(parts, tenant) == before
        told = {"login": somebody.login, "password": PASSWORD, "next": "/admin/keys?q=mover"}
        assert visitor.post("/admin/sign-in", data=told).headers["location"] == "/admin/keys?q=mover"


@pytest.mark.parametrize("referer", ["", "https://elsewhere.example/admin/keys", "no address"])
def test_a_form_without_a_page_of_ours_leads_to_its_own_address(api, referer):
    with Visitor(base_url=api) as visitor:
        sent = visitor.post(
            "/admin/keys/7/weight", data={"weight": "1"}, headers={"referer": referer} if referer else {}
        )
    assert parse_qs(urlsplit(sent.headers["location"]).query)["next"] == ["/admin/keys/7/weight"]
