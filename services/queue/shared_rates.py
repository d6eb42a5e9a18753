"""Levels of the rate-limit buckets that all processes share, in Redis: one script, and so one atomic step."""

from collections.abc import Sequence
from importlib.resources import files

import redis.asyncio
from redis.exceptions import RedisError

from services.application.limits.rate_limits import TakenCalls
from tradewind.errors import Unavailable

_SCRIPT = files("services.queue") / "scripts" / "rates.lua"


class RedisLevels:
    """Buckets of keys and tenants by kind; a full one is forgotten."""

    def __init__(self, client: redis.asyncio.Redis) -> None:
        self._take = client.register_script(_SCRIPT.read_text())

    async def take(self, taken: Sequence[TakenCalls]) -> Sequence[float]:
        keys = [f"tradewind:rate:{each.holder_id}:{each.kind}" for each in taken]
        arguments = [number for each in taken for number in (each.calls, each.per_s, each.burst)]
        try:
            return [float(level) for level in await self._take(keys=keys, args=arguments)]
        except (RedisError, OSError) as away:
            raise Unavailable(f"levels of calls are not shared: {away}") from away
