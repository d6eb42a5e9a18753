"""Sign in and out: sessions are stored on the server; repeated failures lock a network for a while."""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from services.application.access.authenticate import Principal, Scope, hash_secret
from services.application.access.passwords import Attempt, Passwords
from services.application.access.sign_in_networks import (
    FAILURES_BEFORE_LOCK,
    FAILURES_BEFORE_LOCK_EVERYWHERE,
    IN_A_SESSION,
    NOWHERE,
    Standing,
    compute_lock_end,
)
from services.application.access.users import User
from services.application.shared.audit import SERVICE, Actor, ActorKind
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue, NotPermitted, Unauthenticated

SESSION_BYTES = 32
LONGEST_SESSION = timedelta(days=7)
LONGEST_IDLE = timedelta(hours=12)

REFUSED = "the login or the password is wrong, or the account is locked for a while after failed sign-ins"
"""One message for all reasons, so that it does not reveal which accounts exist."""

LOCKED = "is not checked for a while after failed attempts; try again later"


@dataclass(frozen=True, slots=True)
class FoundUser:
    """The id and tenant of a user, found by login."""

    id: UUID
    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class Visitor:
    """A signed-in user."""

    tenant_id: UUID
    user: User

    @property
    def actor(self) -> Actor:
        return Actor(ActorKind.USER, self.user.id)

    @property
    def principal(self) -> Principal:
        """The user in place of a key, for limits of calls."""
        return Principal(self.tenant_id, self.user.id, self.user.roles)

    def may(self, *scopes: Scope) -> bool:
        return not self.user.roles.isdisjoint(scopes)

    def require(self, *scopes: Scope) -> None:
        """Raise ``NotPermitted`` unless the user has one of these roles."""
        if not self.may(*scopes):
            raise NotPermitted(f"this needs the role {' or '.join(scopes)}")


Open = Callable[[UUID, Actor], AbstractContextManager[UnitOfWork]]
"""Opens a transaction of a tenant, for an actor."""


@dataclass(frozen=True, slots=True)
class SignIns:
    """Signs users in, and finds the user of a session.

    Parameters
    ----------
    find_user, find_session : return the user of a login, and the tenant of a session's hash.
    """

    find_user: Callable[[str], FoundUser | None]
    find_session: Callable[[bytes], UUID | None]
    open_: Open
    clock: Clock
    passwords: Passwords

    def sign_in(self, login: str, password: str, *, network: str = NOWHERE) -> str:
        """Start a session; return its secret.

        Parameters
        ----------
        network : of the client; failures count for it, and over all networks.

        Raises
        ------
        Unauthenticated : with one message for every reason.
        Unavailable : too many users sign in at this moment.
        TooManyAttempts : many passwords from this network were wrong, and this user never signed in from there.
        """
        found = self.find_user(login.strip())
        user, standing = (None, Standing()) if found is None else self._load_user(found, network)
        now = self.clock.now()
        known = user.password_hash if user is not None else None
        is_locked = user is not None and standing.is_locked(now, everywhere_until=user.locked_until)
        attempt = Attempt(network, login.strip(), is_known=standing.is_known(now) and not is_locked)
        is_right = self.passwords.matches(password, known, attempt)
        if found is None or user is None:
            raise Unauthenticated(REFUSED)
        if user.disabled_at is not None or is_locked:
            raise Unauthenticated(REFUSED)
        if not is_right:
            self._note_failure(found, user, network, now)
            raise Unauthenticated(REFUSED)
        return self._start_session(found, user, network, now)

    def find_visitor(self, secret: str, *, looks_by_itself: bool = False) -> Visitor | None:
        """Return the user of a session, if it has not expired.

        Parameters
        ----------
        looks_by_itself : an open page refreshes itself, perhaps unattended: the session stays as idle as before.
        """
        digest = hash_secret(secret)
        tenant_id = self.find_session(digest)
        if tenant_id is None:
            return None
        now = self.clock.now()
        with self.open_(tenant_id, SERVICE) as uow:
            read = uow.user_sessions.find_holder if looks_by_itself else uow.user_sessions.visit
            user = read(digest, at=now, idle_since=now - LONGEST_IDLE)
            uow.commit()
        return None if user is None else Visitor(tenant_id, user)

    def sign_out(self, visitor: Visitor, secret: str) -> None:
        """End this session."""
        with self.open_(visitor.tenant_id, visitor.actor) as uow:
            uow.user_sessions.end(hash_secret(secret))
            uow.audit.note("user.signed_out", visitor.user.login)
            uow.commit()

    def change_password(self, visitor: Visitor, secret: str, *, old: str, new: str) -> None:
        """Change the visitor's password and end every other session; a wrong old one counts as a failed sign-in.

        Raises
        ------
        InvalidValue : the old one is wrong or locked after too many failures, or the new one is not acceptable.
        """
        user, now = visitor.user, self.clock.now()
        if user.signs_in_elsewhere:
            raise InvalidValue("old", "is none: you sign in at the provider")
        found = FoundUser(user.id, visitor.tenant_id)
        if _is_locked_in_session(self._load_user(found, IN_A_SESSION)[1], now):
            raise InvalidValue("old", LOCKED)
        if not self.passwords.matches(old, user.password_hash, Attempt(IN_A_SESSION, user.login, is_known=True)):
            self._note_failure(found, user, IN_A_SESSION, now)
            raise InvalidValue("old", "is not your password")
        if old == new:
            raise InvalidValue("password", "must be another one than before")
        new_hash = self.passwords.hash(new, own_words=self._list_own_words(found, user))
        with self.open_(visitor.tenant_id, visitor.actor) as uow:
            standing = uow.sign_in_networks.find_standing(user.id, IN_A_SESSION)
            if not _is_unchanged(user, uow.users.get(user.id)) or _is_locked_in_session(standing, now):
                raise InvalidValue("old", LOCKED)
            uow.users.set_password(visitor.user.id, new_hash, must_change=False)
            uow.user_sessions.end_all(visitor.user.id, but=hash_secret(secret))
            uow.audit.note("user.password_changed", visitor.user.login)
            uow.commit()

    def _list_own_words(self, found: FoundUser, user: User) -> tuple[str, ...]:
        """Return the words that a guesser knows of a user."""
        with self.open_(found.tenant_id, SERVICE) as uow:
            return user.login, uow.tenants.get_name()

    def _load_user(self, found: FoundUser, network: str) -> tuple[User, Standing]:
        with self.open_(found.tenant_id, SERVICE) as uow:
            return uow.users.get(found.id), uow.sign_in_networks.find_standing(found.id, network)

    def _note_failure(self, found: FoundUser, user: User, network: str, now: datetime) -> None:
        with self.open_(found.tenant_id, SERVICE) as uow:
            everywhere = uow.users.note_failure(user.id)
            here = uow.sign_in_networks.note_failure(user.id, network)
            if (until := compute_lock_end(here, most=FAILURES_BEFORE_LOCK, now=now)) is not None:
                uow.sign_in_networks.lock(user.id, network, until)
                uow.audit.note("user.locked", user.login, network=network, failures=here, until=until.isoformat())
            if (until := compute_lock_end(everywhere, most=FAILURES_BEFORE_LOCK_EVERYWHERE, now=now)) is not None:
                uow.users.lock(user.id, until)
                details = {"network": "any new one", "failures": everywhere, "until": until.isoformat()}
                uow.audit.note("user.locked", user.login, **details)
            uow.commit()

    def _start_session(self, found: FoundUser, user: User, network: str, now: datetime) -> str:
        secret = secrets.token_urlsafe(SESSION_BYTES)
        with self.open_(found.tenant_id, Visitor(found.tenant_id, user).actor) as uow:
            since = uow.users.get(user.id)
            standing = uow.sign_in_networks.find_standing(user.id, network)
            if not _is_unchanged(user, since) or standing.is_locked(now, everywhere_until=since.locked_until):
                raise Unauthenticated(REFUSED)
            uow.users.note_sign_in(user.id, now)
            uow.sign_in_networks.note_sign_in(user.id, network, now)
            uow.user_sessions.begin(hash_secret(secret), user.id, at=now, expires_at=now + LONGEST_SESSION)
            uow.audit.note("user.signed_in", user.login)
            uow.commit()
        return secret


def _is_locked_in_session(standing: Standing, now: datetime) -> bool:
    """Return whether the session's own failures lock it; failures of unauthenticated clients do not count."""
    return standing.is_locked(now, everywhere_until=None)


def _is_unchanged(user: User, since: User) -> bool:
    """Return whether the account was neither disabled nor given another password during the check.

    Locks are checked again, too: otherwise guesses sent all at once would pass before the first of them locks.
    """
    return (user.password_hash, user.disabled_at) == (since.password_hash, since.disabled_at)


def derive_form_token(session_secret: str) -> str:
    """Return the token that every form of a session carries, so that another site cannot send one."""
    return hmac.new(session_secret.encode(), b"form", hashlib.sha256).hexdigest()


def is_form_token(token: str, session_secret: str) -> bool:
    return hmac.compare_digest(token.encode(errors="replace"), derive_form_token(session_secret).encode())
