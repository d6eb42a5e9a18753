"""The key that seals what browsers store for us, the same in all processes."""

import secrets

import redis

from tradewind.errors import Unavailable

KEY_NAME = "tradewind:sealing-key"
_KEY_BYTES = 32


class RedisSealingKey:
    """A random key in Redis, made by whoever needs it first; without it, what was sealed before is void."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def read(self) -> bytes:
        """Return the key.

        Raises
        ------
        Unavailable : Redis does not answer.
        """
        try:
            made = secrets.token_bytes(_KEY_BYTES)
            stored = self._client.set(KEY_NAME, made, nx=True, get=True)
        except redis.RedisError as away:
            raise Unavailable("signing in by the provider does not work just now; try again") from away
        return stored if isinstance(stored, bytes) else made
