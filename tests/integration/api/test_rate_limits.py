"""Calls of a key over HTTP: refused with the time to wait, over all processes, and counted."""

import asyncio
import time
from collections.abc import Iterator
from uuid import UUID, uuid4

import httpx
import pytest
import redis.asyncio

from services.application.access.authenticate import Principal, Scope
from services.application.limits.rate_limits import CallKind, CallLimits, RateLimits
from services.bootstrap import Container, Options, build_container
from services.queue.shared_rates import RedisLevels
from tests.integration.admin.visitors import person, signed_in
from tests.stack import Tenant, serving
from tradewind.units import MIB
from tradewind.wire.inventory import NewEndpoint
from tradewind_agent.errors import ServiceUnreachable
from tradewind_agent.service.client import Client
from tradewind_agent.service.retries import NO_RETRIES

HOURLY = 1 / 3600
ASKED = {
    "source": "a",
    "destination": "b",
    "dataset": {"file_count": 1, "total_bytes": MIB},
    "sla": {"kind": "min_energy"},
}


TRANSFER = UUID(int=7)


@pytest.fixture(scope="module")
def limited(database_url: str, redis_url: str) -> Iterator[Container]:
    """The parts of a process where a key may make one call of each kind an hour, and a tenant one upload."""
    options = Options(call_limits=CallLimits(dict.fromkeys(CallKind, HOURLY), {CallKind.UPLOAD: HOURLY}))
    with build_container(database_url=database_url, redis_url=redis_url, options=options) as built:
        yield built


@pytest.fixture(scope="module")
def strict(limited: Container) -> Iterator[str]:
    with serving(limited) as address:
        yield address


@pytest.mark.parametrize(
    ("kind", "method", "path", "body"),
    [
        ("other", "GET", "/v1/links", None),
        ("recommend", "POST", "/v1/recommend", ASKED),
        ("heartbeat", "POST", f"/v1/transfers/{TRANSFER}/heartbeats", {}),
        ("upload", "POST", f"/v1/transfers/{TRANSFER}/complete", {}),
        ("query", "GET", "/v1/warehouse/schema", None),
    ],
)
def test_a_call_too_many_is_refused_with_the_time_to_wait(
    strict: str, tenant: Tenant, kind: str, method: str, path: str, body: object
) -> None:
    with tenant.client(strict) as client:
        first, second = (client.request(method, path, json=body) for _ in range(2))
    assert first.status_code != 429, first.text
    assert second.status_code == 429
    assert second.headers["content-type"] == "application/problem+json"
    assert 3500 < int(second.headers["retry-after"]) <= 3600
    assert second.headers["ratelimit-policy"] == f'"{kind}";q=1;w=3600'
    assert second.headers["ratelimit"] == f'"{kind}";r=0;t={second.headers["retry-after"]}'
    assert kind in second.json()["detail"]


def test_repeated_requests_count_too(strict: str, tenant: Tenant) -> None:
    """Each has the database look for its earlier answer, also where its key may not make the call."""
    named = {"Idempotency-Key": str(uuid4())}
    with tenant.client(strict) as provider, tenant.client(strict, Scope.AGENT) as agent:
        for client, first in ((provider, 201), (agent, 403)):
            answers = [client.post("/v1/endpoints", json={"name": "one"}, headers=named) for _ in range(2)]
            assert [each.status_code for each in answers] == [first, 429]


def test_pages_of_a_user_count(strict: str, limited: Container, tenant: Tenant) -> None:
    with signed_in(strict, person(limited, tenant)) as one, signed_in(strict, person(limited, tenant)) as other:
        answers = [visitor.get("/admin/account") for visitor in (one, one, other)]
    assert [each.status_code for each in answers] == [200, 429, 200]
    assert "one user may make 1 page calls" in answers[1].text.lower()


def test_refused_calls_are_counted(strict: str, limited: Container, tenant: Tenant) -> None:
    def refused() -> float:
        return limited.metrics.registry.get_sample_value("tradewind_calls_refused_total", {"kind": "other"}) or 0.0

    before = refused()
    with tenant.client(strict) as client:
        for _ in range(3):
            client.get("/v1/links")
    assert refused() - before == 2


def test_kinds_keys_and_probes_are_counted_apart(strict: str, tenant: Tenant) -> None:
    with tenant.client(strict) as first, tenant.client(strict, Scope.AGENT) as second:
        answers = [client.get("/v1/links").status_code for client in (first, first, second)]
        assert first.get("/v1/warehouse/schema").status_code == 200
    assert answers == [200, 429, 200]
    assert {httpx.get(f"{strict}/healthz").status_code for _ in range(3)} == {200}


def test_an_operator_lets_a_key_call_more(api: str, strict: str, tenant: Tenant) -> None:
    with tenant.client(api) as operator:
        created = operator.post("/v1/keys", json={"name": "many", "scopes": ["agent"], "rate_factor": 1000}).json()
        assert created["rate_factor"] == 1000
        key = {"Authorization": f"Bearer {created['secret']}"}
        # 1,000 times one an hour: the full bucket of ten seconds holds two.
        assert [httpx.get(f"{strict}/v1/links", headers=key).status_code for _ in range(3)] == [200, 200, 429]
        changed = operator.patch(f"/v1/keys/{created['id']}", json={"rate_factor": 2}).json()
        assert (changed["rate_factor"], changed["weight"]) == (2, 1)
        assert operator.patch(f"/v1/keys/{created['id']}", json={}).status_code == 422


def test_no_key_and_no_factor_lifts_what_the_tenant_may(api: str, strict: str, tenant: Tenant) -> None:
    with tenant.client(api) as operator:
        made = [
            operator.post("/v1/keys", json={"name": name, "scopes": ["agent"], "rate_factor": 1000}).json()
            for name in ("one", "two")
        ]
    answers = [
        httpx.post(
            f"{strict}/v1/transfers/{TRANSFER}/complete", json={}, headers={"Authorization": f"Bearer {key['secret']}"}
        )
        for key in made
    ]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert "all keys of this tenant" in answers[1].json()["detail"]


def test_rate_limited_agent_learns_how_long_to_wait(strict: str, tenant: Tenant) -> None:
    with Client(strict, tenant.secret, retries=NO_RETRIES) as client:
        client.inventory.endpoints()
        with pytest.raises(ServiceUnreachable, match=r"429.* try again in 3") as refused:
            client.inventory.create_endpoint(NewEndpoint(name="one"))
    assert refused.value.retry_after_s is not None
    assert refused.value.retry_after_s > 3500


def test_processes_share_what_is_left(redis_url: str) -> None:
    holder = Principal(uuid4(), uuid4(), frozenset({"agent"}))
    limits, full = CallLimits({CallKind.UPLOAD: 100.0}, {CallKind.UPLOAD: 400.0}), 1000

    async def left_to_the_second() -> int:
        client = redis.asyncio.Redis.from_url(redis_url)
        first, second = (RateLimits(limits, RedisLevels(client), time.monotonic, print, print) for _ in range(2))
        assert sum(first.permits(holder, CallKind.UPLOAD) for _ in range(full)) == full
        await first.share()
        assert second.permits(holder, CallKind.UPLOAD)
        await second.share()
        left = sum(second.permits(holder, CallKind.UPLOAD) for _ in range(full))
        await client.aclose()
        return left

    assert asyncio.run(left_to_the_second()) < full / 2
