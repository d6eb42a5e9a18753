"""What an operator watches of all tenants' rows together, by a function of the owner."""

from sqlalchemy import Engine, text

from services.application.watch_service import StoredState
from services.persistence.failures import unavailable_when_away

PATIENCE_MS = 2_000
"""Whoever watches asks again soon; a database that is busy has better to do."""


class StoredStates:
    """
    Parameters
    ----------
    engine : without a pool, so that watching goes on when requests have taken all connections.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def read(self) -> StoredState:
        """Raises
        ------
        Unavailable : the database is away, or takes longer than ``PATIENCE_MS``.
        """
        with unavailable_when_away(), self._engine.begin() as connection:
            connection.execute(text(f"SET LOCAL statement_timeout = {PATIENCE_MS}"))
            row = connection.execute(text("SELECT * FROM service_state()")).one()
        return StoredState(
            unlearned_since=row.unlearned_since,
            oldest_release_at=row.oldest_release_at,
            live_transfers=row.live_transfers,
            days_to_export=row.days_to_export,
        )
