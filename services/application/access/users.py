"""People who use the pages: what they may do, and who manages them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from services.application.access.authenticate import Scope
from services.application.access.passwords import Passwords, initial_password
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, InvalidValue

ROLES = (Scope.PROVIDER, Scope.ANALYST, Scope.OPERATOR)
"""What people may be; what each may do is what a key of that scope may."""

READING_ROLES = (Scope.ANALYST, Scope.OPERATOR)
"""Who may read the warehouse, and have a login to the database for it."""

MAX_LOGIN_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person of a tenant; ``password_hash`` is absent for those who sign in elsewhere."""

    id: UUID
    login: str
    roles: frozenset[str]
    must_change_password: bool
    password_hash: str | None
    failed_sign_ins: int
    locked_until: datetime | None
    created_at: datetime
    last_sign_in_at: datetime | None
    disabled_at: datetime | None

    @property
    def signs_in_elsewhere(self) -> bool:
        """At the OpenID provider alone: no password opens this account."""
        return self.password_hash is None


def add_user(
    login: str, roles: Collection[str], *, passwords: Passwords, uow: UnitOfWork, clock: Clock
) -> tuple[User, str]:
    """A new person, and the password of the first sign-in, which is kept nowhere.

    Raises
    ------
    InvalidValue : no login, or a role that does not exist.
    Conflict : somebody has this login.
    """
    password = initial_password()
    user = uow.users.add(_login(login), passwords.hashed(password), _roles(roles), at=clock.now())
    uow.audit.note("user.created", user.login, roles=sorted(user.roles))
    uow.commit()
    return user, password


def invite_user(login: str, roles: Collection[str], *, uow: UnitOfWork, clock: Clock) -> User:
    """A new person without a password: whoever the OpenID provider calls so is the one, from the first sign-in on.

    Raises
    ------
    InvalidValue : no login, or a role that does not exist.
    Conflict : somebody has this login.
    """
    user = uow.users.add(_login(login), None, _roles(roles), at=clock.now())
    uow.audit.note("user.created", user.login, roles=sorted(user.roles), signs_in="at the provider")
    uow.commit()
    return user


def remove_password(user_id: UUID, *, uow: UnitOfWork) -> None:
    """Leave a person's sign-in to the OpenID provider, and sign them out everywhere, the database included."""
    uow.users.lock_all()  # who makes a login to the database meanwhile is waited for
    uow.users.set_password(user_id, None, must_change=False)
    user = uow.users.get(user_id)
    uow.audit.note("user.password_removed", user.login)
    shut_out(user, uow=uow)
    uow.commit()


def withdraw_login(user: User, *, uow: UnitOfWork) -> bool:
    """Take a person's login to the database away, with its sessions; whether there was one. The caller commits."""
    if not uow.warehouse_logins.close_personal(user.id):
        return False
    uow.audit.note("warehouse_login.revoked", user.login)
    return True


def shut_out(user: User, *, uow: UnitOfWork) -> None:
    """End a person's sessions and take their login to the database away. The caller commits."""
    uow.user_sessions.end_all(user.id)
    withdraw_login(user, uow=uow)


def change_roles(user_id: UUID, roles: Collection[str], *, uow: UnitOfWork) -> None:
    """Let a person do other things from now on.

    Raises
    ------
    Conflict : nobody would be left who manages people.
    """
    set_roles(user_id, _roles(roles), uow=uow)
    uow.commit()


def set_roles(user_id: UUID, wanted: Sequence[str], *, uow: UnitOfWork, **told: str) -> None:
    """Give a person these roles and no other, and take what only the others allowed. The caller commits.

    Parameters
    ----------
    told : what the log of changes tells beside the roles.

    Raises
    ------
    Conflict : nobody would be left who manages people.
    """
    uow.users.lock_all()  # two operators must not take each other's roles at once
    user = uow.users.get(user_id)
    uow.users.set_roles(user_id, wanted)
    if Scope.OPERATOR in user.roles:
        _check_operators(uow)
    uow.audit.note("user.roles_changed", user.login, before=sorted(user.roles), after=wanted, **told)
    if not set(wanted) & set(READING_ROLES):
        withdraw_login(user, uow=uow)


def disable_user(user_id: UUID, *, uow: UnitOfWork, clock: Clock) -> None:
    """Let a person in no longer; whoever is signed in is signed out.

    Raises
    ------
    Conflict : nobody would be left who manages people.
    """
    uow.users.lock_all()
    uow.users.set_disabled(user_id, clock.now())
    _check_operators(uow)
    user = uow.users.get(user_id)
    uow.audit.note("user.disabled", user.login)
    shut_out(user, uow=uow)
    uow.commit()


def enable_user(user_id: UUID, *, uow: UnitOfWork) -> None:
    """Let a person in again."""
    uow.users.set_disabled(user_id, None)
    uow.audit.note("user.enabled", uow.users.get(user_id).login)
    uow.commit()


def unlock_user(user_id: UUID, *, passwords: Passwords, uow: UnitOfWork) -> str:
    """As `reset_password`, also where the person is disabled."""
    user = uow.users.get(user_id)
    if user.disabled_at is not None:
        uow.users.set_disabled(user_id, None)
        uow.audit.note("user.enabled", user.login)
    return reset_password(user_id, passwords=passwords, uow=uow)


def reset_password(user_id: UUID, *, passwords: Passwords, uow: UnitOfWork) -> str:
    """Give a person a new password for one sign-in, and sign them out everywhere, the database included."""
    password = initial_password()
    hashed = passwords.hashed(password)
    uow.users.lock_all()  # who makes a login to the database meanwhile is waited for
    uow.users.set_password(user_id, hashed, must_change=True)
    user = uow.users.get(user_id)
    uow.audit.note("user.password_reset", user.login)
    shut_out(user, uow=uow)
    uow.commit()
    return password


def _check_operators(uow: UnitOfWork) -> None:
    if not any(Scope.OPERATOR in user.roles and user.disabled_at is None for user in uow.users.all()):
        raise Conflict("at least one person must stay an operator, for nobody else can manage people")


def _login(login: str) -> str:
    stripped = login.strip()
    if not stripped or len(stripped) > MAX_LOGIN_LENGTH or not stripped.isprintable():
        raise InvalidValue("login", f"must have 1 to {MAX_LOGIN_LENGTH} printable characters")
    return stripped


def _roles(roles: Collection[str]) -> list[str]:
    unknown = sorted(set(roles) - set(ROLES))
    if unknown:
        raise InvalidValue("roles", f"{unknown[0]!r} is none of {', '.join(ROLES)}")
    if not roles:
        raise InvalidValue("roles", "must be at least one")
    return sorted(set(roles))
