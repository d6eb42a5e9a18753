"""Who is let in to the pages, and what is refused: guesses, forged sessions, other sites' forms, other roles."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from services.application.access.authenticate import hash_secret
from services.application.access.passwords import Passwords
from services.application.access.sign_in import LONGEST_IDLE, LONGEST_SESSION
from services.application.access.users import add_user, disable_user
from tests.integration.admin.visitors import OTHER_PASSWORD, PASSWORD, Visitor, entries, person, signed_in
from tests.stack import new_tenant
from tradewind.errors import Conflict, InvalidValue

SECRET = "tradewind_session"


def test_requested_page_is_shown_after_sign_in(api, operator):
    with Visitor(base_url=api) as visitor:
        asked = visitor.get("/admin/audit?about=key")
        assert (asked.status_code, asked.headers["location"]) == (
            303,
            "/admin/sign-in?next=%2Fadmin%2Faudit%3Fabout%3Dkey",
        )
        answer = visitor.post(
            "/admin/sign-in", data={"login": operator.login, "password": PASSWORD, "next": "/admin/audit?about=key"}
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/admin/audit?about=key")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert visitor.get("/admin/audit?about=key").status_code == 200


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://elsewhere.example/",
        "//elsewhere.example",
        "/admin//elsewhere",
        "/\\a",
        "/admin/\r\nX: y",
        "/admin/☃",
        f"/admin/{'x' * 2000}",
    ],
)
def test_nobody_is_sent_elsewhere_after_signing_in(api, operator, elsewhere):
    with Visitor(base_url=api) as visitor:
        told = {"login": operator.login, "password": PASSWORD, "next": elsewhere}
        assert visitor.post("/admin/sign-in", data=told).headers["location"] == "/admin"
        by_script = visitor.post("/admin/sign-in", data=told, headers={"HX-Request": "true"})
        assert by_script.headers["hx-redirect"] == "/admin"


def test_cookie_is_secure_behind_a_proxy_with_tls(api, operator):
    with Visitor(base_url=api, headers={"X-Forwarded-Proto": "https"}) as visitor:
        assert "Secure" in visitor.sign_in(operator).headers["set-cookie"]
    with Visitor(base_url=api) as visitor:
        assert "Secure" not in visitor.sign_in(operator).headers["set-cookie"]


def test_wrong_password_and_unknown_login_look_the_same(api, operator):
    with Visitor(base_url=api) as visitor:
        wrong = visitor.sign_in(operator, "another password")
        unknown = visitor.post("/admin/sign-in", data={"login": "nobody", "password": "another password"})
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.text.replace(operator.login, "nobody") == unknown.text
    assert SECRET not in wrong.headers.get("set-cookie", "")


@pytest.mark.parametrize("ahead", [LONGEST_IDLE, LONGEST_SESSION])
def test_a_session_ends(sign_ins, clock, operator, ahead):
    secret = sign_ins.sign_in(operator.login, PASSWORD)
    assert sign_ins.find_visitor(secret).user.login == operator.login
    clock.ahead = ahead - timedelta(minutes=1) if ahead is LONGEST_IDLE else timedelta()
    assert sign_ins.find_visitor(secret) is not None
    clock.ahead += ahead + timedelta(seconds=1)
    assert sign_ins.find_visitor(secret) is None


def test_a_page_left_open_does_not_keep_its_session(sign_ins, clock, operator):
    secret = sign_ins.sign_in(operator.login, PASSWORD)
    clock.ahead = LONGEST_IDLE - timedelta(minutes=2)
    assert sign_ins.find_visitor(secret, looks_by_itself=True) is not None
    clock.ahead = LONGEST_IDLE + timedelta(minutes=2)
    assert sign_ins.find_visitor(secret, looks_by_itself=True) is None


def test_two_operators_cannot_disable_each_other_at_once(parts, database_url):
    tenant = new_tenant(parts, database_url)
    for _ in range(2):
        person(parts, tenant)
    with parts.store.unit_of_work(tenant.id) as uow:
        ids = [user.id for user in uow.users.list_all()]
    both = Barrier(2)

    def disable(user_id):
        with parts.store.unit_of_work(tenant.id) as uow:
            both.wait(timeout=30)
            disable_user(user_id, uow=uow, clock=parts.clock)

    with ThreadPoolExecutor() as pool:
        outcomes = [done.exception() for done in [pool.submit(disable, user_id) for user_id in ids]]
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict", "NoneType"]


def test_only_the_hash_of_a_session_secret_is_stored(parts, sign_ins, operator):
    secret = sign_ins.sign_in(operator.login, PASSWORD)
    assert parts.store.registry.find_session(hash_secret(secret)) == operator.tenant.id
    assert parts.store.registry.find_session(secret.encode()[:32]) is None


@pytest.mark.parametrize("forged", ["", "x", "A" * 43, "'; DROP TABLE users; --"])
def test_a_forged_session_is_none(api, forged):
    with Visitor(base_url=api, cookies={SECRET: forged}) as visitor:
        assert visitor.get("/admin").headers["location"] == "/admin/sign-in"


def test_signing_out_ends_the_session_on_the_server(api, operator):
    with signed_in(api, operator) as visitor:
        kept = visitor.cookies[SECRET]
        assert visitor.submit("/admin/sign-out").status_code == 303
        with Visitor(base_url=api, cookies={SECRET: kept}) as thief:
            assert thief.get("/admin").status_code == 303


@pytest.mark.parametrize(
    "foreign",
    [{"Origin": "https://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}],
)
def test_a_form_of_another_site_is_refused(parts, api, operator, foreign):
    with signed_in(api, operator) as visitor:
        sent = visitor.post(
            "/admin/keys", data={"name": "theirs", "scopes": "operator", "form_token": visitor.token}, headers=foreign
        )
    assert sent.status_code == 403
    assert entries(parts, operator.tenant, "key.created")[0][2] != "theirs"


@pytest.mark.parametrize("token", [{}, {"form_token": ""}, {"form_token": "0" * 64}, {"form_token": "é"}])
def test_a_form_without_the_token_of_its_session_is_refused(parts, api, operator, token):
    with signed_in(api, operator) as visitor:
        sent = visitor.post("/admin/keys", data={"name": "theirs", "scopes": "operator"} | token)
        assert sent.status_code == 403
        assert "theirs" not in visitor.get("/admin/keys").text


def test_another_persons_token_is_of_no_use(parts, api, tenant, operator):
    with signed_in(api, operator) as one, signed_in(api, person(parts, tenant)) as other:
        sent = one.post("/admin/keys", data={"name": "theirs", "scopes": "operator", "form_token": other.token})
    assert sent.status_code == 403


def test_script_in_a_name_stays_text(api, operator):
    with signed_in(api, operator) as visitor:
        name = "<script>alert(1)</script>"
        assert visitor.submit("/admin/keys", name=name, scopes="agent").status_code == 201
        for address in ("/admin/keys", "/admin/audit"):
            answer = visitor.get(address)
            assert "<script>alert" not in answer.text
            assert "&lt;script&gt;alert" in answer.text
            assert "script-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("address", ["/admin/keys", "/admin/users", "/admin/audit"])
@pytest.mark.parametrize("role", ["provider", "analyst"])
def test_pages_of_operators_are_refused_to_others(parts, api, tenant, role, address):
    with signed_in(api, person(parts, tenant, role)) as visitor:
        assert visitor.get(address).status_code == 403
        assert address not in visitor.get("/admin").text


def test_users_and_keys_of_another_tenant_are_invisible(parts, api, database_url, operator):
    other = new_tenant(parts, database_url)
    stranger = person(parts, other)
    with parts.store.unit_of_work(other.id) as uow:
        user_id = next(user.id for user in uow.users.list_all() if user.login == stranger.login)
    with signed_in(api, operator) as visitor:
        assert stranger.login not in visitor.get("/admin/users").text
        assert visitor.submit(f"/admin/users/{user_id}/disable").status_code == 404
    with signed_in(api, stranger):
        pass


def test_a_disabled_person_is_out_at_once(parts, api, tenant, operator):
    leaver = person(parts, tenant, "analyst")
    with signed_in(api, operator) as visitor, signed_in(api, leaver) as out:
        with parts.store.unit_of_work(tenant.id) as uow:
            user_id = next(user.id for user in uow.users.list_all() if user.login == leaver.login)
        assert visitor.submit(f"/admin/users/{user_id}/disable").status_code == 303
        assert out.get("/admin").status_code == 303
        assert out.sign_in(leaver).status_code == 401


def test_changing_a_password_ends_the_other_sessions(api, operator):
    with signed_in(api, operator) as here, signed_in(api, operator) as there:
        wrong = here.submit("/admin/account/password", old="not mine, sorry", new=OTHER_PASSWORD, again=OTHER_PASSWORD)
        assert (wrong.status_code, "is not your password" in wrong.text) == (422, True)
        changed = here.submit("/admin/account/password", old=PASSWORD, new=OTHER_PASSWORD, again=OTHER_PASSWORD)
        assert changed.status_code == 303
        assert here.get("/admin").status_code == 200
        assert there.get("/admin").status_code == 303


def test_logins_are_one_persons_whatever_the_tenant_and_the_case(parts, database_url, operator):
    with parts.store.unit_of_work(new_tenant(parts, database_url).id) as uow, pytest.raises(Conflict):
        add_user(operator.login.upper(), ["analyst"], passwords=parts.passwords, uow=uow, clock=parts.clock)


@pytest.mark.parametrize("password", ["short", "x" * 201])
def test_a_password_is_neither_short_nor_endless(password):
    with pytest.raises(InvalidValue):
        Passwords().hash(password)


def test_audit_log_names_the_key_that_made_a_change(parts, api, tenant):
    with tenant.client(api) as client:
        client.put("/v1/limits", json={"scope": "tenant", "streams": 8}).raise_for_status()
        client.post("/v1/endpoints", json={"name": "site A"}).raise_for_status()
    assert entries(parts, tenant, "limit.") == [("limit.set", "first", "tenant")]
    assert entries(parts, tenant, "endpoint.") == [("endpoint.created", "first", "site A")]


def test_a_refused_attempt_is_counted(api, parts, operator):
    def counted():
        return parts.metrics.registry.get_sample_value("tradewind_sign_ins_refused_total")

    before = counted()
    with Visitor(base_url=api) as visitor:
        for password in ("not this one", PASSWORD):
            visitor.post("/admin/sign-in", data={"login": operator.login, "password": password})
    assert counted() == before + 1
