"""Bodies that are made to hurt a reader of JSON: refused by every call that takes one, as the problem that they are."""

import json
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from services.api.middleware import MAX_HEARTBEAT_BYTES, MAX_JSON_BYTES
from services.bootstrap import Container
from tests.stack import Tenant, new_tenant

DESCRIBED = json.loads(Path(__file__).with_name("openapi.json").read_text(encoding="utf-8"))
TAKE_JSON = [
    (method.upper(), path)
    for path, operations in DESCRIBED["paths"].items()
    for method, operation in operations.items()
    if "application/json" in operation.get("requestBody", {}).get("content", {})
]
DEEP = MAX_HEARTBEAT_BYTES // 2
BODIES = {
    "deep lists": b"[" * DEEP,
    "deep objects": b'{"a":' * (DEEP // 5),
    "a deep field": b'{"source":' + b"[" * (DEEP // 2) + b"]" * (DEEP // 2) + b"}",
    "a long number": b'{"source": ' + b"9" * DEEP + b"}",
    "a huge exponent": b'{"source": 1e999999999}',
    "half a character": b'{"source": "\\ud800", "name": "\\udfff"}',
    "no text": b'{"source": "\xff\xfe"}',
    "a zero byte": b'{"source": "a\\u0000b", "name": "a\\u0000b"}',
    "many fields": json.dumps({f"field {n}": n for n in range(2000)}).encode(),
    "one field many times": b"{" + b'"source": 1,' * 2000 + b'"source": 2}',
    "another encoding": '{"source": "ü"}'.encode("utf-16"),
    "compressed": b"\x1f\x8b\x08\x00",
    "nothing": b"",
    "null": b"null",
}


@pytest.fixture(scope="module")
def caller(parts: Container, database_url: str) -> Tenant:
    return new_tenant(parts, database_url)


def answers(api: str, caller: Tenant, body: bytes) -> dict[str, int]:
    with caller.client(api) as client:
        return {
            f"{method} {path}": client.request(
                method, filled(path), content=body, headers={"Content-Type": "application/json"}
            ).status_code
            for method, path in TAKE_JSON
        }


def filled(path: str) -> str:
    """An address of something that does not exist."""
    parts = path.split("/")
    return "/".join("nothing" if part == "{name}" else str(uuid4()) if part.startswith("{") else part for part in parts)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_unsound_json_is_refused_by_every_call(api: str, caller: Tenant, body: bytes) -> None:
    statuses = answers(api, caller, body)
    assert {call: status for call, status in statuses.items() if not 400 <= status < 500} == {}


def test_a_body_that_is_too_large_is_refused_by_every_call_that_takes_json(api: str, caller: Tenant) -> None:
    body = b" " * (MAX_JSON_BYTES + 1)
    told = answers(api, caller, body)
    larger = {"POST /v1/transfers/{transfer_id}/complete", "POST /v1/connections/analyse"}
    assert {
        call: status for call, status in told.items() if status != httpx.codes.REQUEST_ENTITY_TOO_LARGE
    } == dict.fromkeys(larger, 422)
