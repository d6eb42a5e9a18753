"""One connection to Redis that all requests of a process share: commands that gather while answers are awaited are sent
together.

A connection for each request from the client's pool takes half of the time of a heartbeat: it is fetched, checked,
guarded by a timer for each direction, and released.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import redis.asyncio
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import RedisError, ResponseError


class _PendingCommand(NamedTuple):
    request: bytes
    answer: asyncio.Future[Any]

    def fail(self, error: Exception) -> None:
        if not self.answer.done():  # otherwise the caller has given up
            self.answer.set_exception(error)


class SharedConnection:
    """A connection for one event loop. It belongs to the client's pool, which closes it with the others.

    Nobody waits longer than the client's ``socket_timeout`` for earlier commands, and as long again for the own answer.
    """

    def __init__(self, client: redis.asyncio.Redis) -> None:
        self._pool = client.connection_pool
        self._connection: AbstractConnection | None = None
        self._timeout_s: float | None = self._pool.connection_kwargs.get("socket_timeout")
        self._waiting: list[_PendingCommand] = []
        self._sender: asyncio.Task[None] | None = None

    async def execute(self, *command: bytes | str | float) -> Any:
        """Return the answer to a command.

        Raises
        ------
        ResponseError : the command was refused.
        RedisError, OSError : there is no answer; whether the command was carried out is not known.
        """
        pending = _PendingCommand(encode_command(command), asyncio.get_running_loop().create_future())
        self._waiting.append(pending)
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_all())
        return await pending.answer

    async def _send_all(self) -> None:
        """Send commands until none is queued."""
        batch: list[_PendingCommand] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._deliver(batch)
        finally:
            self._sender = None
            for each in (*batch, *self._waiting):  # none, unless this task was cancelled
                each.fail(ConnectionLost("the line was closed"))

    async def _deliver(self, batch: Sequence[_PendingCommand]) -> None:
        """Exchange a batch, once more by a new connection where the old one ended before it answered: the server may
        have been replaced.
        """
        may_be_stale = self._connection is not None
        while True:
            try:
                async with asyncio.timeout(self._timeout_s):
                    await self._exchange(batch)
            except (RedisError, OSError) as gone:
                self._connection = None
                if may_be_stale and isinstance(gone, ConnectionLost) and not batch[0].answer.done():
                    may_be_stale = False
                    continue
                for each in batch:
                    each.fail(gone)
            return

    async def _exchange(self, batch: Sequence[_PendingCommand]) -> None:
        connection = self._connection or await self._open_connection()
        try:
            await connection.send_packed_command([each.request for each in batch], check_health=False)
            for each in batch:
                try:
                    answer = await connection.read_response()
                except ResponseError as refused:
                    each.fail(refused)
                else:
                    if not each.answer.done():
                        each.answer.set_result(answer)
        except BaseException:
            connection.socket_timeout = self._timeout_s
            await connection.disconnect(nowait=True)
            await self._pool.release(connection)
            raise

    async def _open_connection(self) -> AbstractConnection:
        """Return a connection that stays open; one timer for each batch replaces its own."""
        connection: AbstractConnection = await self._pool.get_connection()  # type: ignore[no-untyped-call]  # redis'
        connection.socket_timeout = None
        self._connection = connection
        return connection


def encode_command(command: Sequence[bytes | str | float]) -> bytes:
    """Return a command as Redis reads it."""
    parts = [each if isinstance(each, bytes) else str(each).encode() for each in command]
    return b"*%d\r\n%b" % (len(parts), b"".join([b"$%d\r\n%b\r\n" % (len(part), part) for part in parts]))
