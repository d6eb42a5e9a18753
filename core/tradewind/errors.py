"""One small tree of errors; adapters render it (problems over HTTP, one line on a terminal).

TradewindError
├── InvalidValue            a value cannot be what it claims to be: field and reason
│   ├── InvalidUnit         text that is no size, rate, duration or energy
│   └── InvalidTrace        samples that cannot be integrated
│       └── TooFewSamples   none or one of them, as where a recording has just started
├── Unauthenticated         no key, or a key that is unknown or revoked
├── NotPermitted            the key lacks the scope
├── NotFound                no such thing for this tenant
├── Conflict                contradicts what is stored
├── TooLarge                beyond a stated limit
├── SpendingLimitReached    a priced transfer would exceed what its customer may spend in the month
├── TooOften                more calls of a kind than the key or its tenant may make (retryable, after the time given)
├── QueryRefused            SQL that the warehouse does not run, or that failed there
├── CannotFit               the rows at hand do not determine a model
└── Unavailable             a dependency is unreachable for now (retryable)
    ├── Deadlocked          two calls waited for each other, and this one gave way (retryable at once)
    └── UnknownSchema       the database is there, with a schema of another version
"""

from typing import Self


class TradewindError(Exception):
    """Base of all errors that callers may see.

    Attributes
    ----------
    retryable : whether the same call may succeed later, unchanged.
    """

    retryable = False


class InvalidValue(TradewindError):
    """A value is out of its domain; ``field`` is the dotted wire name, ``reason`` one phrase."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        """Return how another process makes it again."""
        return type(self), (self.field, self.reason)


class InvalidUnit(InvalidValue):
    """Text that is no size, rate, duration or energy."""


class InvalidTrace(InvalidValue):
    """Power samples that cannot be integrated: fewer than two, or time that does not increase."""


class TooFewSamples(InvalidTrace):
    """None or one, and nothing else is wrong with them: a recording that has just started gets more."""


class Unauthenticated(TradewindError):
    """No API key, or one that is unknown or revoked."""


class NotPermitted(TradewindError):
    """The key is valid but lacks the scope that the call needs."""


class NotFound(TradewindError):
    """No such thing, as far as this tenant can see."""


class Conflict(TradewindError):
    """The request contradicts what is stored, such as an idempotency key used for another batch."""


class NameTaken(InvalidValue, Conflict):
    """Another thing of the kind has this name."""


class TooLarge(TradewindError):
    """A body, line or result beyond its stated limit."""


class TooOften(TradewindError):
    """The key, or all keys of its tenant, have made more calls of a kind than they may.

    Attributes
    ----------
    kind : of calls.
    calls, window_s : so many are permitted at once, and again after so many seconds, s.
    retry_after_s : from when on the next is permitted, s.
    """

    retryable = True

    def __init__(self, kind: str, *, calls: int, window_s: int, retry_after_s: int, whose: str = "this key") -> None:
        super().__init__(
            f"{whose} may make {calls} {kind} calls in {window_s} s; wait {retry_after_s} s, or ask for more"
        )
        self.kind = kind
        self.calls = calls
        self.window_s = window_s
        self.retry_after_s = retry_after_s


class TooManyLive(TradewindError):
    """A key, or all keys of its tenant, have as many live transfers as they may; those go on.

    Attributes
    ----------
    retry_after_s : when to ask again, s.
    """

    retryable = True

    def __init__(self, whose: str, *, retry_after_s: int) -> None:
        super().__init__(
            f"{whose} may not have more live transfers at once: wait {retry_after_s} s for one to end, or ask the"
            " operator for more"
        )
        self.retry_after_s = retry_after_s


class SpendingLimitReached(TradewindError):
    """A priced transfer would exceed what its customer may spend in the month."""


class QueryRefused(TradewindError):
    """SQL of an analyst that is wrong, not permitted, or took too long.

    Attributes
    ----------
    sqlstate : PostgreSQL's five characters for what is wrong; None where it was not asked.
    position : character of the SQL at which it is wrong, from 1; None where that is not known.
    """

    def __init__(self, message: str, *, sqlstate: str | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.position = position


class CannotFit(TradewindError):
    """Too few or too uniform rows to determine a model; the release shows the reason."""


class Unavailable(TradewindError):
    """A dependency does not answer now; the same call may succeed later."""

    retryable = True


class TooManyAttempts(Unavailable):
    """Too many passwords from one network were wrong: those of people who are not known there are not looked at."""


class Deadlocked(Unavailable):
    """Two calls waited for each other, and this one gave way: nothing of it was stored, and it may go again at once."""


class UnknownSchema(Unavailable):
    """The database has none, or one of another version of the service: until either is changed, nothing fits it."""
