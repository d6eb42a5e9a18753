"""Streams on their way into the database, from which workers take entries: answered heartbeats, and quotes."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import redis

from services.application.transfers.sessions import TransferKey
from services.application.transfers.stream_consumer import StreamEntry
from services.queue.sessions import JOURNAL, format_session_key
from tradewind.errors import Unavailable

GROUP = "journal"
WORKER = "worker"
"""All workers take under one name: an entry is handed out once anyway, and any worker finds by its age what another has
left behind. Names of processes would pile up in the group.
"""

LEFT_BEHIND_AFTER_S = 30.0
"""Longer than a batch takes; entries of a slower worker are stored by two, which stores nothing twice."""


class RedisEntryStream:
    """Hands each entry to one worker through a consumer group, those that were left behind first.

    Parameters
    ----------
    name : of the stream.
    left_behind_after_s : an entry that was neither acknowledged nor released for so long had a worker that died.
    """

    def __init__(
        self, client: redis.Redis, name: str = JOURNAL, *, left_behind_after_s: float = LEFT_BEHIND_AFTER_S
    ) -> None:
        self._client = client
        self._name = name
        self._left_behind_after_ms = round(1000 * left_behind_after_s)
        script = (files("services.queue") / "scripts" / "journalled.lua").read_text()
        self._set_journalled = client.register_script(script)

    def take(self, limit: int) -> Sequence[StreamEntry]:
        """Take at most ``limit`` entries, the oldest first.

        Raises
        ------
        Unavailable : the store of sessions does not answer.
        """
        try:
            try:
                return self._take(limit)
            except redis.ResponseError as error:
                if not str(error).startswith("NOGROUP"):
                    raise
                self._begin()
                return self._take(limit)
        except (redis.RedisError, OSError) as away:
            raise Unavailable(f"the stream {self._name} does not answer: {away}") from away

    def acknowledge(self, entries: Sequence[StreamEntry], journalled: Mapping[TransferKey, int]) -> None:
        """Update the journalled sequence of sessions that are still there, then remove the entries.

        Raises
        ------
        Unavailable : the store of sessions does not answer; the entries come again.
        """
        tokens = [entry.token for entry in entries]
        try:
            with self._client.pipeline(transaction=True) as pipeline:
                for key, sequence in journalled.items():
                    self._set_journalled(keys=[format_session_key(key)], args=[sequence], client=pipeline)
                pipeline.xack(self._name, GROUP, *tokens)
                pipeline.xdel(self._name, *tokens)
                pipeline.execute()
        except (redis.RedisError, OSError) as away:
            raise Unavailable(f"the stream {self._name} does not answer: {away}") from away

    def release(self, entries: Sequence[StreamEntry]) -> None:
        """Release entries, so that the next worker gets those that are not acknowledged at once.

        Raises
        ------
        Unavailable : the store of sessions does not answer; the entries come again when they are old enough.
        """
        tokens: list[Any] = [entry.token for entry in entries]
        try:
            self._client.xclaim(self._name, GROUP, WORKER, 0, tokens, idle=self._left_behind_after_ms, justid=True)
        except (redis.RedisError, OSError) as away:
            raise Unavailable(f"the stream {self._name} does not answer: {away}") from away

    def _take(self, limit: int) -> Sequence[StreamEntry]:
        _, left_behind, *_ = self._client.xautoclaim(
            self._name, GROUP, WORKER, min_idle_time=self._left_behind_after_ms, count=limit
        )
        found = [_build_entry(*each) for each in left_behind]
        if len(found) < limit:
            new: Any = self._client.xreadgroup(GROUP, WORKER, {self._name: ">"}, count=limit - len(found))
            found += [_build_entry(*each) for _, entries in new for each in entries]
        return found

    def _begin(self) -> None:
        try:
            self._client.xgroup_create(self._name, GROUP, id="0", mkstream=True)
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):  # another worker was faster
                raise


def _build_entry(token: bytes, fields: Mapping[bytes, bytes]) -> StreamEntry:
    """Return an entry; its token begins with the time of the store in ms."""
    name = token.decode()
    heard_at = datetime.fromtimestamp(int(name.partition("-")[0]) / 1000, UTC)
    return StreamEntry(name, heard_at, {field.decode(errors="replace"): value for field, value in fields.items()})
