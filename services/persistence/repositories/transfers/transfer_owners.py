"""The API keys that transfers belong to."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import Connection, text

from services.application.transfers.owners import KnownTransfer

# The key that got a priced recommendation started the transfer: its id is in no other answer.
_OWNED = """
    WITH owned AS (
        SELECT wanted.id, coalesce(offered.key_id, noted.key_id, CAST(:started_by AS uuid)) AS owner, noted.ended_at
          FROM unnest(CAST(:ids AS uuid[])) AS wanted (id)
          LEFT JOIN transfers noted ON noted.tenant_id = :tenant_id AND noted.id = wanted.id
          LEFT JOIN (
              SELECT DISTINCT ON (transfer_id) transfer_id, key_id FROM quotes
               WHERE tenant_id = :tenant_id AND transfer_id = ANY(CAST(:ids AS uuid[])) ORDER BY transfer_id, at
          ) offered ON offered.transfer_id = wanted.id
    )
"""

_LAST_CUSTOMER = """
    (SELECT held.customer_id FROM customer_keys held
      WHERE held.key_id = {key}.id AND held.customer_id IS NOT NULL ORDER BY held.from_at DESC LIMIT 1)
"""

# A revoked key's name is free again, also for a key of another customer. A key that never had a customer is its own.
_REPLACES = f"""
    owner.revoked_at IS NOT NULL AND owner.name = acting.name
    AND coalesce({_LAST_CUSTOMER.format(key="owner")} = {_LAST_CUSTOMER.format(key="acting")},
                 {_LAST_CUSTOMER.format(key="owner")} IS NULL)
"""

# ``acting`` is no row where a user or the service acts, which may act on any.
_IS_OF_OTHER_KEY = f"""
    owner.id <> acting.id
    AND NOT ({_REPLACES} OR owner.revoked_at IS NOT NULL AND NOT acting.scopes <@ ARRAY['agent'])
"""

_FIND = text(
    f"""
    {_OWNED}
    SELECT owned.owner, owned.ended_at IS NOT NULL AS is_over, coalesce({_IS_OF_OTHER_KEY}, false) AS is_of_other_key
      FROM owned
      LEFT JOIN api_keys owner ON owner.id = owned.owner
      LEFT JOIN api_keys acting ON acting.id = :key_id
    """  # noqa: S608 - of constants
)
_OTHERS_LOGS = text(
    f"""
    {_OWNED}
    SELECT owned.id
      FROM owned
      JOIN api_keys owner ON owner.id = owned.owner
      JOIN api_keys acting ON acting.id = :key_id AND acting.scopes <@ ARRAY['agent']
     WHERE {_IS_OF_OTHER_KEY}
    """  # noqa: S608 - of constants
)
_OF_OWNER = text(
    f"""
    SELECT FROM api_keys owner JOIN api_keys acting ON acting.id = :key_id
     WHERE owner.id = :owner AND {_IS_OF_OTHER_KEY}
    """
)
_OWN_KEYS = text(
    f"""
    SELECT acting.id FROM api_keys acting WHERE acting.id = :key_id
     UNION
    SELECT owner.id FROM api_keys acting JOIN api_keys owner ON {_REPLACES}
     WHERE acting.id = :key_id
    """  # noqa: S608 - of constants
)


class TransferOwners:
    """Owners of the transfers of one tenant.

    Parameters
    ----------
    key_id : the key that acts; ``None`` for a user or the service.
    """

    def __init__(self, connection: Connection, tenant_id: UUID, key_id: UUID | None) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._key_id = key_id

    def find(self, transfer_id: UUID, *, started_by: UUID | None = None) -> KnownTransfer:
        """Return what is known of a transfer; ``started_by`` is its owner where the database knows none yet."""
        row = self._connection.execute(_FIND, self._build_parameters([transfer_id], started_by)).one()
        return KnownTransfer(row.owner, row.is_of_other_key, row.is_over)

    def select_others_logs(self, transfer_ids: Collection[UUID]) -> Collection[UUID]:
        """Return those of the transfers whose logs the acting key may not upload; a provider's key may upload all."""
        if self._key_id is None or not transfer_ids:
            return ()
        return frozenset(self._connection.execute(_OTHERS_LOGS, self._build_parameters(transfer_ids, None)).scalars())

    def is_of_other_key(self, owner: UUID) -> bool:
        """Return whether the acting key may not act on transfers of ``owner``."""
        parameters = {"owner": owner, "key_id": self._key_id}
        return self._connection.execute(_OF_OWNER, parameters).first() is not None

    def own_keys(self) -> Collection[UUID]:
        """Return the acting key and those that it replaces."""
        return frozenset(self._connection.execute(_OWN_KEYS, {"key_id": self._key_id}).scalars())

    def _build_parameters(self, transfer_ids: Collection[UUID], started_by: UUID | None) -> dict[str, object]:
        return {
            "ids": list(transfer_ids),
            "tenant_id": self._tenant_id,
            "key_id": self._key_id,
            "started_by": started_by,
        }
