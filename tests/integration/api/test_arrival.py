"""Requests that arrive slowly, or whose head has no end: refused, so that none holds a connection for ever."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

import httpx
import pytest

from infra.reference.authorisation import list_calls
from services.api.arrival import MAX_HEAD_BYTES, BoundedHttp
from services.bootstrap import build_container
from tests.stack import Tenant, serving
from tradewind.units import KIB

PATIENCE_S = 30.0


class Hasty(BoundedHttp):
    """Waits less long: for requests that never end. A busy machine may take as long for those that do."""

    window_s = 0.3


@pytest.fixture(scope="module")
def hasty(database_url: str, redis_url: str) -> Iterator[str]:
    with (
        build_container(database_url=database_url, redis_url=redis_url) as parts,
        serving(parts, http=Hasty) as address,
    ):
        yield address


@contextmanager
def connected(address: str) -> Iterator[socket.socket]:
    url = httpx.URL(address)
    with socket.create_connection((url.host, url.port or 80), timeout=PATIENCE_S) as connection:
        yield connection


def until_closed(connection: socket.socket) -> bytes:
    told = b""
    try:
        while piece := connection.recv(64 * KIB):
            told += piece
    except ConnectionResetError:  # what was sent on lies unread
        pass
    return told


def receive_document(connection: socket.socket) -> bytes:
    """Return an answer with its document: head and body are sent apart."""
    received = b""
    while not received.endswith(b"}"):
        piece = connection.recv(64 * KIB)
        assert piece, received
        received += piece
    return received


def head(tenant: Tenant, length: int) -> bytes:
    return (
        f"POST /v1/recommend HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {tenant.secret}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: test\r\nX-More: a"])
def test_a_head_that_does_not_end_is_not_awaited(hasty: str, sent: bytes) -> None:
    with connected(hasty) as connection:
        connection.sendall(sent)
        assert until_closed(connection).startswith(b"HTTP/1.1 408 ")


def test_a_body_that_does_not_come_is_not_awaited(hasty: str, tenant: Tenant) -> None:
    with connected(hasty) as connection:
        connection.sendall(head(tenant, 1000) + b'{"source":')
        told = until_closed(connection)
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in told


def test_an_upload_that_dries_up_is_not_awaited_and_stores_nothing(hasty: str, tenant: Tenant) -> None:
    with connected(hasty) as connection:
        connection.sendall(head(tenant, 10_000_000).replace(b"/v1/recommend", b"/v1/logs") + b"{}\n" * 1000)
        assert until_closed(connection).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("sent", ["X-Key: none", "Authorization: Bearer", "Authorization: Bearer tw_wrong"])
def test_no_call_waits_for_the_body_of_an_unauthenticated_client(hasty: str, sent: str) -> None:
    told = {}
    for call in list_calls():
        if call.method in {"POST", "PUT", "PATCH"} and not call.is_page:
            path = re.sub("{[^}]*}", str(uuid4()), call.path)
            begun = f"{call.method} {path} HTTP/1.1\r\nHost: test\r\n{sent}\r\nContent-Length: 1000\r\n\r\n"
            with connected(hasty) as connection:
                connection.sendall(begun.encode() + b'{"source":')
                told[f"{call.method} {call.path}"] = connection.recv(64 * KIB).partition(b"\r\n")[0]
    assert {call: line for call, line in told.items() if line != b"HTTP/1.1 401 Unauthorized"} == {}
    assert "POST /v1/transfers/{transfer_id}/complete" in told


def test_refused_upload_is_answered_without_reading_on(hasty: str) -> None:
    with connected(hasty) as connection:
        connection.sendall(b"POST /v1/logs HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n{}\n")
        told = until_closed(connection)
    assert told.startswith(b"HTTP/1.1 401 ")
    assert told.count(b"HTTP/1.1") == 1


def test_a_connection_goes_on_after_a_request_that_came_in_pieces(api: str, tenant: Tenant) -> None:
    with connected(api) as connection:
        for _ in range(3):
            for piece in (b"GET /healthz HT", b"TP/1.1\r\nHost: te", b"st\r\n\r\n"):
                connection.sendall(piece)
            assert receive_document(connection).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n" * 2)
        told = b""
        while told.count(b'{"status":"ok"}') < 2:
            told += connection.recv(64 * KIB)


def test_a_line_end_after_an_answer_begins_no_request_that_is_awaited_for_ever(hasty: str) -> None:
    with connected(hasty) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
        assert receive_document(connection).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    "long",
    [
        f"X-Long: {'a' * MAX_HEAD_BYTES}\r\n",
        f"X-Long: {'a' * 40 * MAX_HEAD_BYTES}\r\n",
        "a: b\r\n" * (MAX_HEAD_BYTES // 4),
        f"X-Long: {'a' * MAX_HEAD_BYTES}",
    ],
    ids=["one field", "an enormous field", "many fields", "a field that goes on"],
)
def test_a_long_head_is_refused(api: str, long: str) -> None:
    with connected(api) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: test\r\n" + long.encode())
        if long.endswith("\r\n"):
            with suppress(OSError):  # closed already
                connection.sendall(b"\r\n")
        told = until_closed(connection)
    assert told.startswith(b"HTTP/1.1 431 ") or (told == b"" and len(long) > 10 * MAX_HEAD_BYTES)


def test_a_long_address_is_refused(api: str) -> None:
    with connected(api) as connection:
        connection.sendall(b"GET /healthz?" + b"a" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nHost: test\r\n\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 431 ")


def test_a_long_body_behind_a_short_head_is_none(api: str, tenant: Tenant) -> None:
    with connected(api) as connection:
        connection.sendall(head(tenant, 200_000) + b" " * 200_000)
        assert connection.recv(64 * KIB).startswith(b"HTTP/1.1 422 ")


def begin_chunks(connection: socket.socket, tenant: Tenant) -> None:
    """Send the head of a request whose body comes in chunks, and wait until it has been read."""
    begun = (
        f"POST /v1/recommend HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {tenant.secret}\r\n"
        "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    )
    connection.sendall(begun.encode())
    assert connection.recv(64 * KIB).startswith(b"HTTP/1.1 100 ")


@pytest.mark.parametrize(
    "endless",
    [
        b"0\r\n" + b"a: b\r\n" * (MAX_HEAD_BYTES // 4),
        b"0\r\nX-Long: " + b"a" * MAX_HEAD_BYTES,
        b"1;" + b"a" * MAX_HEAD_BYTES,
    ],
    ids=["many fields", "a field that goes on", "an extension of a chunk"],
)
def test_endless_trailer_is_refused(api: str, tenant: Tenant, endless: bytes) -> None:
    with connected(api) as connection:
        begin_chunks(connection, tenant)
        connection.sendall(endless)
        assert until_closed(connection).startswith(b"HTTP/1.1 431 ")


def test_a_field_behind_the_body_is_none_of_the_head(api: str, tenant: Tenant) -> None:
    with connected(api) as connection:
        begin_chunks(connection, tenant)
        connection.sendall(b"2\r\n{}\r\n0\r\nContent-Type: application/json\r\n\r\n")
        answer = receive_document(connection)
    assert answer.startswith(b"HTTP/1.1 422 ")
    assert b"is no JSON by its type" in answer


def test_a_body_in_chunks_may_be_longer_than_a_head(api: str, tenant: Tenant) -> None:
    with connected(api) as connection:
        begin_chunks(connection, tenant)
        for _ in range(4):
            connection.sendall(b"%x\r\n%b\r\n" % (MAX_HEAD_BYTES, b" " * MAX_HEAD_BYTES))
        connection.sendall(b"0\r\n\r\n")
        assert connection.recv(64 * KIB).startswith(b"HTTP/1.1 422 ")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", b"200"),
        (b"GET /healthz HTTP/1.0\r\n\r\n", b"200"),
    ],
)
def test_each_request_names_one_host(api: str, sent: bytes, status: bytes) -> None:
    with connected(api) as connection:
        connection.sendall(sent)
        assert until_closed(connection).startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(
    ("target", "location"),
    [("/v1/keys/", "/v1/keys"), ("/v1/keys/?limit=1", "/v1/keys?limit=1"), ("//evil.example/v1/keys/", None)],
)
def test_no_redirect_leads_to_another_host(api: str, target: str, location: str | None) -> None:
    with connected(api) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode())
        answer = until_closed(connection).decode()
    found = re.search(r"(?mi)^location: (.*?)\r$", answer)
    assert (found and found[1]) == location, answer


def test_no_other_protocol_is_spoken(api: str) -> None:
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n"
    with connected(api) as connection:
        connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: test\r\n{upgrade}\r\n".encode())
        assert connection.recv(64 * KIB).startswith(b"HTTP/1.1 200 ")
