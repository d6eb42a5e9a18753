"""``/v1/keys``: API keys of the tenant."""

from collections.abc import Sequence
from uuid import UUID

from services.api.dependencies import OperatorKey, Parts
from services.api.routing import OnceRoute, create_v1_router
from services.application.access.authenticate import make_secret
from services.application.access.keys import adjust_key, create_key, revoke_key
from tradewind.wire.inventory import CreatedKey, Key, KeyChange, NewKey

router = create_v1_router("/keys", "keys", OnceRoute)


@router.get("")
def list_keys(parts: Parts, principal: OperatorKey) -> Sequence[Key]:
    """List all keys, also revoked ones; secrets are not stored."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return uow.keys.list_all()


@router.post("", status_code=201)
def add_key(new: NewKey, parts: Parts, principal: OperatorKey) -> CreatedKey:
    """Create a key. Its secret is in this answer only."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        return create_key(new, make_secret(), uow=uow, clock=parts.clock)


@router.patch("/{key_id}")
def change_key(key_id: UUID, change: KeyChange, parts: Parts, principal: OperatorKey) -> Key:
    """Change the weight of a key's transfers where several share a cap, or how often it may call."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        key = adjust_key(key_id, change, uow=uow)
    parts.keyring.forget(key_id)
    return key


@router.delete("/{key_id}", status_code=204)
def delete_key(key_id: UUID, parts: Parts, principal: OperatorKey) -> None:
    """Revoke a key at once."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        revoke_key(key_id, uow=uow, clock=parts.clock)
    parts.keyring.forget(key_id)
