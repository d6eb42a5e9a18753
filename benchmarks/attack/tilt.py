"""A hostile tenant at full tilt next to a victim of another tenant: everything at once, in windows that alternate.

The hostile tenant is a program of its own, so that it takes no time from the victim's clock. It yields the processors
to the service, as a client on another host would have its own; the victim's threads go before the service, where the
host permits that, for the same reason.
"""

import gzip
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException
from typing import Any
from uuid import uuid4

import httpx
import psycopg

from benchmarks.attack.readers import BIG, read_dsn
from benchmarks.attack.scene import PASSWORD, Scene, make_record, make_request
from benchmarks.support.report import ROOT
from services.serve import PYTHON

EVERY_S = 0.05
"""Between two requests of the victim, each due at its time whether or not the one before is answered."""

VICTIM_CONNECTIONS = 8
THREADS = {
    "beat": 3, "upload": 2, "recommend": 2, "query": 2, "guess": 4, "analyse": 1, "list": 1, "log_in": 6, "idle": 1,
}  # fmt: skip
"""What the hostile tenant does, each in so many threads: calls, database sessions, and connections that say nothing."""

SETTLE_S = 1.0
HOSTILE_NICENESS, VICTIM_NICENESS = 19, -10
"""The hostile tenant's program takes what is left of the processors; the victim's threads go first."""

PATIENCE_S = 20.0


@dataclass
class VictimTimes:
    """What the victim got: seconds from when each request was due, and every answer but 200."""

    quiet_s: list[float] = field(default_factory=list)
    attacked_s: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def call_recommend(scene: Scene, for_s: float, into: list[float], errors: Counter[str]) -> None:
    """Request recommendations at a steady rate for a while, over connections that stay open."""
    settings, body = scene.service.settings, json.dumps(make_request()).encode()
    key = scene.customers[0].headers["Authorization"]
    headers = {"Authorization": key, "Content-Type": "application/json"}
    started_s, lock = time.monotonic(), threading.Lock()
    due = iter(range(int(for_s / EVERY_S)))

    def run() -> None:
        connection = HTTPConnection(settings.host, settings.port, timeout=PATIENCE_S)
        while True:
            with lock:
                number = next(due, None)
            if number is None:
                connection.close()
                return
            due_s = started_s + number * EVERY_S
            time.sleep(max(0.0, due_s - time.monotonic()))
            try:
                connection.request("POST", "/v1/recommend", body, headers)
                answer = connection.getresponse()
                answer.read()
                reason = "" if answer.status == httpx.codes.OK else str(answer.status)
            except OSError as error:
                reason = type(error).__name__
                connection.close()
            with lock:
                into.append(time.monotonic() - due_s)
                if reason:
                    errors[reason] += 1

    threads = [threading.Thread(target=run) for _ in range(VICTIM_CONNECTIONS)]
    with _going_first():
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def _going_first() -> Iterator[None]:
    """Let threads that start in the block go before other programs; without the right to do so nothing changes."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, usual + VICTIM_NICENESS)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)


def alternate(
    scene: Scene, rounds: int, window_s: float, actions: Sequence[str] = tuple(THREADS)
) -> tuple[VictimTimes, Mapping[str, int]]:
    """Measure the victim without and with the hostile tenant, in turns; return its times and what the other did."""
    times, made = VictimTimes(), Counter[str]()
    call_recommend(scene, SETTLE_S, [], Counter())
    for number in range(rounds):
        call_recommend(scene, window_s, times.quiet_s, times.errors)
        order = json.dumps(describe(scene) | {"actions": list(actions)})
        with subprocess.Popen(
            [*PYTHON, "benchmarks.attack.tilt", order],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as hostile:
            assert hostile.stdout is not None
            assert hostile.stdin is not None
            assert hostile.stdout.readline() == "at full tilt\n", "the hostile tenant did not begin"
            time.sleep(SETTLE_S)
            call_recommend(scene, window_s, times.attacked_s, times.errors)
            hostile.stdin.close()
            made.update(json.loads(hostile.stdout.readline()))
        time.sleep(SETTLE_S)
        quiet_ms, attacked_ms = (1e3 * compute_p99_s(each) for each in (times.quiet_s, times.attacked_s))
        print(f"round {number + 1} of {rounds}: p99 {quiet_ms:.1f} ms, attacked {attacked_ms:.1f} ms", flush=True)
    return times, made


def compute_p99_s(times_s: list[float]) -> float:
    return statistics.quantiles(times_s, n=100, method="inclusive")[-1]


def describe(scene: Scene) -> dict[str, Any]:
    """Return all that the hostile tenant's program has to know."""
    return {
        "host": scene.service.settings.host,
        "port": scene.service.settings.port,
        "key": scene.hostile.root.headers["Authorization"],
        "login": scene.hostile.login,
        "dsn": read_dsn(scene.hostile),
    }


class HostileTenant:
    """Does everything at once that a tenant may try, until it is stopped."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        self._order = order
        self._stopping = threading.Event()
        self.made: Counter[str] = Counter()

    def run(self) -> None:
        """Attack until standard input ends."""
        calls = {
            "beat": self._beat, "upload": self._upload, "recommend": self._recommend, "query": self._query,
            "guess": self._guess, "analyse": self._analyse, "list": self._list,
        }  # fmt: skip
        programs: dict[str, Callable[[], None]] = {name: partial(self._repeat, call) for name, call in calls.items()}
        programs |= {"log_in": self._log_in, "idle": self._hold_idle}
        threads = [
            threading.Thread(target=programs[name], daemon=True)
            for name in self._order["actions"]
            for _ in range(THREADS[name])
        ]
        for thread in threads:
            thread.start()
        print("at full tilt", flush=True)
        sys.stdin.read()
        self._stopping.set()
        print(json.dumps(self.made), flush=True)
        os._exit(0)  # whatever waits for an answer

    def _repeat(self, action: Callable[[HTTPConnection], int]) -> None:
        name = action.__name__.strip("_")
        while not self._stopping.is_set():
            connection = HTTPConnection(self._order["host"], self._order["port"], timeout=PATIENCE_S)
            with suppress(OSError, HTTPException):
                while not self._stopping.is_set():
                    self.made[f"{name} {action(connection)}"] += 1
            connection.close()

    def _send(self, connection: HTTPConnection, method: str, path: str, body: Any = b"", **more: str) -> int:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": self._order["key"], "Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in more.items()
        }
        connection.request(method, path, sent, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def _beat(self, connection: HTTPConnection) -> int:
        beat = {
            "sequence": 0, "at": "2026-11-21T10:00:00Z", "interval_s": 0, "bytes_moved": 0, "throughput_bps": 0,
            "remaining_bytes": 10**9, "remaining_files": 10, "parameters": {"concurrency": 4}, "chunks": [],
            "enquiry": make_request(),
        }  # fmt: skip
        body = json.dumps(beat).encode()
        return self._send(connection, "POST", f"/v1/transfers/{uuid4()}/heartbeats", body + b" " * (60_000 - len(body)))

    def _upload(self, connection: HTTPConnection) -> int:
        rows = b"".join(json.dumps(make_record(None)).encode() + b"\nrubbish\n" for _ in range(500))
        return self._send(connection, "POST", "/v1/logs", gzip.compress(rows, 1), Content_Encoding="gzip")

    def _recommend(self, connection: HTTPConnection) -> int:
        return self._send(connection, "POST", "/v1/recommend", make_request(str(uuid4())))

    def _query(self, connection: HTTPConnection) -> int:
        return self._send(connection, "POST", "/v1/warehouse/query", {"sql": BIG})

    def _analyse(self, connection: HTTPConnection) -> int:
        return self._send(connection, "POST", "/v1/connections/analyse", b'{"log":[' + b"0," * 500_000 + b"0]}")

    def _list(self, connection: HTTPConnection) -> int:
        return self._send(connection, "GET", "/v1/transfers")

    def _guess(self, connection: HTTPConnection) -> int:
        sent = f"login={uuid4()}&password={PASSWORD}".encode()
        return self._send(connection, "POST", "/admin/sign-in", sent, Content_Type="application/x-www-form-urlencoded")

    def _log_in(self) -> None:
        while not self._stopping.is_set():
            try:
                with psycopg.connect(self._order["dsn"], autocommit=True) as session:
                    session.execute(BIG.encode())
            except psycopg.Error as error:
                self.made[f"log_in {type(error).__name__}"] += 1
                self._stopping.wait(0.1)

    def _hold_idle(self) -> None:
        held = []
        for _ in range(200):
            with suppress(OSError):
                held.append(socket.create_connection((self._order["host"], self._order["port"]), 2.0))
                held[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        self.made["idle connections"] = len(held)
        self._stopping.wait()


if __name__ == "__main__":
    os.nice(HOSTILE_NICENESS)
    HostileTenant(json.loads(sys.argv[1])).run()
