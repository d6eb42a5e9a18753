"""Simulate a thousand agents in one process: each sends a transfer's heartbeats by its own clock, independent of
others.

Every request has a time at which it is due. Its duration counts from there, not from when it was sent: neither a late
answer nor a late generator hides how long the next one had to wait. The generator's own lateness is reported
separately.
"""

import argparse
import asyncio
import gc
import json
import random
import resource
import sys
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

from benchmarks.api.cases import FAMILIES, ROWS_A_FAMILY, make_live_requests, make_log_lines
from benchmarks.api.live_transfers import TICK_S, ObedientTransfer, fill_marks
from benchmarks.load.connection import Connection, ConnectionBroken, make_post

RECOMMEND, HEARTBEAT, COMPLETE, UPLOAD = "recommend", "heartbeat", "complete", "upload"

TICKS = (12, 36)
"""Ticks of a transfer, one to three minutes; drawn for each."""

UPLOAD_EVERY_S = 600.0
ROWS_AN_UPLOAD = 20
"""Rows of history in addition to its own transfers: an agent uploads a log of some tool so often."""

ROWS_A_LINK = len(FAMILIES) * ROWS_A_FAMILY
ANSWER_PATIENCE_S = 10.0
SITES = 40
"""Links of the crowd: destinations of one origin, unless a run sets fewer."""


@dataclass
class RequestTimes:
    """Times of a kind of request, s: from its due time to its answer, from sending to the answer, and lateness of
    sending.
    """

    took_s: "array[float]" = field(default_factory=lambda: array("d"))
    answered_s: "array[float]" = field(default_factory=lambda: array("d"))
    late_s: "array[float]" = field(default_factory=lambda: array("d"))
    errors: int = 0


@dataclass
class Crowd:
    """What all agents share."""

    host: str
    port: int
    key: str
    routes: Mapping[str, str]
    fast_ticks: int
    fast_tick_s: float
    sites: int = SITES
    measured: dict[str, RequestTimes] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    is_measuring: bool = False

    def __post_init__(self) -> None:
        self.start_counting()

    def start_counting(self) -> None:
        """Count only from now on."""
        self.measured = {kind: RequestTimes() for kind in (RECOMMEND, HEARTBEAT, COMPLETE, UPLOAD)}

    def request(self, kind: str, body: bytes, **names: str) -> bytes:
        return make_post(self.routes[kind].format(**names), body, host=self.host, key=self.key)

    def fail(self, kind: str, reason: str) -> None:
        self.measured[kind].errors += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


class SimulatedAgent:
    """One agent: one transfer after the other, and logs of its own now and then."""

    def __init__(self, number: int, crowd: Crowd) -> None:
        self._crowd = crowd
        self._draw = random.Random(number)
        self._connection = Connection(crowd.host, crowd.port)
        requests = make_live_requests()
        self._site = format_site_name(number, crowd.sites)
        self._request = requests[number % len(requests)] | {"destination": self._site}
        self._request_body = json.dumps(self._request).encode()

    async def run(self, starts_s: float) -> None:
        """Run for ever, from a time of the loop on; the first transfer is in the middle of its course."""
        due_s, first = starts_s, True
        next_upload_s = starts_s + self._draw.uniform(0.0, UPLOAD_EVERY_S)
        while True:
            ticks = self._draw.randint(*TICKS)
            if first:
                ticks, first = self._draw.randint(2, ticks), False
            due_s = await self._run_transfer(due_s, ticks)
            if due_s >= next_upload_s:
                due_s = await self._send_and_forget(UPLOAD, self._upload_history(), due_s) + TICK_S
                next_upload_s += UPLOAD_EVERY_S

    async def _run_transfer(self, due_s: float, ticks: int) -> float:
        """Run one transfer from its request to its end; return when the next request is due."""
        crowd = self._crowd
        status, answer = await self._send_when_due(RECOMMEND, crowd.request(RECOMMEND, self._request_body), due_s)
        if status != 200:
            return due_s + TICK_S
        transfer = ObedientTransfer(self._request, json.loads(answer))
        body = transfer.to_live_transfer().body
        for sequence in range(ticks):
            due_s += crowd.fast_tick_s if sequence < crowd.fast_ticks else TICK_S
            request = crowd.request(HEARTBEAT, fill_marks(body, sequence), transfer_id=transfer.id)
            status, answer = await self._send_when_due(HEARTBEAT, request, due_s)
            if status == 200 and (summarise_times := json.loads(answer)).get("changed", True):
                transfer.obey(summarise_times)
                body = transfer.to_live_transfer().body
        due_s += TICK_S
        if COMPLETE in crowd.routes:
            completion = crowd.request(COMPLETE, self._record(transfer.id), transfer_id=transfer.id)
            await self._send_and_forget(COMPLETE, completion, due_s)
            due_s += TICK_S
        return due_s

    async def _send_and_forget(self, kind: str, request: bytes, due_s: float) -> float:
        await self._send_when_due(kind, request, due_s)
        return due_s

    async def _send_when_due(self, kind: str, request: bytes, due_s: float) -> tuple[int, bytes]:
        """Send a request when it is due; status 0 where nothing came. A failure counts as an answer at the end of
        patience.
        """
        loop = asyncio.get_running_loop()
        if (left_s := due_s - loop.time()) > 0:
            await asyncio.sleep(left_s)
        sent_s = loop.time()
        status, answer = 0, b""
        try:
            async with asyncio.timeout(ANSWER_PATIENCE_S):
                status, answer = await self._connection.send(request)
        except (ConnectionBroken, OSError, TimeoutError) as failure:
            self._connection.close()
            self._crowd.fail(kind, f"{kind}: {type(failure).__name__} {failure}")
        if status and status not in (200, 201):
            self._crowd.fail(kind, f"{kind}: {status} {answer[:200].decode(errors='replace')}")
        least_s = 0.0 if status in (200, 201) else ANSWER_PATIENCE_S
        measured, ended_s = self._crowd.measured[kind], loop.time()
        measured.took_s.append(max(ended_s - due_s, least_s))
        measured.answered_s.append(max(ended_s - sent_s, least_s))
        measured.late_s.append(sent_s - due_s)
        return status, answer

    def _record(self, transfer_id: str) -> bytes:
        """Return the record as the agent logs it: a drawn row that ends now."""
        (line,) = self._draw_rows(1)
        row = json.loads(line)
        completion = datetime.now(UTC)
        lasted = datetime.fromisoformat(row["ended_at"]) - datetime.fromisoformat(row["started_at"])
        row |= {"started_at": (completion - lasted).isoformat(), "ended_at": completion.isoformat()}
        return json.dumps({"records": [row | {"transfer_id": transfer_id, "chunk": "whole"}]}).encode()

    def _upload_history(self) -> bytes:
        return self._crowd.request(UPLOAD, b"".join(self._draw_rows(ROWS_AN_UPLOAD)))

    def _draw_rows(self, count: int) -> Sequence[bytes]:
        """Return rows that no agent has uploaded yet."""
        drawn = make_log_lines(self._draw.getrandbits(48), (self._site,))
        first = self._draw.randrange(ROWS_A_LINK - count)
        return list(islice(drawn, first, first + count))


def format_site_name(number: int, sites: int = SITES) -> str:
    """Return the destination of an agent."""
    return f"site-{number % sites:02d}"


async def run_agents(agents: int, crowd: Crowd, warm_s: float, seconds: float) -> dict[str, Any]:
    """Run agents for a while; return what was measured after the warm-up."""
    loop = asyncio.get_running_loop()
    starts_s = loop.time() + 1.0
    every_s = max(TICK_S, agents / 100)
    simulated_agents = [SimulatedAgent(number, crowd) for number in range(agents)]
    gc.freeze()
    tasks = [
        asyncio.create_task(agent.run(starts_s + every_s * number / agents))
        for number, agent in enumerate(simulated_agents)
    ]
    await asyncio.sleep(warm_s)
    crowd.start_counting()
    crowd.reasons.clear()
    print("warm", flush=True)
    started_s, cpu_s = time.monotonic(), _read_cpu_s()
    await asyncio.sleep(seconds)
    lasted_s = time.monotonic() - started_s
    share = (_read_cpu_s() - cpu_s) / lasted_s
    found = {
        kind: summarise_times(each, lasted_s) for kind, each in crowd.measured.items() if each.took_s or each.errors
    }
    dead = [task for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in dead:
        task.result()
    return {"lasted_s": lasted_s, "generator_share": share, "kinds": found, "reasons": crowd.reasons}


def summarise_times(measured: RequestTimes, lasted_s: float) -> dict[str, float]:
    """Return the figures of one kind of request."""
    count = len(measured.took_s)
    figures = {"requests": count, "errors": measured.errors, "rps": (count - measured.errors) / lasted_s}
    parts = {"": measured.took_s, "sent_": measured.answered_s, "late_": measured.late_s}
    for name, values in parts.items():
        ordered = sorted(values)
        for share in (0.5, 0.99) if name else (0.5, 0.99, 0.999, 1.0):
            figures[f"{name}p{share * 100:g}_ms"] = 1e3 * compute_quantile(ordered, share)
    return figures


def compute_quantile(ordered: Sequence[float], share: float) -> float:
    """Return the least value that so many do not exceed."""
    return ordered[max(0, -(-round(share * 1e6) * len(ordered) // 1_000_000) - 1)] if ordered else 0.0


def _read_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("order", help="JSON: agents, warm_s, seconds, and the attributes of Crowd")
    order = json.loads(parser.parse_args().order)
    running = partial(run_agents, order.pop("agents"), warm_s=order.pop("warm_s"), seconds=order.pop("seconds"))
    print(json.dumps(asyncio.run(running(crowd=Crowd(**order)))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
