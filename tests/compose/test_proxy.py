"""Caddy before the API: TLS, what passes, and what does not."""

import re
import ssl
from itertools import islice

import certifi
import httpx
import pytest

from tests.integration.admin.visitors import person, signed_in

LISTENED = "from urllib.request import urlopen; print(urlopen('http://127.0.0.1:8080/metrics').read().decode())"


def test_http_is_sent_on_to_https(stack):
    answer = httpx.get(f"http://127.0.0.1:{stack.http_port}/readyz")
    assert answer.status_code == 308
    assert answer.headers["Location"].startswith("https://")


def test_only_who_knows_the_authority_trusts_the_certificate(stack):
    with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        httpx.get(f"{stack.address}/readyz", verify=ssl.create_default_context(cafile=certifi.where()))
    assert httpx.get(f"{stack.address}/readyz").json() == {"status": "ready"}


def test_metrics_are_for_the_network_inside(stack, client):
    for path in ("/metrics", "/metrics/service"):
        assert client.get(path).status_code == 404


def recommended(stack, container):
    """How many recommendations a container has given."""
    told = stack.run("docker", "exec", container, "python", "-c", LISTENED).stdout
    found = re.findall(r'^tradewind_requests_total\{[^}]*route="/v1/recommend"[^}]*\} (\S+)', told, re.MULTILINE)
    return sum(map(float, found))


def test_all_containers_of_the_api_answer(stack, agents_requesting):
    containers = stack.containers("api")
    before = [recommended(stack, each) for each in containers]
    with agents_requesting() as outcomes:
        while outcomes.total() < 200:
            pass
    assert outcomes.keys() == {"200"}
    assert all(recommended(stack, each) > told for each, told in zip(containers, before, strict=True))


def test_the_api_knows_that_the_caller_came_by_tls(parts, api, tenant):
    with signed_in(api, person(parts, tenant)) as visitor:
        (cookie,) = (each for each in visitor.cookies.jar)
        assert cookie.secure


def test_events_come_one_by_one_through_the_proxy(parts, api, tenant):
    with signed_in(api, person(parts, tenant)) as visitor, visitor.stream("GET", "/admin/transfers/live") as stream:
        assert next(stream.iter_lines()).startswith("data: ")  # the stream itself goes on for minutes
        assert stream.headers["Content-Type"].startswith("text/event-stream")


def test_a_long_answer_begins_before_it_has_been_made(client):
    asked = {"sql": "SELECT n, repeat('x', 1000) AS wide FROM generate_series(1, 200000) n", "format": "csv"}
    with client.stream("POST", "/v1/warehouse/query", json=asked) as answer:
        assert answer.status_code == 200, answer.read()
        lines = answer.iter_lines()
        assert list(islice(lines, 2))
        assert answer.num_bytes_downloaded < 50_000_000
        assert sum(1 for _ in lines) == 199_999
