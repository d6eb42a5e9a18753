"""A request that has waited for too long is refused at once."""

import asyncio
import time

import pytest

from services.api.arrival import ARRIVED_S
from services.api.shedding import MOST_WAITED_S, Shedding


def status_of(path, **scope):
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        sent.append(message)

    asyncio.run(Shedding(app)({"type": "http", "path": path, **scope}, None, send))
    return sent[0]["status"], dict(sent[0]["headers"])


def test_recent_request_is_answered():
    assert status_of("/v1/recommend", **{ARRIVED_S: time.monotonic()})[0] == 200


def test_request_that_waited_too_long_is_refused_with_retry_after():
    status, headers = status_of("/v1/recommend", **{ARRIVED_S: time.monotonic() - MOST_WAITED_S})
    assert status == 503
    assert int(headers[b"retry-after"]) > 0


def test_probes_are_answered_by_an_overloaded_process():
    for path in ("/readyz", "/servingz"):
        assert status_of(path, **{ARRIVED_S: time.monotonic() - 100})[0] == 200


@pytest.mark.parametrize("scope", [{}, {"type": "lifespan"}])
def test_request_without_an_arrival_time_is_answered(scope):
    assert status_of("/v1/recommend", **scope)[0] == 200
