"""The faults: what is broken, for how long, and how it is repaired."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from benchmarks.faults import clock
from benchmarks.faults.agents import CopyingAgent
from benchmarks.faults.disk import Disk
from benchmarks.faults.network import Network
from benchmarks.faults.service import API, JOURNAL, POSTGRES, SCHEDULE, VALKEY, WORKERS, Service
from benchmarks.faults.waiting import NotInTime, wait_until
from benchmarks.faults.watching import ReleaseWatch

KILLED = (POSTGRES, VALKEY, WORKERS, JOURNAL, SCHEDULE)
AWAY_S = (0.5, 4.0)
"""Time between a kill and the new start: as fast as a supervisor is, and slower."""

API_SERVICE_KILLED = "kill the whole api"
"""With the process that starts those that answer."""

API_SERVICE_AWAY_S = 1.0
CUT_S = 6.0
FULL_S = 8.0
WRONG_S = 8.0
WRONG_BY_S = 7200.0
"""Twice as much as an agent's clock may be fast before its rows are refused."""

REFRESH_PATIENCE_S = 15.0


@dataclass(frozen=True)
class Fault:
    """One fault.

    ``start`` : breaks it. ``lasts_s`` : time until ``finish``, the end of the cause, whose effects may last longer.
    ``ends_slowly`` : the cause lasts until ``finish`` has returned; its time is not the service's.
    """

    kind: str
    start: Callable[[], object]
    lasts_s: float
    finish: Callable[[], object]
    is_kill: bool = False
    ends_slowly: bool = False


@dataclass(frozen=True)
class Scene:
    """Everything that may break."""

    service: Service
    agents: Sequence[CopyingAgent]
    network: Network
    disk: Disk
    publications: ReleaseWatch

    def list_skipped(self) -> dict[str, str]:
        """Return the kinds of faults that cannot be made here, and why."""
        reasons = {
            "network cut": None if self.network.namespace else "network namespaces need root",
            "disk full": None if self.disk.is_own else "a disk of its own needs root",
            "clock": None if clock.is_installed() else f"{clock.PACKAGE} is not installed",
        }
        return {kind: reason for kind, reason in reasons.items() if reason}

    def list_faults(self, rounds: int, others: int, seed: int) -> Iterator[Fault]:
        """Yield each part killed ``rounds`` times in turn, and every other fault ``others`` times in between."""
        draw = random.Random(seed)
        more = [fault for _ in range(others) for fault in self._list_others()]
        for number in range(rounds):
            yield from self._list_kills(number, draw)
            share = -(-len(more) // (rounds - number))
            yield from more[:share]
            del more[:share]

    def _list_kills(self, number: int, draw: random.Random) -> Iterator[Fault]:
        for part in KILLED:
            start = partial(self._kill_worker, part) if part == WORKERS else partial(self.service.kill, part)
            finish = partial(self.service.bring_back, part)
            yield Fault(f"kill {part}", start, draw.uniform(*AWAY_S), finish, is_kill=True)
        kill_api, ready = self.service.kill_one_answering, self.service.wait_until_ready
        yield Fault("kill api", partial(kill_api, draw), 0.0, ready, is_kill=True)
        agent = self.agents[number % len(self.agents)]
        yield Fault("kill agent", agent.kill, draw.uniform(*AWAY_S), agent.bring_back, is_kill=True)

    def _list_others(self) -> Iterator[Fault]:
        kill, bring_back = partial(self.service.kill, API), partial(self.service.bring_back, API)
        yield Fault(API_SERVICE_KILLED, kill, API_SERVICE_AWAY_S, bring_back, is_kill=True)
        yield Fault("sessions lost", self._lose_sessions, 1.0, partial(self.service.bring_back, VALKEY), is_kill=True)
        if self.network.namespace:
            yield Fault("network cut", self.network.cut, CUT_S, self.network.restore, ends_slowly=True)
        if self.disk.is_own:
            yield Fault("disk full", self.disk.fill, FULL_S, self._free_disk)
        if clock.is_installed():
            for part in (API, WORKERS, JOURNAL):
                for wrong_s in (WRONG_BY_S, -WRONG_BY_S):
                    yield self._build_wrong_clock(part, wrong_s)
            yield self._build_wrong_agents()

    def _kill_worker(self, part: str) -> None:
        """Kill a worker in the middle of a refresh, if one comes in time."""
        with suppress(NotInTime):
            wait_until(lambda: self.publications.building, "a refresh", patience_s=REFRESH_PATIENCE_S)
        self.service.kill(part)

    def _lose_sessions(self) -> None:
        self.service.kill(VALKEY)
        self.service.lose(VALKEY)

    def _free_disk(self) -> None:
        """Free the disk, and start what has stopped for lack of it, as a supervisor would."""
        self.disk.free()
        for part in self.service.list_stopped():
            self.service.bring_back(part)

    def _build_wrong_clock(self, part: str, wrong_s: float) -> Fault:
        start = partial(self.service.restart, part, **clock.shift_clock(wrong_s))
        return Fault(f"clock of {part} {wrong_s / 3600:+.0f} h", start, WRONG_S, partial(self.service.restart, part))

    def _build_wrong_agents(self) -> Fault:
        """Give the next copies of two agents wrong clocks, one in the future, one in the past."""

        def start() -> None:
            for agent, wrong_s in zip(self.agents, (WRONG_BY_S, -WRONG_BY_S), strict=False):
                agent.variables = clock.shift_clock(wrong_s)

        def finish() -> None:
            for agent in self.agents:
                agent.variables = {}

        return Fault("clock of agents", start, 2 * WRONG_S, finish)


def cause_fault(fault: Fault) -> tuple[float, float]:
    """Cause a fault; return when it started, and when its cause ended."""
    started_s = time.monotonic()
    fault.start()
    time.sleep(fault.lasts_s)
    cause_ended_s = time.monotonic()
    fault.finish()
    return started_s, time.monotonic() if fault.ends_slowly else cause_ended_s
