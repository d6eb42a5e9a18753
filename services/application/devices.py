"""Device profiles: those of the package for everybody, and each tenant's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.application.audit import Audit
from services.application.ports import Clock, Transaction
from tradewind.errors import Conflict, NotFound
from tradewind.mobile.catalogue import Catalogue
from tradewind.mobile.profiles import DeviceProfile, RadioProfile
from tradewind.wire.devices import NewDeviceProfile

MOST_PROFILES = 500
"""Of a tenant."""


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """A tenant's own profile, as it was uploaded."""

    name: str
    content: NewDeviceProfile
    uploaded_at: datetime


@dataclass(frozen=True, slots=True)
class KnownDevice:
    """``uploaded_at`` : of a tenant's own; ``None`` of the package's."""

    profile: DeviceProfile
    uploaded_at: datetime | None


class DeviceProfiles(Protocol):
    def all(self) -> Sequence[StoredProfile]: ...
    def find(self, name: str) -> StoredProfile | None: ...
    def put(self, name: str, content: NewDeviceProfile, at: datetime) -> None: ...
    def remove(self, name: str) -> bool: ...


class DeviceUnitOfWork(Transaction, Protocol):
    """Of the tenant whose profiles are read or changed."""

    @property
    def device_profiles(self) -> DeviceProfiles: ...
    @property
    def audit(self) -> Audit: ...


def known_devices(shipped: Catalogue, *, uow: DeviceUnitOfWork) -> Sequence[KnownDevice]:
    """The tenant's own by name, then the package's; one of its own stands in for the package's of the same name."""
    own = [_known(stored, shipped.radios) for stored in uow.device_profiles.all()]
    names = {each.profile.name for each in own}
    rest = [KnownDevice(device, None) for device in shipped.devices.values() if device.name not in names]
    return [*own, *rest]


def device_named(name: str, shipped: Catalogue, *, uow: DeviceUnitOfWork) -> KnownDevice:
    """The tenant's own profile of that name, else the package's.

    Raises
    ------
    NotFound
    """
    stored = uow.device_profiles.find(name)
    if stored is not None:
        return _known(stored, shipped.radios)
    if name not in shipped.devices:
        raise NotFound(f"no device {name!r}; `tradewind devices` and GET /v1/devices list them")
    return KnownDevice(shipped.devices[name], None)


def put_device(
    name: str, content: NewDeviceProfile, shipped: Catalogue, *, uow: DeviceUnitOfWork, clock: Clock
) -> KnownDevice:
    """Store a profile, or replace the tenant's own of that name.

    Raises
    ------
    InvalidValue, NotFound : it cannot be, or names an unknown radio.
    Conflict : the tenant has too many.
    """
    profile = content.to_profile(name, shipped.radios)
    before = uow.device_profiles.find(name)
    if before is None and len(uow.device_profiles.all()) >= MOST_PROFILES:
        raise Conflict(f"{MOST_PROFILES} profiles are stored already; remove some")
    now = clock.now()
    uow.device_profiles.put(name, content, now)
    uow.audit.note(
        "device_profile.uploaded",
        name,
        device=f"{profile.producer} {profile.model}",
        idle_w=profile.idle_w.value,
        replaced=before is not None,
    )
    uow.commit()
    return KnownDevice(profile, now)


def remove_device(name: str, *, uow: DeviceUnitOfWork) -> None:
    """Remove one of the tenant's own.

    Raises
    ------
    NotFound : it has none of that name; those of the package stay.
    """
    if not uow.device_profiles.remove(name):
        raise NotFound(f"no profile {name!r} of yours; those that come with the service stay")
    uow.audit.note("device_profile.removed", name)
    uow.commit()


def radio_for(radio: str, device: str | None, shipped: Catalogue, *, uow: DeviceUnitOfWork) -> RadioProfile:
    """The radio as the device has it, or of the package where no device is named.

    Raises
    ------
    NotFound : no such device, or it has no such radio.
    """
    if device is None:
        return shipped.radio(radio)
    return device_named(device, shipped, uow=uow).profile.radio(radio)


def _known(stored: StoredProfile, radios: Mapping[str, RadioProfile]) -> KnownDevice:
    return KnownDevice(stored.content.to_profile(stored.name, radios), stored.uploaded_at)
