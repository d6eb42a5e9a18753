"""What a failing database looks like to callers: away for now, a rival's doing, or a defect."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from tradewind.errors import Conflict, Unavailable


def as_unavailable(error: BaseException) -> Unavailable | None:
    """The retryable error that ``error`` stands for, if it is one.

    Lost connections, an exhausted pool, deadlocks, timeouts and a full disk all pass; nothing was committed.
    """
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, psycopg.OperationalError | PoolExhausted):
        return Unavailable("the database does not answer now; try again")
    return None


def as_conflict(error: BaseException) -> Conflict | None:
    """What a broken uniqueness stands for: a rival stored the same name between our look and our write."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, psycopg.errors.UniqueViolation):
        return Conflict("another request stored the same a moment ago; look again")
    return None


@contextmanager
def unavailable_when_away() -> Iterator[None]:
    """Turn passing failures of the database into ``Unavailable``."""
    try:
        yield
    except Exception as error:
        if (unavailable := as_unavailable(error)) is not None:
            raise unavailable from error
        raise
