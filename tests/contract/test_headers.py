"""What every answer tells a browser, whoever asks for what."""

import re
from collections.abc import Iterator, Mapping

import httpx
import pytest

from infra.reference.authorisation import Call, list_calls
from services.api.middleware import ONLY_BY_TLS
from services.bootstrap import Container
from tests.contract.test_authorisation import ENDS_THE_SESSION, filled
from tests.integration.admin.visitors import PASSWORD, person, signed_in
from tests.stack import Tenant, new_tenant

PATIENCE_S = 60.0
STATIC = "/admin/static/"
CALLS = [call for call in list_calls() if call.path != ENDS_THE_SESSION and not call.path.startswith(STATIC)]
MAY_BE_KEPT = ("/docs", STATIC)
"""Files of the service that are nobody's."""

SCRIPTS_FROM = re.compile(r"default-src 'none';( script-src 'self'( 'unsafe-eval')?;.*)? frame-ancestors 'none'")


@pytest.fixture(scope="module")
def owner(parts: Container, database_url: str) -> Tenant:
    return new_tenant(parts, database_url)


def wrong(told: Mapping[str, str], call: Call) -> list[str]:
    """What is missing or said too much of."""
    policy = told.get("content-security-policy", "")
    kept = told.get("cache-control", "")
    checks = {
        "policy": SCRIPTS_FROM.fullmatch(policy) is not None,
        "inline": not re.search(r"(?:script-src|style-src) [^;]*'unsafe-inline'", policy),
        "sniffing": told.get("x-content-type-options") == "nosniff",
        "referrer": told.get("referrer-policy") in {"no-referrer", "same-origin"},
        "kept": "no-store" in kept or call.path.startswith(MAY_BE_KEPT),
        "tls": "strict-transport-security" not in told,
    }
    return [name for name, fine in checks.items() if not fine]


def answers(client: httpx.Client) -> Iterator[tuple[Call, httpx.Response]]:
    for call in CALLS:
        with client.stream(call.method, filled(call.path)) as answer:  # some never end
            yield call, answer


@pytest.mark.parametrize("who", ["a stranger", "a key", "a person"])
def test_every_answer_keeps_browsers_from_harm(api: str, parts: Container, owner: Tenant, who: str) -> None:
    strangers = httpx.Client(base_url=api, timeout=PATIENCE_S)
    opened = {"a stranger": strangers, "a key": owner.client(api), "a person": signed_in(api, person(parts, owner))}
    with opened[who] as client:
        found = {f"{call.method} {call.path}": wrong(answer.headers, call) for call, answer in answers(client)}
    strangers.close()
    assert {name: lacks for name, lacks in found.items() if lacks} == {}


def test_error_answers_have_the_security_headers(api: str) -> None:
    for method, path in (
        ("GET", "/nothing"),
        ("DELETE", "/healthz"),
        ("POST", "/v1/recommend?x=1"),
        ("HEAD", "/admin"),
    ):
        answer = httpx.request(method, f"{api}{path}")
        assert wrong(answer.headers, Call(method, path, None)) == [], path


def test_hsts_header_is_sent_behind_tls(api: str) -> None:
    name, value = (each.decode() for each in ONLY_BY_TLS)
    for path in ("/", "/healthz", "/admin/sign-in", "/v1/links"):
        answer = httpx.get(f"{api}{path}", headers={"X-Forwarded-Proto": "https"}, timeout=PATIENCE_S)
        assert answer.headers[name] == value


def test_session_cookie_is_hidden_from_scripts_and_other_sites(api: str, parts: Container, owner: Tenant) -> None:
    someone = person(parts, owner)
    form = {"login": someone.login, "password": PASSWORD}
    answer = httpx.post(f"{api}/admin/sign-in", data=form, headers={"X-Forwarded-Proto": "https"}, timeout=PATIENCE_S)
    cookie = answer.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=lax", "secure", "path=/admin"))
