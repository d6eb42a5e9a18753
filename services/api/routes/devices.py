"""``/v1/devices``: device and radio profiles, those of the package and the tenant's own."""

from typing import Annotated

from fastapi import Path

from services.api.dependencies import AgentKey, AnyKey, Parts
from services.api.routing import create_v1_router
from services.application.advice.devices import KnownDevice, find_device, list_known_devices, put_device, remove_device
from services.application.transfers.owners import own_keys
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.wire.base import ProfileName
from tradewind.wire.devices import DeviceCatalogue, NewDeviceProfile, WireDeviceProfile, WireRadioProfile

router = create_v1_router("/devices", "devices")

DeviceName = Annotated[ProfileName, Path()]


@router.get("")
def list_devices(parts: Parts, principal: AnyKey) -> DeviceCatalogue:
    """List all profiles that may be used, the tenant's own first; every value has its source.

    A customer's key sees its own profiles and those of the provider, not other customers'.
    """
    shipped = load_shipped_catalogue()
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        devices = list_known_devices(shipped, uow=uow, keys=own_keys(principal, uow.owners))
    return DeviceCatalogue(
        devices=tuple(_to_wire(each) for each in devices),
        radios=tuple(WireRadioProfile.from_domain(radio) for radio in shipped.radios.values()),
    )


@router.get("/{name}")
def read_device(name: DeviceName, parts: Parts, principal: AnyKey) -> WireDeviceProfile:
    """Return one profile."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        return _to_wire(find_device(name, load_shipped_catalogue(), uow=uow, keys=own_keys(principal, uow.owners)))


@router.put("/{name}")
def upload_device(name: DeviceName, profile: NewDeviceProfile, parts: Parts, principal: AgentKey) -> WireDeviceProfile:
    """Store or replace a profile of the tenant; it takes precedence over the service's of the same name.

    A customer's profile is for its own key; one of another key is for all of the tenant. 409 where another key has the
    name.
    """
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        stored = put_device(
            name,
            profile,
            load_shipped_catalogue(),
            uow=uow,
            clock=parts.clock,
            key_id=principal.key_id if principal.is_customer else None,
            keys=own_keys(principal, uow.owners),
        )
        return _to_wire(stored)


@router.delete("/{name}", status_code=204)
def delete_device(name: DeviceName, parts: Parts, principal: AgentKey) -> None:
    """Remove a profile of the tenant."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        remove_device(name, uow=uow, keys=own_keys(principal, uow.owners))


def _to_wire(known: KnownDevice) -> WireDeviceProfile:
    return WireDeviceProfile.from_domain(
        known.profile, own=known.uploaded_at is not None, uploaded_at=known.uploaded_at
    )
