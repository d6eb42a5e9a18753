"""Whether a process can serve: what it needs is asked, and what changes is told once in its log."""

from collections.abc import Callable, Sequence

import redis
from structlog.typing import FilteringBoundLogger

from services.telemetry import Event
from tradewind.errors import Unavailable

MARK = "tradewind:ready"
MARK_KEPT_S = 10
TOLD_CHARACTERS = 120

Check = Callable[[], None]
"""Raises ``Unavailable`` with what is missing."""


class Readiness:
    """Whether everything that a process needs is there.

    Parameters
    ----------
    checks : in the order in which they are asked; the first that fails is the reason.
    log : told when the reason changes, and not again while it stays.
    """

    def __init__(self, checks: Sequence[Check], log: FilteringBoundLogger) -> None:
        self._checks = checks
        self._log = log
        self._missing: str | None = None

    def require(self) -> None:
        """Raises
        ------
        Unavailable : with what is missing.
        """
        try:
            for check in self._checks:
                check()
        except Unavailable as missing:
            if str(missing) != self._missing:
                self._missing = str(missing)
                self._log.warning(Event.NOT_READY, reason=self._missing)
            raise
        if self._missing is not None:
            self._missing = None
            self._log.info(Event.READY_AGAIN)

    def wait(self, pause: Callable[[], None]) -> None:
        """Return when everything is there; ``pause`` between two looks."""
        while True:
            try:
                self.require()
            except Unavailable:
                pause()
            else:
                return


def require_redis(client: redis.Redis) -> None:
    """Ask whether Redis takes data: one whose disk is full still answers a ping.

    Raises
    ------
    Unavailable : with what is wrong, and without its address.
    """
    try:
        client.set(MARK, "", ex=MARK_KEPT_S)
    except redis.AuthenticationError:
        raise Unavailable("Redis refuses the password of REDIS_URL") from None
    except redis.ResponseError as refused:
        raise Unavailable(f"Redis takes no data: {str(refused)[:TOLD_CHARACTERS]}") from None
    except redis.RedisError as away:
        expired = "certificate" in str(away)
        raise Unavailable("Redis does not answer" + (": its certificate is not accepted" if expired else "")) from None
