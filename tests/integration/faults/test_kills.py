"""``kill -9`` of each part of the service under heartbeats: nothing told is lost or stored twice, no transfer fails."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest
import redis

from benchmarks.faults.service import Service, run_service
from services.bootstrap import build_container
from services.queue.entry_stream import GROUP, LEFT_BEHIND_AFTER_S, WORKER
from services.queue.sessions import JOURNAL
from tests.conditions import eventually
from tests.integration.faults.agents import Agent, agents_of, ticking
from tests.integration.operations.test_workers import Store
from tests.stack import Tenant, new_tenant
from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer

pytestmark = pytest.mark.long

TRANSFERS = 3
SOME = 20
"""Heartbeats of a transfer that are enough to have met the journal."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with run_service(tmp_path_factory.mktemp("service"), parts=("api", "journal", "schedule")) as started:
        yield started


@pytest.fixture(scope="module")
def tenant(running: Service) -> Tenant:
    with build_container(database_url=running.database_url, redis_url=running.valkey.url()) as parts:
        return new_tenant(parts, running.database_url)


@pytest.fixture
def agents(running: Service, tenant: Tenant, tmp_path: Path) -> Iterator[list[Agent]]:
    yield from agents_of(running.address, tenant.secret, tmp_path, TRANSFERS)


def answered_on(agents: Sequence[Agent], count: int = SOME) -> None:
    """Return when each transfer has been answered so often from now on."""
    wanted = {agent.id: len(agent.answers) + count for agent in agents}
    eventually(lambda: all(len(agent.answers) >= wanted[agent.id] for agent in agents))


def journalled_on(agents: Sequence[Agent]) -> None:
    """Return when each transfer has been told of more heartbeats stored for good than now."""
    told = {agent.id: agent.exchange.journalled_sequence for agent in agents}
    eventually(lambda: all(agent.exchange.journalled_sequence > told[agent.id] for agent in agents))


def stored(running: Service, agent: Agent) -> list[int]:
    """Every row of a transfer's samples by its sequence, whatever start it is filed under."""
    with psycopg.connect(running.postgres.url()) as admin:
        rows = admin.execute(
            "SELECT sequence FROM transfer_samples WHERE transfer_id = %s ORDER BY sequence", [agent.id]
        ).fetchall()
    return [sequence for (sequence,) in rows]


def end_of_all(running: Service, agents: Sequence[Agent]) -> None:
    """Complete the transfers, and find each of their heartbeats stored once."""
    for agent in agents:
        assert agent.exchange.closed_reason is None
        agent.complete()
        assert stored(running, agent) == list(range(agent.sent))


def recommended(agent: Agent) -> bool:
    return agent.transfer.client.post("/v1/recommend", json=agent.transfer.enquiry).status_code == 200


def test_the_journal_worker_in_the_middle_of_a_batch(running: Service, tenant: Tenant, agents: list[Agent]) -> None:
    with redis.Redis.from_url(running.valkey.url()) as store, ticking(agents):
        journalled_on(agents)
        with psycopg.connect(running.postgres.url(), autocommit=True) as admin:
            table = Store(admin, tenant)
            with table.held_up("transfer_samples"):
                eventually(table.waiting)
                running.kill("journal")
                answered_on(agents)
                assert recommended(agents[0])
        running.bring_back("journal")
        answered_on(agents)
        left_behind = [each["message_id"] for each in store.xpending_range(JOURNAL, GROUP, "-", "+", 1_000)]
        assert left_behind
        # As if so much time had passed: another worker takes what the killed one left.
        store.xclaim(JOURNAL, GROUP, WORKER, 0, left_behind, idle=round(1000 * LEFT_BEHIND_AFTER_S), justid=True)
        journalled_on(agents)
    end_of_all(running, agents)
    with redis.Redis.from_url(running.valkey.url()) as store:
        eventually(lambda: store.xlen(JOURNAL) == 0)
    assert [stored(running, agent) for agent in agents] == [list(range(agent.sent)) for agent in agents]


def again(agent: Agent, beat: Heartbeat) -> HeartbeatAnswer | None:
    """The answer to a heartbeat that was sent before."""
    return asyncio.run(agent.ask(beat))


@pytest.fixture
def quiet(agents: list[Agent]) -> tuple[Agent, Heartbeat]:
    """A transfer that sends nothing while others do, and the last heartbeat it was answered."""
    agent = agents.pop()
    asyncio.run(_some_ticks(agent))
    return agent, agent.live.pending[-1].heartbeat


async def _some_ticks(agent: Agent) -> None:
    for _ in range(5):
        assert await agent.tick() is not None


def decided(answer: HeartbeatAnswer | None) -> object:
    """What an answer decides, without how far the journal has come meanwhile."""
    return answer and answer.model_dump(exclude={"journalled_sequence"})


@pytest.mark.parametrize("part", ["api", "valkey", "postgres"])
def test_a_part_that_comes_back(
    running: Service, agents: list[Agent], quiet: tuple[Agent, Heartbeat], part: str
) -> None:
    witness, last = quiet
    newcomer = agents.pop()
    with ticking(agents):
        journalled_on(agents)
        running.kill(part)
        if part != "api":
            answered_on(agents)
            assert recommended(witness)
        running.bring_back(part)
        answered_on(agents)
    assert recommended(witness)
    assert decided(again(witness, last)) == decided(witness.answers[last.sequence])
    with ticking([newcomer]):
        journalled_on([newcomer])
    end_of_all(running, [*agents, witness, newcomer])


def test_a_store_of_sessions_that_comes_back_empty(running: Service, agents: list[Agent]) -> None:
    newcomer = agents.pop()
    with ticking(agents):
        journalled_on(agents)
        running.kill("journal")
        answered_on(agents)
        running.kill("valkey")
        running.kill("api")
        running.lose("valkey")
        for part in ("valkey", "api", "journal"):
            running.bring_back(part)
        answered_on(agents)
    assert [len(stored(running, agent)) < len(agent.answers) for agent in agents] == [True] * len(agents)
    with ticking([newcomer]):
        journalled_on([newcomer])
    end_of_all(running, [*agents, newcomer])


def test_both_servers_at_once(running: Service, agents: list[Agent]) -> None:
    with ticking(agents):
        journalled_on(agents)
        running.kill("postgres")
        running.kill("valkey")
        answered_on(agents)
        running.bring_back("valkey")  # the API now knows that it may have missed news, and has nobody to ask
        answered_on(agents, 5 * SOME)
        assert recommended(agents[0])
        running.bring_back("postgres")
        answered_on(agents)
    end_of_all(running, agents)
