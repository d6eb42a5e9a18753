"""Networks from which a tenant's users sign in, and the failures from each."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, delete, or_, select
from sqlalchemy.dialects.postgresql import insert

from services.application.access.sign_in_networks import KNOWN_FOR, LONGEST_LOCK, Standing
from services.persistence.tables import sign_in_networks


class SignInNetworks:
    """Networks of one tenant's users."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection, self._tenant_id = connection, tenant_id

    def find_standing(self, user_id: UUID, network: str) -> Standing:
        row = self._connection.execute(
            select(sign_in_networks.c.locked_until, sign_in_networks.c.signed_in_at).where(
                sign_in_networks.c.user_id == user_id, sign_in_networks.c.network == network
            )
        ).one_or_none()
        return Standing() if row is None else Standing(*row)

    def note_failure(self, user_id: UUID, network: str) -> int:
        """Count a failed sign-in; return how many failed in a row from this network."""
        return self._put(user_id, network, {"failures": 1}, {"failures": sign_in_networks.c.failures + 1})

    def lock(self, user_id: UUID, network: str, until: datetime) -> None:
        self._put(user_id, network, {"locked_until": until}, {"locked_until": until})

    def note_sign_in(self, user_id: UUID, network: str, at: datetime) -> None:
        """Mark the network as known for the user, and remove networks that no longer matter."""
        noted = {"failures": 0, "locked_until": None, "signed_in_at": at}
        self._put(user_id, network, noted, noted)
        known, locked = sign_in_networks.c.signed_in_at, sign_in_networks.c.locked_until
        self._connection.execute(
            delete(sign_in_networks).where(
                sign_in_networks.c.user_id == user_id,
                or_(known.is_(None), known < at - KNOWN_FOR),
                or_(locked.is_(None), locked < at - LONGEST_LOCK),
            )
        )

    def _put(self, user_id: UUID, network: str, new: dict[str, Any], known: dict[str, Any]) -> int:
        values = {"user_id": user_id, "network": network, "tenant_id": self._tenant_id} | new
        put = (
            insert(sign_in_networks)
            .values(**values)
            .on_conflict_do_update(index_elements=["user_id", "network"], set_=known)
            .returning(sign_in_networks.c.failures)
        )
        return int(self._connection.execute(put).scalar_one())
