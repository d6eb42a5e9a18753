"""A person's own login to the database, for psql and notebooks: shown once, and gone with the person or the role."""

import secrets
from dataclasses import dataclass
from datetime import datetime

from services.application.access.sign_in import LONGEST_SESSION, Visitor
from services.application.access.users import READING_ROLES, withdraw_login
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from services.application.warehouse.query import PASSWORD_BYTES, StoredLogin
from tradewind.errors import Conflict, NotFound, NotPermitted

MOST_LOGINS = 19
"""Personal logins of a tenant. With its login for dashboards they are twenty, of which each still has a connection: the
logins of a tenant share twenty (migrations: ``share_reader_connections``)."""


@dataclass(frozen=True, slots=True)
class PersonalLogin:
    """What is known of it later; its password is not."""

    name: str
    created_at: datetime
    valid_until: datetime | None


def create_personal_login(visitor: Visitor, *, uow: UnitOfWork, clock: Clock) -> StoredLogin:
    """A login for oneself, with a password that is kept nowhere; the one before opens nothing any more.

    Whoever signs in at the provider alone has it as long as a session from the last sign-in on: who is taken out there
    is told of to nobody here.

    Raises
    ------
    NotPermitted : the person has no role that reads the warehouse, or not any more.
    Conflict : the tenant has as many logins as it may have.
    """
    visitor.require(*READING_ROLES)
    uow.users.lock_all()  # whoever takes the role away meanwhile finds the login, or is found
    user = uow.users.get(visitor.user.id)
    if user.disabled_at is not None or user.roles.isdisjoint(READING_ROLES):
        raise NotPermitted(f"this needs the role {' or '.join(READING_ROLES)}")
    replaced = uow.warehouse_logins.close_personal(user.id)
    if uow.warehouse_logins.count_personal() >= MOST_LOGINS:
        raise Conflict(
            f"your organisation has {MOST_LOGINS} database logins, as many as it may have: "
            "somebody who no longer needs theirs has to revoke it first"
        )
    now, until = clock.now(), None
    if user.signs_in_elsewhere:
        until = (user.last_sign_in_at or now) + LONGEST_SESSION
    login = uow.warehouse_logins.open_personal(user.id, secrets.token_urlsafe(PASSWORD_BYTES), at=now, until=until)
    uow.audit.note(f"warehouse_login.{'replaced' if replaced else 'created'}", login.name, of=user.login)
    uow.commit()
    return login


def revoke_personal_login(visitor: Visitor, *, uow: UnitOfWork) -> None:
    """Take one's own login away and end its sessions.

    Raises
    ------
    NotFound : there is none.
    """
    if not withdraw_login(visitor.user, uow=uow):
        raise NotFound("you have no login to the database")
    uow.commit()
