"""The state of all tenants' rows that operators monitor, by a function of the owner, and of the database's log."""

import psycopg
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from services.application.monitoring.watch_service import FollowedLog, StoredState
from services.persistence.failures import translate_failures

PATIENCE_MS = 2_000
"""Monitoring asks again soon; a busy database has more urgent work."""

BACKUP_SLOT = "tradewind_backup"
"""Name of the slot for which the server retains its log for the backup."""

# A slot whose log the server had to drop has no position in it any more.
LOG = text(
    "SELECT active AS followed, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint AS behind_bytes"
    " FROM pg_replication_slots WHERE slot_name = :slot"
)

# By a clock that was ahead: such a copy is older than it says.
COPIED = text("SELECT max(ended_at) FROM database_copies WHERE ended_at <= now()")


class StoredStates:
    """Reads the state that operators monitor.

    Parameters
    ----------
    engine : without a pool, so that monitoring goes on when requests have taken all connections.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def read(self) -> StoredState | None:
        """Return the state; ``None`` where the database answers, but takes longer than ``PATIENCE_MS``.

        Raises
        ------
        Unavailable : the database is unreachable.
        """
        with translate_failures():
            try:
                with self._engine.begin() as connection:
                    return _read_state(connection)
            except OperationalError as error:
                if isinstance(error.orig, psycopg.errors.QueryCanceled):
                    return None
                raise


def _read_state(connection: Connection) -> StoredState:
    connection.execute(text(f"SET LOCAL statement_timeout = {PATIENCE_MS}"))
    row = connection.execute(text("SELECT * FROM service_state()")).one()
    log = connection.execute(LOG, {"slot": BACKUP_SLOT}).one_or_none()
    return StoredState(
        unlearned_since=row.unlearned_since,
        oldest_release_at=row.oldest_release_at,
        live_transfers=row.live_transfers,
        days_to_export=row.days_to_export,
        backup=None if log is None else FollowedLog(behind_bytes=log.behind_bytes, followed=log.followed),
        copied_at=connection.execute(COPIED).scalar_one(),
    )
