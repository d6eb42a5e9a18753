"""Personal database accounts for psql and notebooks: shown once, and removed with the user or the role."""

import secrets
from dataclasses import dataclass
from datetime import datetime

from services.application.access.sign_in import LONGEST_SESSION, Visitor
from services.application.access.users import READING_ROLES, remove_database_account
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from services.application.warehouse.query import PASSWORD_BYTES, StoredLogin
from tradewind.errors import Conflict, NotFound, NotPermitted

MAX_LOGINS = 19
"""Personal accounts of a tenant. With its account for dashboards they are twenty, so that each has a connection: the
accounts of a tenant share twenty (migrations: ``share_reader_connections``)."""


@dataclass(frozen=True, slots=True)
class PersonalLogin:
    """A personal account as it is listed, without its password."""

    name: str
    created_at: datetime
    valid_until: datetime | None


def create_personal_login(visitor: Visitor, *, uow: UnitOfWork, clock: Clock) -> StoredLogin:
    """Create the visitor's database account with a password that is stored nowhere; it replaces an earlier one.

    For a user who signs in at the OpenID provider only, it lasts as long as a session from the last sign-in on: the
    provider does not report a removed user.

    Raises
    ------
    NotPermitted : the user has no role that reads the warehouse.
    Conflict : the tenant has the maximum number of accounts.
    """
    visitor.require(*READING_ROLES)
    uow.users.lock_all()  # a concurrent removal of the role then sees the account, or is seen here
    user = uow.users.get(visitor.user.id)
    if user.disabled_at is not None or user.roles.isdisjoint(READING_ROLES):
        raise NotPermitted(f"this needs the role {' or '.join(READING_ROLES)}")
    replaced = uow.warehouse_logins.close_personal(user.id)
    if uow.warehouse_logins.count_personal() >= MAX_LOGINS:
        raise Conflict(
            f"your organisation has {MAX_LOGINS} database logins, as many as it may have: "
            "revoke one that is no longer needed first"
        )
    now, until = clock.now(), None
    if user.signs_in_elsewhere:
        until = (user.last_sign_in_at or now) + LONGEST_SESSION
    login = uow.warehouse_logins.open_personal(user.id, secrets.token_urlsafe(PASSWORD_BYTES), at=now, until=until)
    uow.audit.note(f"warehouse_login.{'replaced' if replaced else 'created'}", login.name, of=user.login)
    uow.commit()
    return login


def revoke_personal_login(visitor: Visitor, *, uow: UnitOfWork) -> None:
    """Remove the visitor's database account and end its sessions.

    Raises
    ------
    NotFound : there is none.
    """
    if not remove_database_account(visitor.user, uow=uow):
        raise NotFound("you have no login to the database")
    uow.commit()
