"""Who may call what: every route, as every kind of caller."""

from collections.abc import Iterable
from uuid import uuid4

import httpx
import pytest

from infra.reference.authorisation import KEYS, Call, list_calls, render_authorisation
from infra.reference.pages import DOCUMENTS
from services.application.access.authenticate import Scope
from services.application.access.users import ROLES
from services.bootstrap import Container
from tests.integration.admin.visitors import person, signed_in
from tests.integration.live_transfers import learned
from tests.stack import Tenant

__all__ = ["learned"]

UNAUTHENTICATED, FORBIDDEN, FAILED = 401, 403, 500
ENDS_THE_SESSION = "/admin/sign-out"
SETTLED_OTHERWISE = ("/admin/sign-in", "/admin/static/", ENDS_THE_SESSION)
"""Of the pages: what is asked before or to end a session."""

API = [call for call in list_calls() if not call.is_page]
PAGES = [call for call in list_calls() if call.is_page and not call.path.startswith(SETTLED_OTHERWISE)]


def filled(path: str, **known: object) -> str:
    """An address with something that does not exist in each place, where nothing is known for it."""
    numbers = {"release_id": 2**31 - 1, "kind": "throughput", "name": "nothing", "name:path": "nothing"}
    return path.format_map(_Places(numbers | known))


class _Places(dict[str, object]):
    def __missing__(self, _: str) -> object:
        return uuid4()


def status_of(client: httpx.Client, call: Call, path: str, **sent: object) -> int:
    """Of the answer; what comes after its head is not waited for, because some answers never end."""
    with client.stream(call.method, path, **sent) as answer:  # type: ignore[arg-type]  # as httpx takes them
        return answer.status_code


def wrong(asked: Iterable[tuple[Call, int]], caller: Scope, refused: int) -> dict[str, int]:
    """Calls that were refused though permitted, or the other way round, and those that failed."""
    return {
        f"{call.method} {call.path}": status
        for call, status in asked
        if (status == refused) == (call.permitted is None or caller in call.permitted) or status >= FAILED
    }


def test_the_document_says_what_the_routes_ask_for() -> None:
    document = DOCUMENTS / "reference" / "authorisation.md"
    assert render_authorisation() == document.read_text(encoding="utf-8"), (
        "if the change is wanted: python -m infra.reference"
    )


def test_only_what_anybody_may_ask_is_answered_without_a_key(api: str) -> None:
    with httpx.Client(base_url=api, timeout=60) as stranger:
        answers = {f"{call.method} {call.path}": (call, status_of(stranger, call, filled(call.path))) for call in API}
    assert {
        name: status
        for name, (call, status) in answers.items()
        if (status == UNAUTHENTICATED) == (call.permitted is None)
    } == {}


@pytest.mark.parametrize("scope", KEYS)
def test_a_key_may_call_what_its_scope_permits(api: str, learned: Tenant, scope: Scope) -> None:
    with learned.client(api, scope) as client:
        asked = [(call, status_of(client, call, filled(call.path))) for call in API]
    assert wrong(asked, scope, FORBIDDEN) == {}


@pytest.mark.parametrize("role", ROLES)
def test_a_person_may_open_and_send_what_the_role_permits(
    api: str, parts: Container, learned: Tenant, role: Scope
) -> None:
    with signed_in(api, person(parts, learned, role)) as visitor:
        token = {"form_token": visitor.token}
        asked = [
            (call, status_of(visitor, call, filled(call.path), data=token if call.method == "POST" else None))
            for call in PAGES
        ]
    assert wrong(asked, role, FORBIDDEN) == {}


def test_every_page_sends_an_unauthenticated_client_to_sign_in(api: str) -> None:
    with httpx.Client(base_url=api, timeout=60) as stranger:
        sent = {call: stranger.request(call.method, filled(call.path)) for call in PAGES}
    assert {
        f"{call.method} {call.path}": answer.status_code
        for call, answer in sent.items()
        if not answer.headers.get("location", "").startswith("/admin/sign-in")
    } == {}
