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

MOST_PROFILES = 500
"""Of a tenant."""


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """A tenant's own profile, as it was uploaded. ``owner`` : the customer's key, ``None`` where all may read it."""

    name: str
    content: NewDeviceProfile
    uploaded_at: datetime
    owner: UUID | None

    def is_visible_to(self, keys: Collection[UUID] | None) -> bool:
        """Return whether a customer with these keys may read and use it; ``None`` for who is no customer."""
        return keys is None or self.owner is None or self.owner in keys

    def is_changed_by(self, keys: Collection[UUID] | None) -> bool:
        """Return whether a customer with these keys may replace or remove it; ``None`` for who is no customer."""
        return keys is None or self.owner in keys


@dataclass(frozen=True, slots=True)
class KnownDevice:
    """``uploaded_at`` : of a tenant's own; ``None`` of the package's."""

    profile: DeviceProfile
    uploaded_at: datetime | None


class DeviceProfileRepository(Protocol):
    def all(self) -> Sequence[StoredProfile]: ...
    def find(self, name: str) -> StoredProfile | None: ...
    def put(self, name: str, content: NewDeviceProfile, at: datetime, *, owner: UUID | None) -> None: ...
    def remove(self, name: str) -> bool: ...


def list_known_devices(
    shipped: Catalogue, *, uow: UnitOfWork, keys: Collection[UUID] | None = None
) -> Sequence[KnownDevice]:
    """The tenant's own by name, then the package's; one of its own stands in for the package's of the same name.

    ``keys`` : of the customer who asks, who sees no other customer's; ``None`` for who is no customer.
    """
    own = [_known(stored, shipped.radios) for stored in uow.device_profiles.all() if stored.is_visible_to(keys)]
    names = {each.profile.name for each in own}
    rest = [KnownDevice(device, None) for device in shipped.devices.values() if device.name not in names]
    return [*own, *rest]


def find_device(name: str, shipped: Catalogue, *, uow: UnitOfWork, keys: Collection[UUID] | None = None) -> KnownDevice:
    """The tenant's own profile of that name that is visible to the ``keys`` of a customer, else the package's.

    Raises
    ------
    NotFound
    """
    stored = uow.device_profiles.find(name)
    if stored is not None and stored.is_visible_to(keys):
        return _known(stored, shipped.radios)
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

    ``key_id``, ``keys`` : of the customer who does, and those that it replaces; ``None`` for who is no customer.

    Raises
    ------
    InvalidValue, NotFound : it cannot be, or names an unknown radio.
    Conflict : the tenant has too many, or one of that name that is not this customer's.
    """
    profile = content.to_profile(name, shipped.radios)
    before = uow.device_profiles.find(name)
    if before is not None and not before.is_changed_by(keys):
        raise Conflict(f"the name {name!r} is taken by a profile of another key; choose another one")
    if before is None and len(uow.device_profiles.all()) >= MOST_PROFILES:
        raise Conflict(f"{MOST_PROFILES} profiles are stored already; remove some")
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


def remove_device(name: str, *, uow: UnitOfWork, keys: Collection[UUID] | None = None) -> None:
    """Remove one of the tenant's own, of a customer with these ``keys`` one of its own.

    Raises
    ------
    NotFound : it has none of that name; those of the package and of other customers stay.
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
    """The radio as the device has it, or of the package where no device is named.

    Raises
    ------
    NotFound : no such device, or it has no such radio.
    """
    if device is None:
        return shipped.radio(radio)
    return find_device(device, shipped, uow=uow, keys=keys).profile.radio(radio)


def _known(stored: StoredProfile, radios: Mapping[str, RadioProfile]) -> KnownDevice:
    return KnownDevice(stored.content.to_profile(stored.name, radios), stored.uploaded_at)
