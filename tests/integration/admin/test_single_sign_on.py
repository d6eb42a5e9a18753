"""Signing in at a real OpenID provider, which runs beside the test."""

import re
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from services.admin.access.sign_on import COOKIE
from services.application.access.pending_sign_ins import PendingSignIn, open_sign_in, seal_sign_in
from services.application.access.single_sign_on import Provider, SignOnRules
from services.bootstrap import Container, Options, SignOn, build_container
from services.openid.provider import OpenIdProvider
from services.queue.sealing_key import KEY_NAME
from tests.endings import Program
from tests.integration.admin.visitors import Visitor, person, signed_in
from tests.integration.written import everything_written
from tests.ports import free_port
from tests.stack import Tenant, new_tenant, serving
from tradewind.errors import Unauthenticated

HERE = Path(__file__).with_name("openid")
PACKAGES = Path(__file__).resolve().parents[3] / "var" / "test-tools" / "openid"
CALLBACK = "/admin/sign-in/oidc/back"


@pytest.fixture(scope="module")
def issuer_port() -> int:
    if not (PACKAGES / "node_modules" / "oidc-provider").is_dir():
        pytest.skip("there is no OpenID provider; run infra/install-test-tools")
    return free_port()


@pytest.fixture(scope="module")
def house(database_url: str, redis_url: str, issuer_port: int) -> Iterator[tuple[Container, Tenant, str]]:
    with house_at(database_url, redis_url, issuer_port) as opened:
        yield opened


@contextmanager
def house_at(database_url: str, redis_url: str, issuer_port: int) -> Iterator[tuple[Container, Tenant, str]]:
    """An API at whose provider people sign in, and the tenant they are of."""
    secret = secrets.token_urlsafe()
    provider = Provider(
        issuer=f"http://127.0.0.1:{issuer_port}",
        client_id="tradewind",
        client_secret=secret,
        scope="openid email profile",
        name="Sign in at work",
    )
    with build_container(database_url=database_url, redis_url=redis_url) as plain:
        tenant = new_tenant(plain, database_url)
    rules = SignOnRules(
        tenant=f"tenant {tenant.id}",
        tenant_claim=None,
        login_claim="email",
        roles_claim="groups",
        roles={"ops": "operator", "data": "analyst"},
        creates_users=True,
    )
    sign_on = SignOn.at(provider, rules)
    with build_container(database_url=database_url, redis_url=redis_url, options=Options(sign_on=sign_on)) as parts:
        tenant = replace(tenant, parts=parts)
        with serving(parts) as api, running(issuer_port, f"{api}{CALLBACK}", secret):
            yield parts, tenant, api


class running:  # noqa: N801 - reads as a statement
    """The provider, in a process of its own."""

    def __init__(self, port: int, callback: str, secret: str) -> None:
        self._command = ["node", str(HERE / "provider.mjs"), str(PACKAGES), str(port), callback, secret]

    def __enter__(self) -> None:
        self._process = Program(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def at_the_provider(browser: httpx.Client, name: str, path: str = "/admin/sign-in/oidc") -> httpx.URL:
    """Go to the provider and say who one is; the address that it sends the browser back to."""
    answer = browser.get(path)
    for _ in range(12):
        if "location" in answer.headers:
            address = answer.url.join(answer.headers["location"])
            if address.path == CALLBACK:
                return address
            answer = browser.get(address)
            continue
        prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
        assert prompt is not None, answer.text
        form = re.search(r'action="([^"]+)"', answer.text)
        assert form is not None
        answer = browser.post(answer.url.join(form[1]), data={"prompt": prompt[1], "login": name, "password": "x"})
    raise AssertionError("the provider does not send back")


@pytest.fixture
def browser(house: tuple[Container, Tenant, str]) -> Iterator[Visitor]:
    with Visitor(base_url=house[2], timeout=60) as opened:
        yield opened


def open_pending(browser: Visitor, back: httpx.URL, parts: Container) -> PendingSignIn:
    """Return what the browser stores until it comes back."""
    return open_sign_in(
        browser.cookies[COOKIE], back.params["state"], key=parts.sealing_key.read(), now=parts.clock.now()
    )


def logins(tenant: Tenant) -> dict[str, frozenset[str]]:
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        return {user.login: user.roles for user in uow.users.list_all()}


def test_somebody_new_comes_in_with_the_roles_of_their_groups(
    house: tuple[Container, Tenant, str], browser: Visitor
) -> None:
    _, tenant, _ = house
    assert "Sign in at work" in browser.get("/admin/sign-in").text
    back = at_the_provider(browser, "ada.ops.people", "/admin/sign-in/oidc?next=/admin/users")
    answer = browser.get(back)
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/users")
    assert "ada@example.org" in browser.get("/admin/users").text
    assert logins(tenant)["ada@example.org"] == {"operator"}
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert [each.action for each in uow.audit.list_page(limit=2)] == ["user.signed_in", "user.created"]
    assert browser.get(back).status_code == 401, "what comes back is taken once"
    assert browser.submit("/admin/sign-out").status_code == 303
    assert browser.get("/admin/users").headers["location"].startswith("/admin/sign-in")


@pytest.mark.usefixtures("issuer_port")  # which skips where there is no provider
def test_no_secret_of_a_sign_in_is_written(database_url: str, redis_url: str) -> None:
    with everything_written() as written, house_at(database_url, redis_url, free_port()) as (parts, _, api):
        with Visitor(base_url=api, timeout=60) as somebody:
            back = at_the_provider(somebody, "zoe.ops")
            pending, sealed = open_pending(somebody, back, parts), somebody.cookies[COOKIE]
            wrong = somebody.get(back.copy_set_param("code", f"{back.params['code']}x"))
            again = at_the_provider(somebody, "zoe.ops")
            assert somebody.get(again).status_code == 303
            session = somebody.cookies["tradewind_session"]
        assert parts.options.sign_on is not None
        known = parts.options.sign_on.provider.provider
    assert wrong.status_code == 401
    secrets_used = [known.client_secret, session, again.params["code"], back.params["code"], pending.verifier, sealed]
    told = written()
    assert "sign_in.refused" in told
    assert [line for line in told.splitlines() if any(str(each) in line for each in secrets_used)] == []


def test_second_sign_in_is_by_the_same_user(house: tuple[Container, Tenant, str], browser: Visitor) -> None:
    before = len(logins(house[1]))
    for _ in range(2):
        assert browser.get(at_the_provider(browser, "bob.data")).status_code == 303
    assert len(logins(house[1])) == before + 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("eve", "you have no role here"),
        ("taken.ops", "somebody who has a password"),
        ("una.ops.unproven", "has not verified that una@example.org is yours"),
    ],
)
def test_refused_single_sign_on_states_the_reason_and_changes_nothing(
    house: tuple[Container, Tenant, str], browser: Visitor, name: str, said: str
) -> None:
    parts, tenant, _ = house
    if name.startswith("taken"):
        local = person(parts, tenant)
        with parts.store.unit_of_work(tenant.id) as uow:
            uow.connection.exec_driver_sql(
                "UPDATE users SET login = 'taken@example.org' WHERE login = %s", (local.login,)
            )
            uow.commit()
    before = logins(tenant)
    answer = browser.get(at_the_provider(browser, name))
    assert (answer.status_code, said.lower() in answer.text.lower()) == (401, True)
    assert logins(tenant) == before
    assert browser.get("/admin").headers["location"].startswith("/admin/sign-in")


def test_an_operator_may_leave_sign_ins_to_the_provider(house: tuple[Container, Tenant, str], browser: Visitor) -> None:
    """Somebody invited, and somebody whose password is taken away: both come in as who they were."""
    parts, tenant, api = house
    local = person(parts, tenant)
    with parts.store.unit_of_work(tenant.id) as uow:
        uow.connection.exec_driver_sql("UPDATE users SET login = 'pat@example.org' WHERE login = %s", (local.login,))
        (known,) = (user.id for user in uow.users.list_all() if user.login == "pat@example.org")
        uow.commit()
    with signed_in(api, person(parts, tenant)) as operator:
        sent = operator.submit("/admin/users", login="Ian@Example.org", roles="analyst", at_provider="true")
        assert sent.status_code == 303
        assert operator.submit(f"/admin/users/{known}/no-password").status_code == 303
        shown = operator.get("/admin/users").text
        assert shown.count("signs in at the provider") >= 2
    assert browser.sign_in(replace(local, login="pat@example.org")).status_code == 401
    for name in ("ian.data", "pat.ops"):
        assert browser.get(at_the_provider(browser, name)).status_code == 303
        account = browser.get("/admin/account").text
        assert ("You sign in at the provider" in account, "New password" in account) == (True, False)
        refused = browser.submit(
            "/admin/account/password", old="a guess", new="a password of theirs", again="a password of theirs"
        )
        assert (refused.status_code, "you sign in at the provider" in refused.text) == (422, True)
        browser.cookies.clear()
    with parts.store.unit_of_work(tenant.id) as uow:
        people = {user.login: user for user in uow.users.list_all()}
    assert people["pat@example.org"].id == known
    assert people["pat@example.org"].failed_sign_ins == 0
    assert people["Ian@Example.org"].last_sign_in_at is not None


@pytest.mark.parametrize(
    ("forged", "said"),
    [("nonce", "ID token is not valid"), ("key", "not started here"), ("verifier", "takes the sign-in back")],
)
def test_an_answer_to_another_sign_in_is_refused(
    house: tuple[Container, Tenant, str], browser: Visitor, forged: str, said: str
) -> None:
    parts, tenant, _ = house
    back, before = at_the_provider(browser, "mallory.ops"), logins(tenant)
    pending, key = open_pending(browser, back, parts), parts.sealing_key.read()
    if forged == "key":
        sealed = seal_sign_in(pending, key=b"f" * 32, now=parts.clock.now())
    else:
        sealed = seal_sign_in(replace(pending, **{forged: "f" * 64}), key=key, now=parts.clock.now())
    browser.cookies.delete(COOKIE)
    browser.cookies.set(COOKIE, sealed)
    answer = browser.get(back)
    assert (answer.status_code, said in answer.text) == (401, True), answer.text
    assert "tradewind_session" not in browser.cookies
    assert logins(tenant) == before


@pytest.mark.parametrize(
    ("client", "ahead_s", "said"), [("tradewind", 7_200, "expired"), ("somebody else", 0, "ID token")]
)
def test_a_token_that_is_old_or_for_somebody_else_is_refused(
    house: tuple[Container, Tenant, str], browser: Visitor, client: str, ahead_s: float, said: str
) -> None:
    """The provider's own tokens, looked at later or by another client."""
    known = house[0].options.sign_on
    assert known is not None
    back = at_the_provider(browser, "mallory.ops")
    pending = open_pending(browser, back, house[0])
    asked = known.provider.provider
    ours = httpx.BasicAuth(asked.client_id, asked.client_secret or "")

    def ask_as_ours(sent: httpx.Request) -> None:
        next(ours.auth_flow(sent))

    with httpx.Client(event_hooks={"request": [ask_as_ours] if client != asked.client_id else []}) as http:
        late = OpenIdProvider(
            replace(asked, client_id=client), http, monotonic_s=time.monotonic, now_s=lambda: time.time() + ahead_s
        )
        with pytest.raises(Unauthenticated, match=said):
            late.finish(
                back.params["code"],
                callback=str(back).partition("?")[0],
                nonce=pending.nonce,
                verifier=pending.verifier,
            )


def test_sign_in_that_another_browser_started_is_refused(
    house: tuple[Container, Tenant, str], browser: Visitor
) -> None:
    back = at_the_provider(browser, "mallory.ops")
    with Visitor(base_url=house[2], timeout=60) as victim:
        answer = victim.get(back)
        assert (answer.status_code, "not started here" in answer.text) == (401, True)
        assert "tradewind_session" not in victim.cookies
    (state,) = parse_qs(urlsplit(str(back)).query)["state"]
    answer = browser.get(CALLBACK, params={"state": state[::-1], "code": "guessed"})
    assert (answer.status_code, "not started here" in answer.text) == (401, True)


def test_many_that_start_to_sign_in_take_no_room(house: tuple[Container, Tenant, str], browser: Visitor) -> None:
    redis = house[0].client
    at_the_provider(browser, "mallory.ops")
    before = redis.dbsize()
    for number in range(50):
        started = browser.get(f"/admin/sign-in/oidc?next=/admin/{number}{'a' * 1_900}")
        assert started.status_code == 303
        assert len(started.headers["set-cookie"]) < 4_096, "what browsers store"
    assert redis.dbsize() <= before + 2  # rates of calls
    assert redis.exists(KEY_NAME) == 1


def test_a_provider_that_is_away_leaves_passwords(
    database_url: str, redis_url: str, house: tuple[Container, Tenant, str]
) -> None:
    _, tenant, _ = house
    known = house[0].options.sign_on
    assert known is not None
    nobody = replace(known.provider.provider, issuer=f"http://127.0.0.1:{free_port()}")
    with build_container(
        database_url=database_url, redis_url=redis_url, options=Options(sign_on=SignOn.at(nobody, known.rules))
    ) as parts:
        somebody = person(parts, replace(tenant, parts=parts))
        with serving(parts) as api, Visitor(base_url=api, timeout=60) as visitor:
            answer = visitor.get("/admin/sign-in/oidc")
            assert (answer.status_code, "does not answer now" in answer.text) == (503, True)
            assert visitor.sign_in(somebody).status_code == 303
