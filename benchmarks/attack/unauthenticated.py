"""Clients without a key, and bodies and heads that no honest client sends."""

import gzip
import http.client
import json
import socket
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from uuid import uuid4

import httpx
import psutil
import redis

from benchmarks.attack.cases import attack, require
from benchmarks.attack.scene import PASSWORD, Scene, make_request
from services.application.access.authenticate import Scope
from services.application.access.weak_passwords import require_strong
from tradewind.errors import InvalidValue
from tradewind.units import KIB, MIB

BAD_REQUEST, SEE_OTHER, TOO_MANY = 400, 303, 429
GUESSERS, GUESSING_S = 14, 6.0
HEADS = (
    b"GET /healthz HTTP/1.1\r\n\r\n",
    b"GET /admin HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\n{}xx",
    b"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: b\r\n Transfer-Encoding: chunked\r\n\r\n",
)
WEAK = (
    "aaaaaaaaaaaa",
    "Password1234",
    "qwertyuiop12",
    "123456789012",
    "abcabcabcabc",
    "q9w8e7r6t5y4",
    "ppaasswwoorrdd",
)


@attack("anybody × service")
def heads_that_two_servers_read_differently(scene: Scene) -> int:
    for head in HEADS:
        answer = _send(scene, head)
        require(answer.startswith(b"HTTP/1.1 400"), f"{head[:60]!r} is answered {answer[:40]!r}")
    return len(HEADS)


@attack("anybody × user")
def redirects_to_another_host(scene: Scene) -> int:
    for request in (
        b"POST /v1/keys/ HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n",
        b"GET /admin/sign-in?next=//evil.example HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /admin/keys HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    ):
        head = _send(scene, request).partition(b"\r\n\r\n")[0].lower()
        places = [line for line in head.split(b"\r\n") if line.startswith(b"location:")]
        require(all(b"evil" not in place for place in places), f"leads to {places}")
    return 3


def _send(scene: Scene, data: bytes) -> bytes:
    with socket.create_connection((scene.service.settings.host, scene.service.settings.port), 5.0) as connection:
        connection.settimeout(3.0)
        connection.sendall(data)
        try:
            return connection.recv(65_536)
        except TimeoutError:
            return b""


@attack("anybody × user")
def guesses_that_take_all_hashing(scene: Scene) -> int:
    """Many guess at logins that do not exist, from one network; whoever has the password gets in."""
    until_s = time.monotonic() + GUESSING_S

    def guess(number: int) -> int:
        made = 0
        with scene.open_client() as client:
            while time.monotonic() < until_s:
                client.post("/admin/sign-in", data={"login": f"none {number} {made}", "password": "x" * 14})
                made += 1
        return made

    with ThreadPoolExecutor(GUESSERS + 1) as threads:
        _sign_in(scene)  # from this network before
        guessing = [threads.submit(guess, number) for number in range(GUESSERS)]
        time.sleep(1.0)
        statuses = []
        while time.monotonic() < until_s:
            statuses.append(_sign_in(scene))
        made = sum(each.result() for each in guessing)
    require(statuses and set(statuses) == {SEE_OTHER}, f"the user's attempts are answered {statuses}")
    return made + len(statuses)


def _sign_in(scene: Scene) -> int:
    with scene.open_client() as client:
        sent = {"login": scene.victim.login, "password": PASSWORD, "next": "/admin"}
        return client.post("/admin/sign-in", data=sent).status_code


@attack("anybody × user")
def passwords_that_are_guessed_first(scene: Scene) -> int:
    for password in WEAK:
        try:
            require_strong(password)
            scene.parts.passwords.hash(password)
        except InvalidValue:
            continue
        require(False, f"{password} may be a password")
    return len(WEAK)


@attack("tenant × tenant")
def event_streams_of_one_tenant(scene: Scene) -> int:
    host, port = scene.service.settings.host, scene.service.settings.port
    with ExitStack() as stack:
        cookies = []
        for party in (scene.hostile, scene.victim):
            with scene.open_client() as client:
                client.post("/admin/sign-in", data={"login": party.login, "password": PASSWORD, "next": "/admin"})
                cookies.append("; ".join(f"{name}={value}" for name, value in client.cookies.items()))
        for _ in range(50):
            connection = stack.enter_context(socket.create_connection((host, port), 5.0))
            connection.sendall(f"GET /admin/live HTTP/1.1\r\nHost: x\r\nCookie: {cookies[0]}\r\n\r\n".encode())
        time.sleep(2.0)
        own = http.client.HTTPConnection(host, port, timeout=8.0)
        own.request("GET", "/admin/live", headers={"Cookie": cookies[1]})
        answer = own.getresponse()
        require(answer.status == httpx.codes.OK, f"another tenant's stream is answered {answer.status}")
        require(answer.read(1), "another tenant's stream sends nothing")
        own.close()
    return 51


@attack("customer × service")
def padded_heartbeats_of_new_transfers(scene: Scene) -> int:
    customer, count = scene.make_customer(), 100
    body = json.dumps(_make_first_beat()).encode()
    body += b" " * (60 * KIB - len(body))
    with redis.Redis.from_url(scene.service.valkey.url()) as store:
        before = store.info("memory")["used_memory"]
        for _ in range(count):
            path = f"/v1/transfers/{uuid4()}/heartbeats"
            customer.post(path, content=body, headers={"Content-Type": "application/json"}).raise_for_status()
        each = (store.info("memory")["used_memory"] - before) / count
    require(each < 16 * KIB, f"a heartbeat of 60 KiB takes {each / KIB:.0f} KiB")
    return count


def _make_first_beat() -> dict[str, object]:
    return {
        "sequence": 0, "at": "2026-11-21T10:00:00Z", "interval_s": 0, "bytes_moved": 0, "throughput_bps": 0,
        "remaining_bytes": 10**9, "remaining_files": 10, "parameters": {"concurrency": 4}, "chunks": [],
        "enquiry": make_request(),
    }  # fmt: skip


@attack("customer × service")
def bombs_and_deep_bodies(scene: Scene) -> int:
    customer, processes = scene.make_customer(), _list_api_processes(scene)
    before = sum(each.memory_info().rss for each in processes)
    zeros = zlib.compressobj(9, wbits=31)
    bomb = b"".join([*(zeros.compress(bytes(MIB)) for _ in range(512)), zeros.flush()])
    packed = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
    answers = [
        customer.post("/v1/logs", content=bomb, headers=packed),
        customer.post("/v1/logs", content=gzip.compress(b"") * 50_000, headers=packed),
        customer.post("/v1/logs", content=b"[" * 200_000 + b"\n"),
        customer.post("/v1/recommend", content=b"[" * 100_000, headers={"Content-Type": "application/json"}),
        customer.post("/v1/recommend", content=b"9" * 900_000, headers={"Content-Type": "application/json"}),
        customer.post("/v1/connections/analyse", content=b'{"log":' * 30_000, headers=_JSON),
        customer.post("/v1/connections/analyse", content=b'{"log":[' + b"0," * 9_000_000 + b"0]}", headers=_JSON),
    ]
    statuses = [each.status_code for each in answers]
    require(all(BAD_REQUEST <= status < httpx.codes.INTERNAL_SERVER_ERROR for status in statuses), f"{statuses}")
    grown = sum(each.memory_info().rss for each in processes) - before
    require(grown < 500 * MIB, f"the API grew by {grown / MIB:.0f} MiB")
    return len(answers)


_JSON = {"Content-Type": "application/json"}


def _list_api_processes(scene: Scene) -> list[psutil.Process]:
    first = psutil.Process(scene.service.processes["api"].pid)
    return [first, *first.children(recursive=True)]


@attack("tenant × service")
def calls_beyond_the_limit(scene: Scene) -> int:
    """Call without a pause: the key must learn when to come again, and no other key."""
    made = 0
    with scene.open_client(scene.hostile.by_scope[Scope.ANALYST].headers["Authorization"].partition(" ")[2]) as client:
        for _ in range(400):
            made += 1
            answer = client.post("/v1/warehouse/query", json={"sql": "SELECT"})
            if answer.status_code == TOO_MANY:
                break
    require(answer.status_code == TOO_MANY and "Retry-After" in answer.headers, f"{made} calls of 400 are answered")
    other = scene.victim.by_scope[Scope.ANALYST].post("/v1/warehouse/query", json={"sql": "SELECT 1"})
    require(other.status_code == httpx.codes.OK, f"another tenant is answered {other.status_code}")
    return made + 1
