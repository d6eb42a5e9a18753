"""Translate failures of the database for callers: unreachable for now, a conflict with a rival, or a defect."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from tradewind.errors import Conflict, Deadlocked, Unavailable

REASONS = {
    "certificate": "its certificate is not accepted",
    "Connection refused": "nothing listens at its address",
    "could not translate host name": "no address is known for its name",
    "failed to resolve host": "no address is known for its name",
    "password authentication failed": "it refuses the password",
    "timeout expired": "it took too long to answer",
    "connection timeout": "it took too long to answer",
    "too many clients": "it has no connection left",
    "remaining connection slots": "it has no connection left",
    "starting up": "it is starting",
    "shutting down": "it is stopping",
    "No space left on device": "its disk is full",
    "out of shared memory": "it has no locks left: max_locks_per_transaction",
}
"""Text of the driver's message → reason for callers, without address, login or path of the server."""

NOTHING = "nothing of this was stored; try again"

PASSING: tuple[tuple[tuple[type[psycopg.Error], ...], type[Unavailable], str], ...] = (
    (
        (psycopg.errors.DiskFull,),
        Unavailable,
        "the database's disk is full: nothing of this was stored; try again when it has room",
    ),
    (
        (psycopg.errors.ReadOnlySqlTransaction,),
        Unavailable,
        "the database takes no data now: it is read-only; try again",
    ),
    (
        (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure),
        Deadlocked,
        f"another request was first at what both change: {NOTHING}",
    ),
    (
        (psycopg.errors.IdleInTransactionSessionTimeout,),
        Unavailable,
        f"this went on too long without a word to the database: {NOTHING}",
    ),
    ((psycopg.errors.LockNotAvailable,), Unavailable, f"another request holds what this one changes: {NOTHING}"),
    ((psycopg.errors.QueryCanceled,), Unavailable, f"the database took too long over this: {NOTHING}"),
)
"""Error of the database → error and message for callers."""


def to_unavailable(error: BaseException) -> Unavailable | None:
    """Return the retryable error that ``error`` stands for, if it is one.

    Lost connections, an exhausted pool, deadlocks, locks that are not released, timeouts and a full disk all pass;
    nothing was committed.
    """
    cause = error.orig if isinstance(error, DBAPIError) else error
    for kinds, error_type, message in PASSING:
        if isinstance(cause, kinds):
            return error_type(message)
    if isinstance(cause, psycopg.OperationalError | PoolExhausted):
        why = next((reason for message, reason in REASONS.items() if message in str(cause)), None)
        return Unavailable(f"the database does not answer now{f' ({why})' if why else ''}; try again")
    return None


def to_conflict(error: BaseException) -> Conflict | None:
    """Return the conflict that a violated uniqueness stands for: a rival stored the same name between our read and our
    write.
    """
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, psycopg.errors.UniqueViolation):
        return Conflict("another request stored the same a moment ago; look again")
    return None


@contextmanager
def translate_failures() -> Iterator[None]:
    """Turn passing failures of the database into ``Unavailable``."""
    try:
        yield
    except Exception as error:
        if (unavailable := to_unavailable(error)) is not None:
            raise unavailable from error
        raise
