import hashlib
import json
from uuid import UUID

import httpx
import pytest

import tradewind_agent
from services.api.middleware import MAX_HAR_BYTES
from tests.unit.agent.records import lines, records
from tests.unit.agent.service.fake_service import answering, problem, receipt
from tests.unit.connections.hars import entry, har
from tradewind.connections.har import MAX_ENTRIES, decode_har
from tradewind.errors import Conflict, NotFound, NotPermitted, TooLarge, TradewindError, Unauthenticated, Unavailable
from tradewind.wire.heartbeats import Heartbeat
from tradewind.wire.inventory import NewKey
from tradewind_agent.errors import NotConfigured, RequestRefused, ServiceFailed, ServiceUnreachable
from tradewind_agent.service.batches import MAX_BATCH_ROWS
from tradewind_agent.service.client import Client
from tradewind_agent.service.retries import NO_RETRIES, RetryPolicy


def test_the_public_surface_is_this():
    assert sorted(tradewind_agent.__all__) == [
        "Client",
        "CopyOptions",
        "CopyReport",
        "RetryPolicy",
        "Spool",
        "UploadReport",
        "copy_files",
    ]
    assert all(getattr(tradewind_agent, name) is not None for name in tradewind_agent.__all__)
    assert [name for name in vars(Client) if not name.startswith("_")] == [
        "close",
        "base_url",
        "recommend",
        "heartbeat",
        "complete",
        "report_learned_limit",
        "upload_logs",
        "upload_batch",
        "batch",
        "analyse_connections",
        "inventory",
        "releases",
        "warehouse",
        "compression",
        "mobile",
        "regions",
        "usage",
        "prices",
        "scopes",
        "healthy",
    ]


def test_logs_are_sent_as_compressed_lines_under_the_hash_of_their_content():
    service = answering(receipt(accepted=3))
    with service.client() as client:
        report = client.upload_logs(records(3))
    content = b"".join(lines(3))
    assert service.bodies == [content]
    assert service.keys == [hashlib.sha256(content).hexdigest()]
    assert service.requests[0].headers["Content-Encoding"] == "zstd"
    assert service.requests[0].headers["Authorization"] == "Bearer secret-key"
    assert report.accepted == 3


def test_largest_browser_log_is_sent_within_the_limit_of_the_service():
    service = answering(httpx.Response(200, json={"tool": "WebInspector", "pages": []}))
    headers = {"x-cache": "Hit from cloudfront", "content-length": "123456", "content-encoding": "br"}
    largest = entry(url=f"https://{'a' * 50}.org/", blocked=12.345999999046326, connect=32.345999999046326,
                    ssl=12.345999999046326, wait=123.45699999891967, receive=12.678999999046326, connection="123456",
                    version="http/2.0", headers=headers, serverIPAddress="[2600:9000:2512:ac00:1f:5aa0:fb40:93a1]",
                    _serverPort=443)  # fmt: skip
    largest["response"] |= {"_transferSize": 123_456, "_error": None}
    largest["response"]["headers"] = [header | {"comment": "c" * 100} for header in largest["response"]["headers"]]
    log = decode_har(json.dumps(har(*[largest] * MAX_ENTRIES)).encode())
    with service.client() as client:
        client.analyse_connections(log)
    content = service.requests[0].content
    assert len(content) < MAX_HAR_BYTES
    assert len(content) == len(json.dumps(json.loads(content), separators=(",", ":")))
    assert decode_har(content) == log


def test_any_number_of_records_becomes_batches_that_carry_the_callers_key_and_their_number():
    service = answering(receipt(accepted=4))
    seen = []
    count = 2 * MAX_BATCH_ROWS + 1
    with service.client() as client:
        client.upload_logs((line for line in lines(1) * count), idempotency_key="mine", on_receipt=seen.append)
    assert service.keys == ["mine-0", "mine-1", "mine-2"]
    assert b"".join(service.bodies) == lines(1)[0] * count
    assert len(seen) == 3


def test_no_records_mean_no_request():
    service = answering(receipt())
    with service.client() as client:
        assert client.upload_logs([]).receipts == ()
    assert service.requests == []


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("cut off"),
        problem(502),
        problem(503),
        problem(504),
        problem(429, [("Retry-After", "1")]),
    ],
)
def test_temporary_failure_is_retried_with_the_same_key(failure):
    service = answering(failure, failure, receipt())
    with service.client() as client:
        client.upload_logs(records(1))
    assert len(service.requests) == 3
    assert len(set(service.keys)) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 429, 500, 501])
def test_final_refusal_is_not_retried(status):
    service = answering(problem(status))
    with service.client() as client, pytest.raises(TradewindError):
        client.upload_logs(records(1))
    assert len(service.requests) == 1


def test_waits_grow_are_jittered_and_end():
    service = answering(problem(503))
    policy = RetryPolicy(attempts=6, first_wait_s=1, longest_wait_s=4)
    with service.client(policy) as client, pytest.raises(ServiceUnreachable):
        client.inventory.links()
    assert len(service.requests) == 6
    ceilings = [1, 2, 4, 4, 4]
    assert all(0 <= wait <= ceiling for wait, ceiling in zip(service.waits_s, ceilings, strict=True))
    assert len(set(service.waits_s)) == 5


BEAT = Heartbeat.model_validate(
    {
        "sequence": 1,
        "at": "2026-03-01T00:00:00Z",
        "interval_s": 5,
        "bytes_moved": 1,
        "throughput_bps": 8,
        "remaining_bytes": 1,
        "remaining_files": 1,
        "parameters": {},
    }
)
GO_ON = {
    "sequence": 1,
    "parameters": {},
    "chunks": [],
    "changed": False,
    "kind": "hold",
    "reason": "",
    "sla_bank": 0,
    "granted": True,
    "journalled_sequence": -1,
    "next_heartbeat_s": 5,
}


def test_no_heartbeat_is_sent_before_the_time_that_the_service_has_named():
    service = answering(problem(429, [("Retry-After", "7")]), httpx.Response(200, json=GO_ON))
    with service.client() as client:
        for _ in range(3):
            with pytest.raises(ServiceUnreachable):
                client.heartbeat(UUID(int=1), BEAT)
        assert len(service.requests) == 1
        service.now_s += 7
        assert client.heartbeat(UUID(int=1), BEAT).next_heartbeat_s == 5


def test_retry_after_is_waited_for_in_seconds_and_as_a_date():
    service = answering(
        problem(503, [("Retry-After", "7")]),
        problem(503, [("Retry-After", "Mon, 01 Jan 2024 00:00:00 GMT")]),
        httpx.Response(200, json=[]),
    )
    with service.client() as client:
        client.inventory.links()
    assert service.waits_s[0] == 7
    assert service.waits_s[1] < 1


@pytest.mark.parametrize("told", ["²", "soon", "", "-1"])
def test_a_retry_after_that_says_nothing_is_passed_over(told: str):
    service = answering(problem(503, [("Retry-After", told)]), httpx.Response(200, json=[]))
    with service.client() as client:
        client.inventory.links()
    assert len(service.waits_s) == 1


def test_a_wait_beyond_the_budget_is_reported_instead_of_waited_for():
    service = answering(problem(503, [("Retry-After", "3600")]))
    with service.client() as client, pytest.raises(ServiceUnreachable) as raised:
        client.inventory.links()
    assert service.waits_s == []
    assert raised.value.retry_after_s == 3600
    assert "try again in 3600 s" in str(raised.value)


def test_a_new_key_is_requested_again_only_when_the_first_request_cannot_have_arrived():
    new_key = NewKey(name="night", scopes=("agent",))
    service = answering(httpx.ReadTimeout("slow"))
    with service.client() as client, pytest.raises(ServiceUnreachable):
        client.inventory.create_key(new_key)
    assert len(service.requests) == 1
    created = {"id": str(UUID(int=1)), "name": "night", "prefix": "tw_", "scopes": ["agent"], "secret": "s"}
    service = answering(
        httpx.ConnectError("refused"), httpx.Response(201, json=created | {"created_at": "2024-05-01T00:00:00Z"})
    )
    with service.client() as client:
        assert client.inventory.create_key(new_key).secret == "s"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, Unauthenticated),
        (403, NotPermitted),
        (404, NotFound),
        (409, Conflict),
        (413, TooLarge),
        (422, RequestRefused),
        (500, ServiceFailed),
        (503, Unavailable),
    ],
)
def test_each_problem_is_an_exception_of_its_kind_with_one_line(status, kind):
    service = answering(problem(status, detail="two\nlines", errors=[{"field": "row", "reason": "a\nb"}]))
    with service.client(NO_RETRIES) as client, pytest.raises(kind) as raised:
        client.releases.page()
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, TradewindError)


def test_a_page_of_releases_is_requested_by_what_comes_before_it():
    service = answering(httpx.Response(200, json=[]))
    with service.client() as client:
        client.releases.page()
        client.releases.page(before=17, limit=5)
    assert [request.url.query for request in service.requests] == [b"", b"before=17&limit=5"]


def test_a_problem_reports_the_first_field_and_reason():
    wrong = [{"field": "id", "reason": "is missing"}, {"field": "outcome", "reason": "is missing"}]
    service = answering(problem(422, title="Nothing valid", detail="none of the 2 rows is valid", errors=wrong))
    told = r"\(422\): none of the 2 rows is valid; first id: is missing"
    with service.client() as client, pytest.raises(RequestRefused, match=told) as raised:
        client.releases.page()
    assert raised.value.field == "id"


def test_a_detail_that_names_the_field_is_not_repeated():
    service = answering(problem(422, detail="sla: unknown", errors=[{"field": "sla", "reason": "unknown"}]))
    with service.client() as client, pytest.raises(RequestRefused, match=r"\(422\): sla: unknown$"):
        client.releases.page()


def test_an_answer_that_is_no_json_or_of_another_shape_is_reported_as_such():
    for answer in (httpx.Response(200, text="<html>"), httpx.Response(200, json={"links": 1})):
        service = answering(answer)
        with service.client() as client, pytest.raises(ServiceFailed, match="/v1/links"):
            client.inventory.links()


@pytest.mark.parametrize("status", [200, 502])
def test_an_answer_that_is_not_encoded_as_it_says_is_reported_as_such(status):
    def damaged(_):
        stream = httpx.ByteStream(b"no gzip")
        return httpx.Response(status, headers={"Content-Encoding": "gzip"}, stream=stream)

    with Client("http://service.test", "key", transport=httpx.MockTransport(damaged)) as client:
        for ask in (client.inventory.links, lambda: list(client.warehouse.query("SELECT 1").rows())):
            with pytest.raises(ServiceFailed, match="something else than gzip"):
                ask()


def test_an_error_page_of_a_proxy_is_still_one_line():
    service = answering(httpx.Response(403, text="<html>\n<body>no</body></html>"))
    with service.client() as client, pytest.raises(NotPermitted, match=r"refused \(403\): Forbidden"):
        client.inventory.links()


def test_fields_that_later_versions_add_are_ignored():
    service = answering(receipt(accepted=1, colour="blue"))
    with service.client() as client:
        assert client.batch(UUID(int=7)).accepted == 1


@pytest.mark.parametrize("url", ["", "tradewind.example.org", "ftp://host", "http://"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(NotConfigured, match="service address"):
        Client(url, "key")
