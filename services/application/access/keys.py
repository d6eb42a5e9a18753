"""Give out and take back API keys; set up a tenant with its first."""

from uuid import UUID

from services.application.access.authenticate import NewSecret, Scope
from services.application.access.users import READING_ROLES
from services.application.shared.jobs import KeyChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from services.application.warehouse.query import LoginKind
from tradewind.errors import InvalidValue
from tradewind.wire.inventory import CreatedKey, Key, KeyChange, NewKey


def create_key(new: NewKey, secret: NewSecret, *, uow: UnitOfWork, clock: Clock) -> CreatedKey:
    """A new key; its secret is in the answer and nowhere else.

    Raises
    ------
    InvalidValue : a scope that does not exist.
    """
    unknown = sorted(set(new.scopes) - set(Scope))
    if unknown:
        raise InvalidValue("scopes", f"{unknown[0]!r} is none of {', '.join(Scope)}")
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


def adjust_key(key_id: UUID, change: KeyChange, *, uow: UnitOfWork) -> Key:
    """Change what the key's transfers weigh where several share a cap, or how often it may call.

    Live transfers follow at their next heartbeat, every process within seconds.

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
    """Revoke a key; every process forgets it once that is durable.

    With a key that could ask for the tenant's login to the database that login goes, and its sessions end: whoever else
    uses it asks for the new one.

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
    """A new tenant, whose id is that of the unit of work, with its first key."""
    uow.tenants.add(name)
    return create_key(first_key, secret, uow=uow, clock=clock)
