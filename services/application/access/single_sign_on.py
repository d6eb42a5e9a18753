"""People who sign in at an OpenID provider: who they are here, and what they may do.

A person is known by issuer and subject, which never change and are nobody else's. The first sign-in makes the person,
or takes over an account that an operator has made for it without a password; an account with one is never taken over,
because at many providers people choose their names themselves. Roles are those of the provider, read at each sign-in;
whom it no longer lets in has no session left here, and no login to the database.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from services.application.access.authenticate import hash_secret
from services.application.access.sign_in import LONGEST_SESSION, SESSION_BYTES, FoundUser
from services.application.access.users import MAX_LOGIN_LENGTH, User, set_roles, shut_out
from services.application.shared.audit import SERVICE, Actor
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, Unauthenticated

ANY_VALUE = "*"
"""Matches any value of the roles claim, or none."""

EMAIL, EMAIL_VERIFIED = "email", "email_verified"
"""Claims of OpenID Connect Core 1.0, section 5.1; providers that own their addresses omit the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """The OpenID provider and this service's client there; ``name`` is shown on the button."""

    issuer: str
    client_id: str
    client_secret: str | None
    scope: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOnRules:
    """How an identity at the provider maps to a user.

    ``tenant`` : its name, unless ``tenant_claim`` names the claim that has it. ``roles`` : by the value of
    ``roles_claim``. ``creates_users`` : whether an unknown identity gets a new user.
    """

    tenant: str
    tenant_claim: str | None
    login_claim: str
    roles_claim: str
    roles: Mapping[str, str]
    creates_users: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """An identity at a provider, with all its claims."""

    issuer: str
    subject: str
    claims: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SingleSignOn:
    """Signs users in whom the provider has authenticated.

    Parameters
    ----------
    find_tenant, find_user, find_identity : find by name, by login, by issuer and subject, over all tenants.
    """

    rules: SignOnRules
    find_tenant: Callable[[str], UUID | None]
    find_user: Callable[[str], FoundUser | None]
    find_identity: Callable[[str, str], FoundUser | None]
    open_: Callable[[UUID, Actor], AbstractContextManager[UnitOfWork]]
    clock: Clock

    def sign_in(self, identity: Identity) -> str:
        """Start a session for an identity; return its secret.

        Raises
        ------
        Unauthenticated : the user may not sign in, with the reason for them. A known user loses all sessions.
        """
        found = self.find_identity(identity.issuer, identity.subject)
        try:
            return self._start_session(identity, found)
        except Unauthenticated as refused:
            if found is not None:
                self._shut_out(found, str(refused))
            raise

    def _start_session(self, identity: Identity, found: FoundUser | None) -> str:
        tenant_id, roles = self._find_tenant_id(identity), self._map_roles(identity)
        if found is not None and found.tenant_id != tenant_id:
            raise Unauthenticated("your account here is of another tenant; ask an operator")
        now, secret = self.clock.now(), secrets.token_urlsafe(SESSION_BYTES)
        with self.open_(tenant_id, SERVICE) as uow:
            uow.users.lock_all()
            user = uow.users.get(found.id) if found is not None else self._link_user(identity, roles, uow, tenant_id)
            if user.disabled_at is not None:
                raise Unauthenticated("your account here is disabled; ask an operator")
            if user.roles != frozenset(roles):
                self._update_roles(user, roles, uow)
            until = now + LONGEST_SESSION
            uow.users.note_sign_in(user.id, now)
            uow.user_sessions.begin(hash_secret(secret), user.id, at=now, expires_at=until)
            if user.signs_in_elsewhere:
                uow.warehouse_logins.extend_personal(user.id, until=until)
            uow.audit.note("user.signed_in", user.login, by="oidc", issuer=identity.issuer, identity=identity.subject)
            uow.commit()
        return secret

    def _update_roles(self, user: User, roles: Sequence[str], uow: UnitOfWork) -> None:
        try:
            set_roles(user.id, roles, uow=uow, by="oidc")
        except Conflict as last:
            raise Unauthenticated(
                "your groups no longer make you an operator, and you are the last one here; "
                "first let somebody sign in whose groups do"
            ) from last

    def _shut_out(self, found: FoundUser, reason: str) -> None:
        """End the sessions of earlier sign-ins now, rather than when they expire."""
        with self.open_(found.tenant_id, SERVICE) as uow:
            uow.users.lock_all()
            user = uow.users.get(found.id)
            uow.audit.note("user.refused", user.login, by="oidc", reason=reason)
            shut_out(user, uow=uow)
            uow.commit()

    def _link_user(self, identity: Identity, roles: Sequence[str], uow: UnitOfWork, tenant_id: UUID) -> User:
        """Return the user for a new identity, and link both."""
        try:
            user = self._find_or_create_user(self._read_login(identity), roles, uow, tenant_id)
            uow.users.link(user.id, identity.issuer, identity.subject)
        except Conflict as taken:
            raise Unauthenticated(f"{taken}; ask an operator") from taken
        return user

    def _find_or_create_user(self, login: str, roles: Sequence[str], uow: UnitOfWork, tenant_id: UUID) -> User:
        """Return the user of a first sign-in: an invited one, or a new one."""
        here = self.find_user(login)
        if here is not None:
            user = uow.users.get(here.id) if here.tenant_id == tenant_id else None
            if user is None or user.password_hash is not None:
                raise Unauthenticated(f"the login {login} is that of somebody who has a password; ask an operator")
            return user
        if not self.rules.creates_users:
            raise Unauthenticated(f"nobody is known here as {login}; ask an operator for an account")
        user = uow.users.add(login, None, roles, at=self.clock.now())
        uow.audit.note("user.created", login, roles=roles, by="oidc")
        return user

    def _find_tenant_id(self, identity: Identity) -> UUID:
        name = self.rules.tenant
        if self.rules.tenant_claim is not None:
            name = _read_text(identity, self.rules.tenant_claim, "which tenant you are of")
        tenant_id = self.find_tenant(name)
        if tenant_id is None:
            raise Unauthenticated(f"there is no tenant {name!r} here; ask an operator")
        return tenant_id

    def _read_login(self, identity: Identity) -> str:
        login = _read_text(identity, self.rules.login_claim, "who you are")
        if self.rules.login_claim == EMAIL and identity.claims.get(EMAIL_VERIFIED, True) not in (True, "true"):
            raise Unauthenticated(
                f"the provider has not verified that {login} is yours; confirm the address there first"
            )
        return login

    def _map_roles(self, identity: Identity) -> list[str]:
        claimed = identity.claims.get(self.rules.roles_claim)
        values = claimed if isinstance(claimed, list) else [] if claimed is None else [claimed]
        matched = {str(value) for value in values} | {ANY_VALUE}
        roles = sorted({role for value, role in self.rules.roles.items() if value in matched})
        if not roles:
            raise Unauthenticated("you have no role here; ask an operator which group gives you one")
        return roles


def _read_text(identity: Identity, claim: str, meaning: str) -> str:
    value = identity.claims.get(claim)
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_LOGIN_LENGTH or not value.isprintable():
        raise Unauthenticated(f"the provider does not say {meaning}: its claim {claim!r} is missing or no name")
    return value.strip()
