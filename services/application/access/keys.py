"""Create, change and revoke API keys; register a tenant with its first key."""

from collections.abc import Sequence
from uuid import UUID

from services.application.access.authenticate import NewSecret, Scope
from services.application.access.users import READING_ROLES
from services.application.shared.jobs import KeyChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from services.application.warehouse.query import LoginKind
from tradewind.errors import InvalidValue
from tradewind.names import require_free_name
from tradewind.wire.inventory import CreatedKey, Key, KeyChange, NewKey


def create_key(new: NewKey, secret: NewSecret, *, uow: UnitOfWork, clock: Clock) -> CreatedKey:
    """Create a key; its secret is in the answer and stored nowhere.

    Raises
    ------
    InvalidValue : a scope does not exist.
    NameTaken : a key in use has this name. A revoked one may be replaced by one of its name.
    """
    unknown = sorted(set(new.scopes) - set(Scope))
    if unknown:
        raise InvalidValue("scopes", f"{unknown[0]!r} is none of {', '.join(Scope)}")
    uow.keys.lock_names()
    require_free_name(new.name, list_used_names(uow), kind="a key in use that is called")
    key = uow.keys.add(
        name=new.name,
        prefix=secret.prefix,
        secret_sha256=secret.sha256,
        scopes=sorted(set(new.scopes)),
        weight=new.weight,
        rate_factor=new.rate_factor,
        at=clock.now(),
    )
    uow.audit.note(
        "key.created",
        key.name,
        id=str(key.id),
        prefix=key.prefix,
        scopes=list(key.scopes),
        weight=key.weight,
        rate_factor=key.rate_factor,
    )
    uow.commit()
    return CreatedKey(**dict(key), secret=secret.secret)


def list_used_names(uow: UnitOfWork) -> Sequence[str]:
    """Return the names of keys that are not revoked."""
    return [key.name for key in uow.keys.list_all() if key.revoked_at is None]


def adjust_key(key_id: UUID, change: KeyChange, *, uow: UnitOfWork) -> Key:
    """Change the weight of a key's transfers, or how often it may call.

    Live transfers use the new weight from their next heartbeat on, and every process within seconds.

    Raises
    ------
    NotFound : the tenant has no such key.
    """
    values = change.model_dump(exclude_none=True)
    key = uow.keys.change(key_id, **values)
    uow.audit.note("key.changed", key.name, id=str(key.id), **values)
    uow.publish(KeyChanged(uow.tenant_id, key_id))
    uow.commit()
    return key


def revoke_key(key_id: UUID, *, uow: UnitOfWork, clock: Clock) -> None:
    """Revoke a key; every process drops it after the commit.

    If the key could read the tenant's database account, the account is removed and its sessions end; other users of it
    request a new one.

    Raises
    ------
    NotFound : the tenant has no such key.
    """
    key = uow.keys.revoke(key_id, clock.now())
    uow.audit.note("key.revoked", key.name, id=str(key.id), prefix=key.prefix)
    if set(key.scopes) & set(READING_ROLES) and uow.warehouse_logins.close(LoginKind.READER):
        uow.audit.note("warehouse_login.revoked", LoginKind.READER.value)
    uow.publish(KeyChanged(uow.tenant_id, key_id))
    uow.commit()


def register_tenant(name: str, first_key: NewKey, secret: NewSecret, *, uow: UnitOfWork, clock: Clock) -> CreatedKey:
    """Register a tenant, whose id is that of the unit of work, and create its first key."""
    uow.tenants.add(name)
    return create_key(first_key, secret, uow=uow, clock=clock)
