"""Requests of a process over one connection to a real store."""

import asyncio

import pytest
import redis
import redis.asyncio
from redis.exceptions import RedisError, ResponseError

from services.queue.shared_connection import SharedConnection


@pytest.fixture
def run(redis_url):
    """Runs a story with a client and a line of its own."""

    def runner(story):
        async def with_connection():
            client = redis.asyncio.Redis.from_url(redis_url, socket_timeout=20)
            try:
                return await story(client, SharedConnection(client))
            finally:
                await client.aclose()

        return asyncio.run(with_connection())

    return runner


def test_everybody_gets_the_own_answer(run):
    async def story(client, line):
        asked = [str(number) for number in range(50)]
        await line.execute("SET", "test:many", b"\x00\r\n")
        return await asyncio.gather(
            line.execute("GET", "test:many"), *(line.execute("ECHO", each) for each in asked)
        ), asked

    (stored, *answers), asked = run(story)
    assert stored == b"\x00\r\n"
    assert [each.decode() for each in answers] == asked


def test_refused_command_fails_only_for_its_caller(run):
    async def story(client, line):
        return await asyncio.gather(
            line.execute("ECHO", "one"), line.execute("NO-SUCH"), line.execute("ECHO", "other"), return_exceptions=True
        )

    one, refused, other = run(story)
    assert (one, other) == (b"one", b"other")
    assert isinstance(refused, ResponseError)


def test_connection_that_ended_while_idle_loses_no_answer(run):
    async def story(client, line):
        own = await line.execute("CLIENT", "ID")
        await client.client_kill_filter(_id=str(own))
        return own, await asyncio.gather(*(line.execute("CLIENT", "ID") for _ in range(3)))

    own, later = run(story)
    assert len(set(later)) == 1
    assert own not in later


def test_cancelled_command_does_not_take_the_answer_of_others(run):
    async def story(client, line):
        waiting = [asyncio.create_task(line.execute("ECHO", str(number))) for number in range(3)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        return await asyncio.gather(waiting[0], waiting[2])

    assert run(story) == [b"0", b"2"]


def test_silent_store_is_given_up_and_tried_again_later(redis_url, run):
    async def story(client, line):
        hasty = redis.asyncio.Redis.from_url(redis_url, socket_timeout=0.2)
        try:
            line = SharedConnection(hasty)
            await line.execute("ECHO", "first")
            blocked = [
                asyncio.create_task(line.execute("BLPOP", "test:nothing", 0)),
                asyncio.create_task(line.execute("PING")),
            ]
            failed = await asyncio.gather(*blocked, return_exceptions=True)
            return failed, await line.execute("ECHO", "again")
        finally:
            await hasty.aclose()

    failed, later = run(story)
    assert all(isinstance(each, RedisError | OSError) for each in failed)
    assert later == b"again"
