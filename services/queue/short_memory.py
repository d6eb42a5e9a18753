"""Values in Redis that expire after a while, each taken once."""

import redis

from tradewind.errors import Unavailable

PREFIX = "tradewind:sign-in:"


class RedisMemory:
    """One kind of values; their keys are secrets themselves."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def put(self, key: str, value: str, *, keep_s: int) -> None:
        try:
            self._client.set(f"{PREFIX}{key}", value, ex=keep_s)
        except redis.RedisError as away:
            raise Unavailable("signing in by the provider does not work just now; try again") from away

    def take(self, key: str) -> str | None:
        try:
            value = self._client.getdel(f"{PREFIX}{key}")
        except redis.RedisError as away:
            raise Unavailable("signing in by the provider does not work just now; try again") from away
        return value.decode() if isinstance(value, bytes) else None
