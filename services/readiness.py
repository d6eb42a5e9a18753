"""Whether a process can serve: it checks what it needs, and logs each change once."""

from collections.abc import Callable, Sequence

import redis
from structlog.typing import FilteringBoundLogger

from services.observability.telemetry import Event
from tradewind.errors import Unavailable, UnknownSchema

MARK = "tradewind:ready"
MARK_TTL_S = 10
SHOWN_CHARACTERS = 120

Check = Callable[[], None]
"""Raises ``Unavailable`` with what is missing."""


class Readiness:
    """Whether what a process needs is there.

    Parameters
    ----------
    checks : what it cannot do without, in the order of the checks; the first that fails is the reason.
    log : receives each change of the reason once.
    spared : what it can do without, once it had it. All processes lose it at the same moment: if each were taken out of
        service for that, none would answer what it still could. A process that never had it has a wrong address, and
        must not replace one that works.
    """

    def __init__(self, checks: Sequence[Check], log: FilteringBoundLogger, *, spared: Sequence[Check] = ()) -> None:
        self._checks = checks
        self._spared = spared
        self._log = log
        self._missing: str | None = None
        self._had_all = False
        self._serves = False

    def require(self) -> str | None:
        """Return what the process goes on without, if anything.

        Raises
        ------
        Unavailable : with what is missing.
        """
        try:
            for check in self._checks:
                check()
        except Unavailable as missing:
            if isinstance(missing, UnknownSchema):
                self._serves = False
            self._note(Event.NOT_READY, str(missing))
            raise
        self._serves = self._had_all
        try:
            for check in self._spared:
                check()
        except Unavailable as missing:
            self._note(Event.DEGRADED if self._had_all else Event.NOT_READY, str(missing))
            if not self._had_all:
                raise
            return str(missing)
        self._had_all = self._serves = True
        if self._missing is not None:
            self._missing = None
            self._log.info(Event.READY_AGAIN)
        return None

    def require_serving(self) -> str | None:
        """Return what was missing at the last check, if anything, of a process that can still answer from memory.

        That includes a process that had all that it needs and then lost it, even its database: others have lost the
        same, and none of them would be left. Nothing is checked now, since a database that hangs must not block this.

        Raises
        ------
        Unavailable : it never had all, or the database's schema, when last seen, was unknown.
        """
        if not self._serves:
            raise Unavailable(self._missing or "nothing has been looked at yet")
        return self._missing

    def _note(self, event: Event, missing: str) -> None:
        if missing != self._missing:
            self._missing = missing
            self._log.warning(event, reason=missing)

    def wait(self, pause: Callable[[], None]) -> None:
        """Return when everything is there; ``pause`` : called between two checks."""
        while True:
            try:
                self.require()
            except Unavailable:
                pause()
            else:
                return


def require_redis(client: redis.Redis) -> None:
    """Require a Redis that takes data: one whose disk is full still answers a ping.

    Raises
    ------
    Unavailable : with what is wrong, and without its address.
    """
    try:
        client.set(MARK, "", ex=MARK_TTL_S)
    except redis.AuthenticationError:
        raise Unavailable("Redis refuses the password of REDIS_URL") from None
    except redis.ResponseError as refused:
        raise Unavailable(f"Redis takes no data: {str(refused)[:SHOWN_CHARACTERS]}") from None
    except redis.RedisError as away:
        raise Unavailable(f"Redis does not answer{_of_certificate(str(away))}") from None


def _of_certificate(message: str) -> str:
    if "certificate has expired" in message:
        return ": its certificate has expired"
    return ": its certificate is not accepted" if "certificate" in message else ""
