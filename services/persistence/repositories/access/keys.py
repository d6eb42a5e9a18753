"""API keys: the database stores a hash of the secret, never the secret."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import Connection, Engine, Row, func, insert, select, text, update

from services.application.access.sign_in import FoundUser
from services.persistence.failures import translate_failures
from services.persistence.tables import api_keys
from tradewind.errors import NotFound
from tradewind.wire.inventory import Key


@dataclass(frozen=True, slots=True)
class FoundKey:
    """What a valid key stands for."""

    id: UUID
    tenant_id: UUID
    scopes: frozenset[str]
    weight: float
    rate_factor: float
    secret_sha256: bytes
    customer_id: UUID | None
    customer_rate_factor: float | None


class Keys:
    """Keys of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def lock_names(self) -> None:
        """Wait for others who name keys of the tenant: revoked ones may share a name, so no constraint can hold."""
        self._connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"key names {self._tenant_id}"))))

    def add(
        self,
        *,
        name: str,
        prefix: str,
        secret_sha256: bytes,
        scopes: Sequence[str],
        weight: float,
        rate_factor: float,
        at: datetime,
    ) -> Key:
        row = self._connection.execute(
            insert(api_keys)
            .values(
                tenant_id=self._tenant_id,
                name=name,
                prefix=prefix,
                secret_sha256=secret_sha256,
                scopes=list(scopes),
                weight=weight,
                rate_factor=rate_factor,
                created_at=at,
            )
            .returning(api_keys)
        ).one()
        return _to_key(row)

    def revoke(self, key_id: UUID, at: datetime) -> Key:
        """Revoke the key; a revoked key stays revoked.

        Raises
        ------
        NotFound : the tenant has no such key.
        """
        revoked = self._connection.execute(
            update(api_keys)
            .where(api_keys.c.id == key_id)
            .values(revoked_at=func.coalesce(api_keys.c.revoked_at, at))
            .returning(api_keys)
        ).one_or_none()
        if revoked is None:
            raise NotFound("no such key")
        return _to_key(revoked)

    def change(self, key_id: UUID, **values: float) -> Key:
        """Change the ``weight`` or ``rate_factor`` of the key.

        Raises
        ------
        NotFound : the tenant has no such key.
        """
        row = self._connection.execute(
            update(api_keys).where(api_keys.c.id == key_id).values(**values).returning(api_keys)
        ).one_or_none()
        if row is None:
            raise NotFound("no such key")
        return _to_key(row)

    def list_all(self) -> Sequence[Key]:
        """Return every key, also revoked ones, the oldest first."""
        return [_to_key(row) for row in self._connection.execute(select(api_keys).order_by(api_keys.c.id))]


def _to_key(row: Row[tuple[object, ...]]) -> Key:
    return Key(
        id=row.id,
        name=row.name,
        prefix=row.prefix,
        scopes=tuple(row.scopes),
        weight=row.weight,
        rate_factor=row.rate_factor,
        created_at=row.created_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )


class Registry:
    """Look-ups before the tenant is known: keys, users, sessions, tenants."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find_key(self, secret_sha256: bytes) -> FoundKey | None:
        """Return the key with this hash, unless it is unknown or revoked."""
        query = text("SELECT * FROM find_key(:secret)")
        with translate_failures(), self._engine.begin() as connection:
            row = connection.execute(query, {"secret": secret_sha256}).one_or_none()
        if row is None:
            return None
        return FoundKey(**row._asdict() | {"scopes": frozenset(row.scopes)})

    def find_tenant(self, name: str) -> UUID | None:
        with translate_failures(), self._engine.begin() as connection:
            found: UUID | None = connection.execute(text("SELECT find_tenant(:name)"), {"name": name}).scalar_one()
        return found

    def find_user(self, login: str) -> FoundUser | None:
        """Return the user with this login, whatever the tenant."""
        query = text("SELECT id, tenant_id FROM find_user(:login)")
        with translate_failures(), self._engine.begin() as connection:
            row = connection.execute(query, {"login": login}).one_or_none()
        return None if row is None else FoundUser(row.id, row.tenant_id)

    def find_identity(self, issuer: str, subject: str) -> FoundUser | None:
        """Return the user known by this identity at a provider."""
        query = text("SELECT id, tenant_id FROM find_user_identity(:issuer, :subject)")
        with translate_failures(), self._engine.begin() as connection:
            row = connection.execute(query, {"issuer": issuer, "subject": subject}).one_or_none()
        return None if row is None else FoundUser(row.id, row.tenant_id)

    def find_session(self, secret_sha256: bytes) -> UUID | None:
        """Return the tenant of the session with this hash, expired or not."""
        query = text("SELECT find_user_session(:secret)")
        with translate_failures(), self._engine.begin() as connection:
            found: UUID | None = connection.execute(query, {"secret": secret_sha256}).scalar_one()
        return found

    def list_tenants_with_work(self) -> Sequence[UUID]:
        """Return tenants with logs newer than their models, or with a release that is being built."""
        query = text("SELECT * FROM tenants_with_new_logs() UNION SELECT * FROM tenants_with_building_release()")
        with translate_failures(), self._engine.begin() as connection:
            return list(connection.execute(query).scalars())

    def list_tenants_with_changed_days(self) -> Sequence[UUID]:
        """Return tenants with days whose rollups or files are out of date."""
        query = text("SELECT * FROM tenants_with_rollup_marks() UNION SELECT * FROM tenants_with_export_marks()")
        with translate_failures(), self._engine.begin() as connection:
            return list(connection.execute(query).scalars())

    def list_tenants_with_changed_usage(self) -> Sequence[UUID]:
        """Return tenants with transfers whose billing is to be computed again."""
        query = text("SELECT * FROM tenants_with_usage_marks()")
        with translate_failures(), self._engine.begin() as connection:
            return list(connection.execute(query).scalars())

    def list_tenants_with_days_to_export(self, before: date) -> Sequence[UUID]:
        """Return tenants with days before that one that have changed since their export."""
        query = text("SELECT * FROM tenants_with_days_to_export(:before)")
        with translate_failures(), self._engine.begin() as connection:
            return list(connection.execute(query, {"before": before}).scalars())

    def list_tenants_with_old_releases(self, retained: int) -> Sequence[UUID]:
        """Return tenants with more releases than the newest ``retained``, or with some that are partly removed."""
        query = text("SELECT * FROM tenants_with_old_releases(:retained)")
        with translate_failures(), self._engine.begin() as connection:
            return list(connection.execute(query, {"retained": retained}).scalars())
