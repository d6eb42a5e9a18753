"""Whether a process can serve: what it needs is asked, and what changes is told once in its log."""

from collections.abc import Callable, Sequence

import redis
from structlog.typing import FilteringBoundLogger

from services.observability.telemetry import Event
from tradewind.errors import Unavailable, UnknownSchema

MARK = "tradewind:ready"
MARK_KEPT_S = 10
TOLD_CHARACTERS = 120

Check = Callable[[], None]
"""Raises ``Unavailable`` with what is missing."""


class Readiness:
    """Whether what a process needs is there.

    Parameters
    ----------
    checks : of what it never does without, in the order in which they are asked; the first that fails is the reason.
    log : told when the reason changes, and not again while it stays.
    spared : checks of what it goes on without, once it had it. All processes lose it at the same moment: if each were
        taken out of service for that, nobody would answer what any of them still could. One that never had it was told
        a wrong address, and must not take the place of one that works.
    """

    def __init__(self, checks: Sequence[Check], log: FilteringBoundLogger, *, spared: Sequence[Check] = ()) -> None:
        self._checks = checks
        self._spared = spared
        self._log = log
        self._missing: str | None = None
        self._had_all = False
        self._serves = False

    def require(self) -> str | None:
        """What the process goes on without, if anything.

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
        """What was missing at the last look, if anything, of a process that still answers what it can from memory.

        So does one that had all that it needs and then lost it, its database too: others have lost the same, and none
        of them would be left. Nothing is asked, since a database that hangs must not keep this waiting.

        Raises
        ------
        Unavailable : it never had all, or the database's schema, when it was last seen, was none that it knows.
        """
        if not self._serves:
            raise Unavailable(self._missing or "nothing has been looked at yet")
        return self._missing

    def _note(self, event: Event, missing: str) -> None:
        if missing != self._missing:
            self._missing = missing
            self._log.warning(event, reason=missing)

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
        raise Unavailable(f"Redis does not answer{_of_certificate(str(away))}") from None


def _of_certificate(told: str) -> str:
    if "certificate has expired" in told:
        return ": its certificate has expired"
    return ": its certificate is not accepted" if "certificate" in told else ""
