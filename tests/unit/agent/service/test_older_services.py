"""A service of an earlier version: it refuses fields that it does not know, one at a time."""

import json
from datetime import UTC, datetime
from uuid import UUID

import httpx
import pytest

from tests.records import record
from tradewind.wire.heartbeats import Completion, Heartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.records import WireRecord
from tradewind_agent.errors import RequestRefused
from tradewind_agent.service.client import Client
from tradewind_agent.service.completion import complete

ID = UUID(int=7)
ENQUIRY = RecommendRequest.model_validate(
    {
        "source": "a",
        "destination": "b",
        "dataset": {"file_count": 3, "total_bytes": 3000},
        "sla": {"kind": "max_throughput"},
        "adjustable_resources": ["cores"],
    }
)
ANSWER = {
    "sequence": 1,
    "parameters": {},
    "chunks": [],
    "changed": False,
    "kind": "hold",
    "reason": "",
    "sla_bank": 0.0,
    "granted": True,
    "journalled_sequence": 1,
    "next_heartbeat_s": 5.0,
}


def heartbeat(**more) -> Heartbeat:
    return Heartbeat(
        sequence=1,
        at=datetime(2026, 3, 1, tzinfo=UTC),
        interval_s=5.0,
        bytes_moved=1,
        throughput_bps=1.0,
        remaining_bytes=1,
        remaining_files=1,
        parameters={},
        **more,
    )


class Older:
    """Refuses the first of the fields that came later, as the service's models do."""

    def __init__(self, *unknown: str) -> None:
        self.unknown, self.received = unknown, list[dict[str, object]]()

    def handle(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.received.append(body)
        for prefix, fields in (("", body), ("enquiry.", body.get("enquiry", {}))):
            for name in self.unknown:
                if name in fields:
                    field = f"{prefix}{name}"
                    reason = "is not a known field; units are part of the names, such as total_bytes and rtt_s"
                    errors = [{"field": field, "reason": reason}]
                    return httpx.Response(422, json={"status": 422, "detail": f"{field}: {reason}", "errors": errors})
        return httpx.Response(200, json=ANSWER)

    def client(self) -> Client:
        return Client("http://service.test", "key", transport=httpx.MockTransport(self.handle))


def test_a_heartbeat_is_sent_again_without_what_an_older_service_does_not_know():
    service = Older("settled_rtt_s", "adjustable_resources")
    with service.client() as client:
        sent = heartbeat(settled_rtt_s=0.06, enquiry=ENQUIRY)
        assert client.heartbeat(ID, sent).granted
        assert len(service.received) == 3
        assert client.heartbeat(ID, sent).granted
    last = service.received[-1]
    assert len(service.received) == 4
    assert "settled_rtt_s" not in last
    assert "adjustable_resources" not in last["enquiry"]
    assert (last["remaining_bytes"], last["enquiry"]["source"]) == (1, "a")
    assert sent.settled_rtt_s == 0.06


def test_fields_that_the_first_version_had_are_refused_as_before():
    service = Older("throughput_bps")
    with service.client() as client, pytest.raises(RequestRefused, match="throughput_bps"):
        client.heartbeat(ID, heartbeat())
    assert len(service.received) == 1


def test_completion_is_sent_again_without_its_failure():
    received: list[dict[str, object]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        received.append(body)
        at = "failure" if "failure" in body else None
        for number, sent in enumerate(body.get("records", [])):
            at = f"records.{number}.outcome.failure" if "failure" in sent["outcome"] else at
        if at is not None:
            errors = [{"field": at, "reason": "is not a known field; units are part of the names"}]
            return httpx.Response(422, json={"status": 422, "detail": f"{at}: {errors[0]['reason']}", "errors": errors})
        ended_at = "2026-03-01T00:00:00Z"
        return httpx.Response(200, json={"accepted": 1, "rejected": 0, "heartbeats": 0, "ended_at": ended_at})

    failure = {"kind": "no_space", "reason": "no space is left"}
    row = record(transfer_id=str(ID))
    row["outcome"] |= {"status": "failed", "failure": failure}
    with Client("http://service.test", "key", transport=httpx.MockTransport(handle)) as client:
        assert complete(client, ID, [WireRecord.model_validate(row)], ()).as_logs is False
        client.complete(ID, Completion(status="failed", failure=failure))
    assert len(received) == 3, "the second completion leaves it out at once"
    assert [bool(each.get("records")) for each in received[1:]] == [True, False]
    assert "failure" not in json.dumps(received[1:])
