"""Limits on how long requests and migrations may wait and work, and the errors when a limit is reached."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from sqlalchemy.exc import DBAPIError

from tradewind.errors import Unavailable

SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits on statements.

    Attributes
    ----------
    lock_s : wait for a lock; whoever cannot have it gives up, rather than queue everybody behind itself.
    statement_s : a statement in all, and the wait for another process that migrates.
    forgotten_s : a transaction without a statement, such as one whose reader has stopped reading.
    """

    lock_s: float
    statement_s: float
    forgotten_s: float = 300.0

    @property
    def for_rivals(self) -> str:
        """The setting that bounds the wait for another process that migrates, which may take long."""
        return f"SET statement_timeout = {_compute_milliseconds(self.statement_s)}"

    @property
    def for_locks(self) -> str:
        """The setting that bounds the wait for readers and writers."""
        return f"SET lock_timeout = {_compute_milliseconds(self.lock_s)}"

    @property
    def as_options(self) -> str:
        """The options of a connection for requests: both limits, and the end of a forgotten transaction."""
        settings = {
            "lock_timeout": self.lock_s,
            "statement_timeout": self.statement_s,
            "idle_in_transaction_session_timeout": self.forgotten_s,
        }
        return " ".join(f"-c {name}={_compute_milliseconds(seconds)}" for name, seconds in settings.items())


PATIENCE = Patience(lock_s=5.0, statement_s=600.0)
"""For changes of the schema or the roles."""

PATIENCE_OF_REQUESTS = Patience(lock_s=10.0, statement_s=300.0)
"""For statements of an API process: an upload of the largest size takes a minute or two."""


def _compute_milliseconds(seconds: float) -> int:
    """Return a limit as PostgreSQL takes it; 0 would mean no limit."""
    return max(1, round(seconds * 1e3))


@contextmanager
def explain_timeouts(patience: Patience) -> Iterator[None]:
    """Distinguish a lock that was not free, and a statement that took too long, from an unreachable database.

    Raises
    ------
    Unavailable : in one line, with the variable that would help.
    """
    try:
        yield
    except (DBAPIError, psycopg.Error) as error:
        match error.orig if isinstance(error, DBAPIError) else error:
            case psycopg.errors.LockNotAvailable():
                reason = f"somebody held a lock that a migration needs for more than {patience.lock_s:g} s"
                setting = "TRADEWIND_MIGRATION_LOCK_TIMEOUT_S"
            case psycopg.errors.QueryCanceled():
                reason = f"a statement of a migration took more than {patience.statement_s:g} s"
                setting = "TRADEWIND_MIGRATION_STATEMENT_TIMEOUT_S"
            case _:
                raise
        statement = " ".join(((error.statement if isinstance(error, DBAPIError) else None) or "").split())
        at = f" ({statement[:SHOWN_CHARACTERS]})" if statement else ""
        raise Unavailable(
            f"{reason}{at}: what was not done whole was undone; try again, or with a greater {setting}"
        ) from None
