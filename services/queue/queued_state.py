"""The content of Redis: jobs that no worker has taken, entries of the streams to the database, and memory."""

from collections.abc import Mapping
from types import MappingProxyType

import redis

from services.application.monitoring.watch_service import QueuedState, WaitingEntries
from services.queue.dispatcher import JOBS_QUEUE, JOURNAL_QUEUE
from services.queue.quote_recorder import QUOTES
from services.queue.sessions import JOURNAL
from tradewind.errors import Unavailable

TAKEN_JOBS = "unacked"
"""The hash in which Celery's transport keeps jobs that a worker has taken and not done."""

STREAMS: Mapping[str, str] = MappingProxyType({"heartbeats": JOURNAL, "quotes": QUOTES})


class QueuedStates:
    """Reads the state in one round trip."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def read(self) -> QueuedState:
        """Return the state of the queues and streams.

        Raises
        ------
        Unavailable : Redis does not answer.
        """
        queues = (JOBS_QUEUE, JOURNAL_QUEUE)
        try:
            with self._client.pipeline(transaction=False) as pipeline:
                pipeline.time()
                pipeline.info("memory")
                pipeline.hlen(TAKEN_JOBS)
                for queue in queues:
                    pipeline.llen(queue)
                for stream in STREAMS.values():
                    pipeline.xlen(stream)
                    pipeline.xrange(stream, count=1)
                (seconds, microseconds), memory, taken, *found = pipeline.execute()
        except (redis.RedisError, OSError) as away:
            raise Unavailable(f"Redis does not answer: {away}") from away
        now_s, of_streams = seconds + microseconds / 1e6, found[len(queues) :]
        streams = {
            name: WaitingEntries(
                entries=entries, oldest_s=max(0.0, now_s - int(oldest[0][0].partition(b"-")[0]) / 1e3) if oldest else 0
            )
            for name, entries, oldest in zip(STREAMS, of_streams[::2], of_streams[1::2], strict=True)
        }
        return QueuedState(
            jobs=dict(zip(queues, found, strict=False)),
            taken_jobs=taken,
            streams=streams,
            memory_bytes=memory["used_memory"],
            most_memory_bytes=memory["maxmemory"],
        )
