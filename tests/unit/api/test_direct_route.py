"""A direct route answers as the framework's own route of the same endpoint would, whatever is asked."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.responses import Response
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import Message, Scope

from services.api import problems
from services.api.dependencies import AgentKey, Body, Parts
from services.api.direct_route import DirectRoute
from services.api.routing import StrictRoute
from services.application.access.authenticate import Keyring, hash_secret
from services.application.limits.rate_limits import BURST_S, CallKind, CallLimits, RateLimits, TakenCalls
from services.application.shared.single_flight import SingleFlight
from services.observability.telemetry import Metrics
from tradewind.errors import NotFound, Unavailable
from tradewind.wire.records import WirePath

KNOWN, ANALYST, UNKNOWN = "tw_agent", "tw_analyst", "tw_nobody"
SCOPES = {KNOWN: frozenset({"agent"}), ANALYST: frozenset({"analyst"})}
ITEM = UUID(int=7)
USUAL = {"Authorization": f"Bearer {KNOWN}", "Content-Type": "application/json"}
GOOD = b'{"rtt_s": 0.06}'


async def echo_arguments(item: UUID, path_field: WirePath, body: Body, parts: Parts, principal: AgentKey) -> Response:
    """What the endpoint was passed."""
    if path_field.loss_rate == 1:
        raise NotFound("no way through")
    heard = (str(item), path_field.model_dump(), body.hex(), str(principal.key_id), parts is APP.state.container)
    return Response(json.dumps(heard), media_type="application/json")


class NoStore:
    """Nothing is shared."""

    async def take(self, taken: Sequence[TakenCalls]) -> Sequence[float]:
        raise Unavailable("away")


def limits(**calls_per_s: float) -> RateLimits:
    """Of a process alone, whose clock stands still."""
    of_key = {CallKind(kind): each for kind, each in calls_per_s.items()}
    return RateLimits(CallLimits.usual(of_key), NoStore(), lambda: 0.0, print, print)


def application() -> FastAPI:
    app = FastAPI()
    by_digest = {
        hash_secret(secret): SimpleNamespace(
            id=uuid4(),
            tenant_id=uuid4(),
            scopes=scopes,
            weight=1.0,
            rate_factor=1.0,
            secret_sha256=hash_secret(secret),
            customer_id=None,
            customer_rate_factor=None,
        )
        for secret, scopes in SCOPES.items()
    }
    app.state.container = SimpleNamespace(
        keyring=Keyring(by_digest.get, lambda: 0.0),
        lookups=SingleFlight(),
        rate_limits=limits(),
        metrics=Metrics.create(),
    )
    for route_class, way in ((DirectRoute, "direct"), (StrictRoute, "plain")):
        router = APIRouter(route_class=route_class)
        router.post(f"/{way}/{{item}}")(echo_arguments)
        app.router.routes.extend(router.routes)
    problems.install_handlers(app)
    return app


APP = application()


def both(item: str, body: bytes, headers: Mapping[str, str] | list[tuple[str, str]]) -> tuple[httpx.Response, ...]:
    """The answers of the direct and of the plain route."""

    async def ask() -> tuple[httpx.Response, ...]:
        transport = httpx.ASGITransport(APP)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return tuple(
                [await client.post(f"/{way}/{item}", content=body, headers=headers) for way in ("direct", "plain")]
            )

    return asyncio.run(ask())


def seen(answer: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    return answer.status_code, dict(answer.headers), answer.content


def test_an_ordinary_request_is_answered_without_the_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    both(str(ITEM), GOOD, USUAL)  # remembers the key
    route = next(each for each in APP.router.routes if isinstance(each, DirectRoute))
    monkeypatch.setattr(route, "app", None)
    direct, plain = both(str(ITEM), GOOD, USUAL)
    assert direct.status_code == 200
    assert seen(direct) == seen(plain)


@pytest.mark.parametrize(
    ("item", "body", "headers", "status"),
    [
        (ITEM, GOOD, {}, 401),
        (ITEM, GOOD, USUAL | {"Authorization": f"Bearer {UNKNOWN}"}, 401),
        (ITEM, GOOD, USUAL | {"Authorization": f"Bearer {ANALYST}"}, 403),
        (ITEM, GOOD, USUAL | {"Authorization": f"bearer {KNOWN}"}, 200),
        (ITEM, GOOD, USUAL | {"Authorization": f"Basic {KNOWN}"}, 401),
        (ITEM, GOOD, USUAL | {"Content-Type": "application/json; charset=utf-8"}, 200),
        (ITEM, GOOD, USUAL | {"Content-Type": "text/plain"}, 422),
        (ITEM, GOOD, [*USUAL.items(), ("Authorization", f"Bearer {UNKNOWN}")], 200),
        (ITEM, GOOD, [("Authorization", f"Bearer {UNKNOWN}"), *USUAL.items()], 401),
        (ITEM, GOOD.decode().encode("utf-16"), USUAL, 200),
        (ITEM, b'{"rtt_s": -1}', USUAL, 422),
        (ITEM, b'{"rtt": 0.06}', USUAL, 422),
        (ITEM, b'{"rtt_s": NaN}', USUAL, 422),
        (ITEM, b'{"loss_rate": 1}', USUAL, 404),
        (ITEM, b"[" * 100_000, USUAL, 400),
        (ITEM, b"\xff", USUAL, 400),
        (ITEM, b"", USUAL, 422),
        ("seven", GOOD, USUAL, 422),
    ],
)
def test_other_requests_are_answered_as_on_any_route(item: Any, body: bytes, headers: Any, status: int) -> None:
    direct, plain = both(str(item), body, headers)
    assert direct.status_code == status
    assert seen(direct) == seen(plain)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(WirePath.model_fields)), inner),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.binary(max_size=40), JSON_VALUES.map(lambda value: json.dumps(value).encode())))
def test_any_body_is_answered_as_on_any_route(body: bytes) -> None:
    direct, plain = both(str(ITEM), body, USUAL)
    assert seen(direct) == seen(plain)


def test_call_is_counted_once_whatever_its_body_and_both_routes_refuse_equally(monkeypatch: pytest.MonkeyPatch) -> None:
    both(str(ITEM), GOOD, USUAL)  # remembers the key
    calls = 10
    monkeypatch.setattr(APP.state.container, "rate_limits", limits(other=calls / BURST_S))
    bodies = (GOOD, b'{"rtt_s": -1}', GOOD, b"{}", GOOD)
    assert 429 not in [answer.status_code for body in bodies for answer in both(str(ITEM), body, USUAL)]
    direct, plain = both(str(ITEM), GOOD, USUAL)
    assert direct.status_code == 429
    assert seen(direct) == seen(plain)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_another_method_is_refused_unread(method: str) -> None:
    status, _ = call_direct_route([], method)
    assert status == 405


@pytest.mark.parametrize("authorization", ["", f"Basic {KNOWN}", f"Bearer {UNKNOWN}"])
def test_unauthenticated_request_is_refused_unread(authorization: str) -> None:
    status, _ = call_direct_route([], headers=USUAL | {"Authorization": authorization})
    assert status == 401


def test_a_body_in_pieces_is_put_together() -> None:
    pieces = [{"type": "http.request", "body": GOOD[i : i + 4], "more_body": True} for i in range(0, len(GOOD), 4)]
    status, _ = call_direct_route([*pieces, {"type": "http.request", "body": b"", "more_body": False}])
    assert status == 200


def test_nothing_is_done_for_a_client_that_left() -> None:
    status, _ = call_direct_route(
        [{"type": "http.request", "body": GOOD, "more_body": True}, {"type": "http.disconnect"}]
    )
    assert status == 400


def call_direct_route(
    messages: list[dict[str, Any]], method: str = "POST", headers: Mapping[str, str] = USUAL
) -> tuple[int, bytes]:
    """Status and body of what the direct route answers to these messages."""
    both(str(ITEM), GOOD, USUAL)  # remembers the key
    waiting, sent = iter(messages), []

    async def receive() -> Message:
        return next(waiting)

    async def send(message: Message) -> None:
        sent.append(message)

    sent_headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    path = f"/direct/{ITEM}"
    scope: Scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": sent_headers}
    asyncio.run(APP(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]
