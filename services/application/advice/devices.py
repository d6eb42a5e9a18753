"""Device profiles: those of the package for everybody, and each tenant's own."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, NotFound
from tradewind.mobile.catalogue import Catalogue
from tradewind.mobile.profiles import DeviceProfile, RadioProfile
from tradewind.wire.devices import NewDeviceProfile

MAX_PROFILES = 500
"""Of a tenant."""

MAX_OF_CUSTOMER = 100
"""Of a customer's key: it must not use up what the tenant and its other customers may store."""


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """A tenant's own profile, as it was uploaded. ``owner`` : the customer's key, ``None`` where all may read it."""

    name: str
    content: NewDeviceProfile
    uploaded_at: datetime
    owner: UUID | None

    def is_visible_to(self, keys: Collection[UUID] | None) -> bool:
        """Return whether a customer with these keys may read and use it; ``None`` : the caller is no customer."""
        return keys is None or self.owner is None or self.owner in keys

    def is_changed_by(self, keys: Collection[UUID] | None) -> bool:
        """Return whether a customer with these keys may replace or remove it; ``None`` : the caller is no customer."""
        return keys is None or self.owner in keys


@dataclass(frozen=True, slots=True)
class KnownDevice:
    """A device profile; ``uploaded_at`` : of a tenant's own, ``None`` for one of the package."""

    profile: DeviceProfile
    uploaded_at: datetime | None


class DeviceProfileRepository(Protocol):
    """Device profiles of one tenant; a port because the application may not import persistence."""

    def list_all(self) -> Sequence[StoredProfile]: ...
    def find(self, name: str) -> StoredProfile | None: ...
    def put(self, name: str, content: NewDeviceProfile, at: datetime, *, owner: UUID | None) -> None: ...
    def remove(self, name: str) -> bool: ...


def list_known_devices(
    shipped: Catalogue, *, uow: UnitOfWork, keys: Collection[UUID] | None = None
) -> Sequence[KnownDevice]:
    """Return the tenant's profiles by name, then the package's; a tenant's replaces the package's of the same name.

    ``keys`` : of the calling customer, who does not see those of other customers; ``None`` : the caller is no customer.
    """
    own = [
        _to_known_device(stored, shipped.radios)
        for stored in uow.device_profiles.list_all()
        if stored.is_visible_to(keys)
    ]
    names = {device.profile.name for device in own}
    rest = [KnownDevice(device, None) for device in shipped.devices.values() if device.name not in names]
    return [*own, *rest]


def find_device(name: str, shipped: Catalogue, *, uow: UnitOfWork, keys: Collection[UUID] | None = None) -> KnownDevice:
    """Return the tenant's profile of a name that is visible to a customer's ``keys``, else the package's.

    Raises
    ------
    NotFound : there is none.
    """
    stored = uow.device_profiles.find(name)
    if stored is not None and stored.is_visible_to(keys):
        return _to_known_device(stored, shipped.radios)
    if name not in shipped.devices:
        raise NotFound(f"no device {name!r}; `tradewind devices` and GET /v1/devices list them")
    return KnownDevice(shipped.devices[name], None)


def put_device(
    name: str,
    content: NewDeviceProfile,
    shipped: Catalogue,
    *,
    uow: UnitOfWork,
    clock: Clock,
    key_id: UUID | None = None,
    keys: Collection[UUID] | None = None,
) -> KnownDevice:
    """Store a profile, or replace the tenant's own of that name.

    ``key_id``, ``keys`` : of the calling customer, and those that it replaces; ``None`` : the caller is no customer.

    Raises
    ------
    InvalidValue, NotFound : the profile is impossible, or names an unknown radio.
    Conflict : the tenant or the customer has too many profiles, or one of this name is another customer's.
    """
    profile = content.to_profile(name, shipped.radios)
    before = uow.device_profiles.find(name)
    if before is not None and not before.is_changed_by(keys):
        raise Conflict(f"the name {name!r} is taken by a profile of another key; choose another one")
    if before is None:
        _require_room(uow.device_profiles.list_all(), keys)
    now = clock.now()
    uow.device_profiles.put(name, content, now, owner=key_id)
    uow.audit.note(
        "device_profile.uploaded",
        name,
        device=f"{profile.producer} {profile.model}",
        idle_w=profile.idle_w.value,
        replaced=before is not None,
    )
    uow.commit()
    return KnownDevice(profile, now)


def _require_room(stored: Sequence[StoredProfile], keys: Collection[UUID] | None) -> None:
    if len(stored) >= MAX_PROFILES:
        raise Conflict(f"{MAX_PROFILES} profiles are stored already; remove some")
    if keys is not None and sum(each.owner in keys for each in stored) >= MAX_OF_CUSTOMER:
        raise Conflict(f"{MAX_OF_CUSTOMER} profiles of this key are stored already; remove some")


def remove_device(name: str, *, uow: UnitOfWork, keys: Collection[UUID] | None = None) -> None:
    """Remove one of the tenant's profiles, for a customer with these ``keys`` one of its own.

    Raises
    ------
    NotFound : there is none of that name; profiles of the package and of other customers stay.
    """
    stored = uow.device_profiles.find(name)
    if stored is None or not stored.is_changed_by(keys) or not uow.device_profiles.remove(name):
        raise NotFound(f"no profile {name!r} of yours; those that come with the service stay")
    uow.audit.note("device_profile.removed", name)
    uow.commit()


def find_radio(
    radio: str,
    device: str | None,
    shipped: Catalogue,
    *,
    uow: UnitOfWork,
    keys: Collection[UUID] | None = None,
) -> RadioProfile:
    """Return the radio of a device, or of the package where no device is named.

    Raises
    ------
    NotFound : there is no such device, or it has no such radio.
    """
    if device is None:
        return shipped.find_radio(radio)
    return find_device(device, shipped, uow=uow, keys=keys).profile.find_radio(radio)


def _to_known_device(stored: StoredProfile, radios: Mapping[str, RadioProfile]) -> KnownDevice:
    return KnownDevice(stored.content.to_profile(stored.name, radios), stored.uploaded_at)
