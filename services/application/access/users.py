"""Users of the pages: their roles, and how operators manage them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from services.application.access.authenticate import Scope
from services.application.access.passwords import Passwords, generate_initial_password
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, InvalidValue
from tradewind.names import check_name

ROLES = (Scope.PROVIDER, Scope.ANALYST, Scope.OPERATOR)
"""Roles of users; each may do what a key of that scope may."""

READING_ROLES = (Scope.ANALYST, Scope.OPERATOR)
"""Roles that may read the warehouse, and have a database account for it."""

MAX_LOGIN_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user of a tenant; ``password_hash`` is ``None`` for users who sign in at the OpenID provider."""

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
        """Whether the user signs in at the OpenID provider only, without a password."""
        return self.password_hash is None


def add_user(
    login: str, roles: Collection[str], *, passwords: Passwords, uow: UnitOfWork, clock: Clock
) -> tuple[User, str]:
    """Create a user; return it with the password of the first sign-in, which is stored nowhere.

    Raises
    ------
    InvalidValue : the login is invalid, or a role does not exist.
    NameTaken : another user has this login.
    """
    password = generate_initial_password()
    user = uow.users.add(_check_login(login), passwords.hash(password), _check_roles(roles), at=clock.now())
    uow.audit.note("user.created", user.login, roles=sorted(user.roles))
    uow.commit()
    return user, password


def invite_user(login: str, roles: Collection[str], *, uow: UnitOfWork, clock: Clock) -> User:
    """Create a user without a password, for the identity with this login at the OpenID provider.

    Raises
    ------
    InvalidValue : the login is invalid, or a role does not exist.
    NameTaken : another user has this login.
    """
    user = uow.users.add(_check_login(login), None, _check_roles(roles), at=clock.now())
    uow.audit.note("user.created", user.login, roles=sorted(user.roles), signs_in="at the provider")
    uow.commit()
    return user


def remove_password(user_id: UUID, *, uow: UnitOfWork) -> None:
    """Remove a user's password, so that only the OpenID provider signs them in, and end all their sessions."""
    uow.users.lock_all()  # wait for a database account that is being created
    uow.users.set_password(user_id, None, must_change=False)
    user = uow.users.get(user_id)
    uow.audit.note("user.password_removed", user.login)
    shut_out(user, uow=uow)
    uow.commit()


def remove_database_account(user: User, *, uow: UnitOfWork) -> bool:
    """Remove a user's database account with its sessions; return whether there was one. The caller commits."""
    if not uow.warehouse_logins.close_personal(user.id):
        return False
    uow.audit.note("warehouse_login.revoked", user.login)
    return True


def shut_out(user: User, *, uow: UnitOfWork) -> None:
    """End a user's sessions and remove their database account. The caller commits."""
    uow.user_sessions.end_all(user.id)
    remove_database_account(user, uow=uow)


def change_roles(user_id: UUID, roles: Collection[str], *, uow: UnitOfWork) -> None:
    """Change a user's roles.

    Raises
    ------
    Conflict : no operator would be left.
    """
    set_roles(user_id, _check_roles(roles), uow=uow)
    uow.commit()


def set_roles(user_id: UUID, roles: Sequence[str], *, uow: UnitOfWork, **details: str) -> None:
    """Give a user exactly these roles, and remove what only the previous ones allowed. The caller commits.

    Parameters
    ----------
    details : further fields of the audit entry.

    Raises
    ------
    Conflict : no operator would be left.
    """
    uow.users.lock_all()  # two operators must not remove each other's roles at once
    user = uow.users.get(user_id)
    uow.users.set_roles(user_id, roles)
    if Scope.OPERATOR in user.roles:
        _require_operator(uow)
    uow.audit.note("user.roles_changed", user.login, before=sorted(user.roles), after=roles, **details)
    if not set(roles) & set(READING_ROLES):
        remove_database_account(user, uow=uow)


def disable_user(user_id: UUID, *, uow: UnitOfWork, clock: Clock) -> None:
    """Disable a user and sign them out.

    Raises
    ------
    Conflict : no operator would be left.
    """
    uow.users.lock_all()
    uow.users.set_disabled(user_id, clock.now())
    _require_operator(uow)
    user = uow.users.get(user_id)
    uow.audit.note("user.disabled", user.login)
    shut_out(user, uow=uow)
    uow.commit()


def enable_user(user_id: UUID, *, uow: UnitOfWork) -> None:
    """Enable a user again."""
    uow.users.set_disabled(user_id, None)
    uow.audit.note("user.enabled", uow.users.get(user_id).login)
    uow.commit()


def delete_user(user_id: UUID, *, by: User, uow: UnitOfWork) -> User:
    """Delete a user with sessions and database account; return the user. Saved queries go to who deletes.

    The audit log keeps what the user has done.

    Raises
    ------
    Conflict : it is the own account, or no operator would be left.
    """
    uow.users.lock_all()
    user = uow.users.get(user_id)
    if user.id == by.id:
        raise Conflict("your own account cannot be deleted by yourself; another operator can")
    shut_out(user, uow=uow)
    uow.saved_queries.hand_over(user_id, to=by.id)
    uow.users.delete(user_id)
    _require_operator(uow)
    uow.audit.note("user.deleted", user.login)
    uow.commit()
    return user


def unlock_user(user_id: UUID, *, passwords: Passwords, uow: UnitOfWork) -> str:
    """Enable a user, if disabled, and reset the password as `reset_password` does."""
    user = uow.users.get(user_id)
    if user.disabled_at is not None:
        uow.users.set_disabled(user_id, None)
        uow.audit.note("user.enabled", user.login)
    return reset_password(user_id, passwords=passwords, uow=uow)


def reset_password(user_id: UUID, *, passwords: Passwords, uow: UnitOfWork) -> str:
    """Give a user a new password for one sign-in, and end all sessions, the database included."""
    password = generate_initial_password()
    password_hash = passwords.hash(password)
    uow.users.lock_all()  # wait for a database account that is being created
    uow.users.set_password(user_id, password_hash, must_change=True)
    user = uow.users.get(user_id)
    uow.audit.note("user.password_reset", user.login)
    shut_out(user, uow=uow)
    uow.commit()
    return password


def _require_operator(uow: UnitOfWork) -> None:
    if not any(Scope.OPERATOR in user.roles and user.disabled_at is None for user in uow.users.list_all()):
        raise Conflict("at least one user must stay an operator, because only operators can manage users")


def _check_login(login: str) -> str:
    return check_name(login, field="login", longest=MAX_LOGIN_LENGTH)


def _check_roles(roles: Collection[str]) -> list[str]:
    unknown = sorted(set(roles) - set(ROLES))
    if unknown:
        raise InvalidValue("roles", f"{unknown[0]!r} is none of {', '.join(ROLES)}")
    if not roles:
        raise InvalidValue("roles", "must be at least one")
    return sorted(set(roles))
