"""Device profiles of a tenant, as they were uploaded."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, Row, delete, select
from sqlalchemy.dialects.postgresql import insert

from services.application.advice.devices import StoredProfile
from services.persistence.tables import device_profiles
from tradewind.wire.devices import NewDeviceProfile


class DeviceProfiles:
    """The profiles of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def list_all(self) -> Sequence[StoredProfile]:
        """Return all profiles, by name."""
        rows = self._connection.execute(select(device_profiles).order_by(device_profiles.c.name))
        return [_to_stored(row) for row in rows]

    def find(self, name: str) -> StoredProfile | None:
        row = self._connection.execute(select(device_profiles).where(device_profiles.c.name == name)).one_or_none()
        return None if row is None else _to_stored(row)

    def put(self, name: str, content: NewDeviceProfile, at: datetime, *, owner: UUID | None) -> None:
        """Add a profile, or replace the one of that name."""
        values = {
            "content": content.model_dump(mode="json", exclude_none=True),
            "uploaded_at": at,
            "key_id": owner,
        }
        self._connection.execute(
            insert(device_profiles)
            .values(tenant_id=self._tenant_id, name=name, **values)
            .on_conflict_do_update(index_elements=["tenant_id", "name"], set_=values)
        )

    def remove(self, name: str) -> bool:
        """Remove a profile; return whether there was one."""
        return self._connection.execute(delete(device_profiles).where(device_profiles.c.name == name)).rowcount > 0


def _to_stored(row: Row[tuple[object, ...]]) -> StoredProfile:
    return StoredProfile(row.name, NewDeviceProfile.model_validate(row.content), row.uploaded_at, row.key_id)
