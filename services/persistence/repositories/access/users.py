"""Users of a tenant and their sessions."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from services.application.access.users import User
from services.persistence.tables import sign_in_networks, user_identities, user_sessions, users
from tradewind.errors import Conflict, NameTaken, NotFound

SEEN_EVERY = timedelta(minutes=1)
"""Shortest time between two updates of a session's last visit."""


class Users:
    """Users of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection, self._tenant_id = connection, tenant_id

    def add(self, login: str, password_hash: str | None, roles: Sequence[str], *, at: datetime) -> User:
        """Add a user, who must change the password first.

        Raises
        ------
        NameTaken : a user of any tenant has this login.
        """
        row = self._connection.execute(
            insert(users)
            .values(
                tenant_id=self._tenant_id,
                login=login,
                password_hash=password_hash,
                must_change_password=password_hash is not None,
                roles=list(roles),
                created_at=at,
            )
            .on_conflict_do_nothing()
            .returning(users)
        ).one_or_none()
        if row is None:
            raise NameTaken("login", f"is taken: there is a user {login!r}")
        return _build_user(row)

    def get(self, user_id: UUID) -> User:
        """Return the user.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        row = self._connection.execute(select(users).where(users.c.id == user_id)).one_or_none()
        if row is None:
            raise NotFound("no such user")
        return _build_user(row)

    def list_all(self) -> Sequence[User]:
        """Return all users, by login."""
        return [_build_user(row) for row in self._connection.execute(select(users).order_by(users.c.login))]

    def lock_all(self) -> None:
        """Keep others from changing users of the tenant until this transaction ends."""
        self._connection.execute(select(users.c.id).order_by(users.c.id).with_for_update())

    def link(self, user_id: UUID, issuer: str, subject: str) -> None:
        """Connect the user with an identity at a provider.

        Raises
        ------
        Conflict : the user has another identity, or another user has this one.
        """
        values = {"user_id": user_id, "tenant_id": self._tenant_id, "issuer": issuer, "subject": subject}
        linked = self._connection.execute(insert(user_identities).values(**values).on_conflict_do_nothing()).rowcount
        if not linked:
            raise Conflict("your account here is of somebody else at the provider")

    def set_roles(self, user_id: UUID, roles: Sequence[str]) -> None:
        self._change(user_id, roles=list(roles))

    def set_password(self, user_id: UUID, password_hash: str | None, *, must_change: bool) -> None:
        """Give a user another password, or none, and reset the failures counted against the old one."""
        self._change(
            user_id,
            password_hash=password_hash,
            must_change_password=must_change,
            failed_sign_ins=0,
            locked_until=None,
        )
        self._connection.execute(
            update(sign_in_networks).where(sign_in_networks.c.user_id == user_id).values(failures=0, locked_until=None)
        )

    def set_disabled(self, user_id: UUID, at: datetime | None) -> None:
        self._change(user_id, disabled_at=at)

    def delete(self, user_id: UUID) -> None:
        """Remove a user, with all that belongs to the account."""
        self._connection.execute(delete(users).where(users.c.id == user_id))

    def note_failure(self, user_id: UUID) -> int:
        """Count a failed sign-in; return how many failed in a row."""
        return int(self._change(user_id, failed_sign_ins=users.c.failed_sign_ins + 1).failed_sign_ins)

    def lock(self, user_id: UUID, until: datetime) -> None:
        self._change(user_id, locked_until=until)

    def note_sign_in(self, user_id: UUID, at: datetime) -> None:
        self._change(user_id, failed_sign_ins=0, locked_until=None, last_sign_in_at=at)

    def _change(self, user_id: UUID, **values: Any) -> Row[Any]:
        row = self._connection.execute(
            update(users).where(users.c.id == user_id).values(**values).returning(users)
        ).one_or_none()
        if row is None:
            raise NotFound("no such user")
        return row


class UserSessions:
    """Sessions of one tenant's users, by the hash of their secret."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection, self._tenant_id = connection, tenant_id

    def begin(self, secret_sha256: bytes, user_id: UUID, *, at: datetime, expires_at: datetime) -> None:
        """Start a session, and remove the user's expired ones."""
        own = user_sessions.c.user_id == user_id
        self._connection.execute(delete(user_sessions).where(own, user_sessions.c.expires_at < at))
        self._connection.execute(
            insert(user_sessions).values(
                secret_sha256=secret_sha256,
                tenant_id=self._tenant_id,
                user_id=user_id,
                created_at=at,
                last_seen_at=at,
                expires_at=expires_at,
            )
        )

    def find_holder(self, secret_sha256: bytes, *, at: datetime, idle_since: datetime) -> User | None:
        """Return the user of a session that is valid, if the user may sign in."""
        session = self._find_valid_session(secret_sha256, at=at, idle_since=idle_since)
        return None if session is None else _build_user(session)

    def visit(self, secret_sha256: bytes, *, at: datetime, idle_since: datetime) -> User | None:
        """Return the user as `holder` does, and record the visit."""
        session = self._find_valid_session(secret_sha256, at=at, idle_since=idle_since)
        if session is None:
            return None
        if session.last_seen_at < at - SEEN_EVERY:
            self._connection.execute(
                update(user_sessions).where(user_sessions.c.secret_sha256 == secret_sha256).values(last_seen_at=at)
            )
        return _build_user(session)

    def _find_valid_session(self, secret_sha256: bytes, *, at: datetime, idle_since: datetime) -> Row[Any] | None:
        return self._connection.execute(
            select(user_sessions.c.last_seen_at, users)
            .join(users, users.c.id == user_sessions.c.user_id)
            .where(
                user_sessions.c.secret_sha256 == secret_sha256,
                user_sessions.c.expires_at > at,
                user_sessions.c.last_seen_at > idle_since,
                users.c.disabled_at.is_(None),
            )
        ).one_or_none()

    def end(self, secret_sha256: bytes) -> None:
        self._connection.execute(delete(user_sessions).where(user_sessions.c.secret_sha256 == secret_sha256))

    def end_all(self, user_id: UUID, *, but: bytes | None = None) -> None:
        """End every session of a user, except ``but``."""
        own = delete(user_sessions).where(user_sessions.c.user_id == user_id)
        self._connection.execute(own if but is None else own.where(user_sessions.c.secret_sha256 != but))


def _build_user(row: Row[Any]) -> User:
    return User(
        id=row.id,
        login=row.login,
        roles=frozenset(row.roles),
        must_change_password=row.must_change_password,
        password_hash=row.password_hash,
        failed_sign_ins=row.failed_sign_ins,
        locked_until=row.locked_until,
        created_at=row.created_at,
        last_sign_in_at=row.last_sign_in_at,
        disabled_at=row.disabled_at,
    )
