"""Measure the requests that one API worker answers a second, and those of the same framework without the work."""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import redis

from benchmarks.api.app import DIRECT_ECHO, DIRECT_ECHO_REDIS, ECHO, ECHO_REDIS
from benchmarks.api.cases import DESTINATIONS, make_live_requests, make_log_lines, make_requests
from benchmarks.api.live_transfers import WARM_UP_TICKS, ObedientTransfer
from benchmarks.demo.stack import find_free_port
from benchmarks.support import report
from benchmarks.support.command import run_command
from benchmarks.support.http_load import HeartbeatLoad, LiveTransfer, Load, LoadError, LoadResult
from services.api_process import HTTP
from services.application.limits.rate_limits import CallKind
from services.bootstrap import build_container
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.migrate import prepare_database
from services.processes import run_processes
from services.queue.sessions import JOURNAL
from services.serve import PYTHON, ensure_first_key

RECOMMEND = "/v1/recommend"
HEARTBEAT = "/v1/transfers/{transfer_id}/heartbeats"
ROUTES = {"echo": ECHO, "direct_echo": DIRECT_ECHO, "recommend": RECOMMEND}
HEARTBEAT_ROUTES = {"echo_redis": ECHO_REDIS, "direct_echo_redis": DIRECT_ECHO_REDIS, "heartbeat": HEARTBEAT}
RATIOS = {
    "recommend_ratio": ("recommend", "echo"),
    "recommend_ratio_direct": ("recommend", "direct_echo"),
    "heartbeat_ratio": ("heartbeat", "echo_redis"),
    "heartbeat_ratio_direct": ("heartbeat", "direct_echo_redis"),
}
AT_LEAST = {"heartbeat_ratio": 0.85}
ROUNDS, ROUND_S = 28, 1
QUICK_ROUNDS, QUICK_ROUND_S = 6, 1
SMOKE_ROUNDS, SMOKE_TRANSFERS = 1, 20
"""Short rounds: a shared machine is fast for some seconds and slow for the next."""

WARM_UP_S = 1
PATIENCE_S = 120.0

CALLS = " ".join(f"{kind}=1e9" for kind in CallKind)
"""One key makes all calls: they are counted as in service, and never too many."""

HOST = "127.0.0.1"


def main(argv: Sequence[str] | None = None) -> int:
    options = report.make_parser(__doc__ or "").parse_args(argv)
    started_at = datetime.now(UTC)
    rounds, seconds = (QUICK_ROUNDS, QUICK_ROUND_S) if options.quick else (ROUNDS, ROUND_S)
    try:
        if options.smoke:
            measured = run_rounds(SMOKE_ROUNDS, QUICK_ROUND_S, options.seed, warm_up_s=0, transfers=SMOKE_TRANSFERS)
        else:
            measured = run_rounds(rounds, seconds, options.seed)
    except LoadError as error:
        print(f"api: {error}", file=sys.stderr)
        return 1
    found = summarise(measured)
    report.write_report(
        "api",
        quick=options.quick,
        smoke=options.smoke,
        results=_make_results(measured),
        summary=found,
        started_at=started_at,
    )
    return 0 if options.quick else report.judge_summary(found, {}, AT_LEAST)


def run_rounds(
    rounds: int, seconds: int, seed: int, *, warm_up_s: int = WARM_UP_S, transfers: int | None = None
) -> list[Mapping[str, LoadResult]]:
    """Load the routes in turn, again and again, so that a busy moment of the machine affects all of them.

    ``transfers`` : number of transfers that send heartbeats; all by default.
    """
    bodies = [json.dumps(body).encode() for body in make_requests()]
    with tempfile.TemporaryDirectory() as folder, run_service(Path(folder)) as (address, secret, environment):
        load = Load(Path(folder), bodies, secret)
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {secret}"}, timeout=60) as client:
            publish_release(client, environment, seed)
            for body in bodies:
                _require_learned(client, body)
            live = [start_transfer(client, request) for request in make_live_requests()[:transfers]]
            heartbeats = HeartbeatLoad(Path(folder), live, secret, first_sequence=WARM_UP_TICKS)

        def measure(for_s: int) -> Mapping[str, LoadResult]:
            found = {name: load.run(address + path, for_s) for name, path in ROUTES.items()}
            for name, route in HEARTBEAT_ROUTES.items():
                found[name] = heartbeats.run(address, route, for_s)
                empty_journal(environment["REDIS_URL"])
            return found

        if warm_up_s:
            measure(warm_up_s)
        measured: list[Mapping[str, LoadResult]] = []
        for number in range(rounds):
            measured.append(measure(seconds))
            reached = (f"{measured[-1][name].rps:,.0f} {name}s" for name in ("recommend", "heartbeat"))
            print(f"round {number + 1} of {rounds}: {' and '.join(reached)} a second", flush=True)
    return measured


def start_transfer(client: httpx.Client, request: dict[str, Any]) -> LiveTransfer:
    """Start a transfer: it has its recommendation and its share, and has obeyed the answers for a while."""
    _require_learned(client, json.dumps(request).encode())
    recommended = client.post(RECOMMEND, json=request).raise_for_status().json()
    transfer = ObedientTransfer(request, recommended)

    def post(route: str, body: bytes) -> dict[str, Any]:
        path = route.format(transfer_id=transfer.id)
        answer: dict[str, Any] = (
            client.post(path, content=body, headers={"Content-Type": "application/json"}).raise_for_status().json()
        )
        return answer

    for body in transfer.warm_up(partial(post, HEARTBEAT)):
        post(ECHO_REDIS, body)
    return transfer.to_live_transfer()


def empty_journal(redis_url: str) -> None:
    """Empty the journal's queue: no worker runs during the load, so that it would pile up."""
    with redis.Redis.from_url(redis_url) as store:
        store.delete(JOURNAL)


def summarise(rounds: Sequence[Mapping[str, LoadResult]]) -> dict[str, float]:
    """Return medians over the rounds; ratios are taken round by round."""
    names = (*ROUTES, *HEARTBEAT_ROUTES)
    figures = {f"{name}_rps": statistics.median(each[name].rps for each in rounds) for name in names}
    for ratio, (ours, echo) in RATIOS.items():
        figures[ratio] = statistics.median(each[ours].rps / each[echo].rps for each in rounds)
    return figures | {f"{name}_p99_ms": statistics.median(each[name].p99_ms for each in rounds) for name in names}


def _make_results(rounds: Sequence[Mapping[str, LoadResult]]) -> list[dict[str, report.Value]]:
    return [
        {"case": name, "round": number, "rps": found.rps, "p99_ms": found.p99_ms}
        for number, each in enumerate(rounds, start=1)
        for name, found in each.items()
    ]


@contextmanager
def run_service(folder: Path) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Run one uvicorn worker on embedded servers of its own; yield address, key, and its environment."""
    with EmbeddedPostgres.temporary() as postgres, EmbeddedValkey.temporary() as valkey:
        database_url, redis_url = prepare_database(postgres.url()), valkey.url()
        with build_container(database_url=database_url, redis_url=redis_url) as parts:
            secret = ensure_first_key(parts, folder / "key").secret
        environment = {**os.environ, "DATABASE_URL": database_url, "REDIS_URL": redis_url, "TRADEWIND_CALLS": CALLS}
        port = find_free_port()
        command = [
            *PYTHON,
            "uvicorn",
            "benchmarks.api.app:make_app",
            "--factory",
            "--no-access-log",
            "--log-level=warning",
            f"--http={HTTP}",
        ]
        with run_processes({"api": [*command, f"--host={HOST}", f"--port={port}"]}, environment):
            address = f"http://{HOST}:{port}"
            _wait_until(lambda: _is_ready(address), "the API to start")
            yield address, secret, environment


def publish_release(client: httpx.Client, environment: Mapping[str, str], seed: int) -> None:
    """Upload logs and let a worker make a release of them, as in service."""
    client.post("/v1/logs", content=b"".join(make_log_lines(seed))).raise_for_status()
    worker = [*PYTHON, "celery", "--quiet", "-A", "workers.app", "worker", "--concurrency=2", "--loglevel=ERROR"]
    with run_processes({"worker": worker}, environment):
        _wait_until(lambda: _count_released(client) == len(DESTINATIONS), "a release of all links")


def _count_released(client: httpx.Client) -> int:
    return sum(link["release"] is not None for link in client.get("/v1/links").raise_for_status().json())


def _require_learned(client: httpx.Client, body: bytes) -> None:
    answer: Any = client.post(RECOMMEND, content=body, headers={"Content-Type": "application/json"})
    if answer.status_code != httpx.codes.OK or answer.json()["source"] != "release":
        raise LoadError(f"{body.decode()} was not answered from the release: {answer.text[:300]}")


def _is_ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def _wait_until(reached: Any, description: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        if time.monotonic() > deadline:
            raise LoadError(f"waited {PATIENCE_S:.0f} s in vain for {description}")
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(run_command("api", lambda: main(sys.argv[1:])))
