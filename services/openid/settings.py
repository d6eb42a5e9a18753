"""Settings of the OpenID provider at which users may sign in; none, unless the environment names an issuer."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from services.application.access.single_sign_on import Provider, SignOnRules
from services.application.access.users import ROLES
from tradewind.errors import InvalidValue

ISSUER = "TRADEWIND_OIDC_ISSUER"
"""URL of the OpenID provider, as it names itself. With it `…_CLIENT_ID` and `…_ROLES` must be set; without it
no other may be."""

CLIENT_ID = "TRADEWIND_OIDC_CLIENT_ID"
"""Client ID of the service at the provider."""

CLIENT_SECRET = "TRADEWIND_OIDC_CLIENT_SECRET"  # noqa: S105 -- a name
"""Client secret of the service at the provider; a public client has none."""

SCOPE = "TRADEWIND_OIDC_SCOPE"
"""Scopes to ask for; `openid profile email` if not set."""

NAME = "TRADEWIND_OIDC_NAME"
"""Words on the button of the sign-in page."""

TENANT = "TRADEWIND_OIDC_TENANT"
"""Tenant of all users; `local` if not set."""

TENANT_CLAIM = "TRADEWIND_OIDC_TENANT_CLAIM"
"""Claim that names the tenant of a user."""

LOGIN_CLAIM = "TRADEWIND_OIDC_LOGIN_CLAIM"
"""Claim that becomes the user's login; `email` if not set."""

ROLES_CLAIM = "TRADEWIND_OIDC_ROLES_CLAIM"
"""Claim that gives the roles, a text or a list; `groups` if not set."""

ROLES_OF = "TRADEWIND_OIDC_ROLES"
"""Roles by the value of that claim, such as `net-admins=operator,finance=provider,*=analyst`; `*` means everybody."""

NEW_USERS = "TRADEWIND_OIDC_NEW_USERS"
"""`create` makes an account for an unknown user at sign-in; `refuse`, the default, lets in known users only."""

LOOPBACK = ("127.0.0.1", "::1", "localhost")

Read = Callable[[str, Callable[[str], Any], Any], Any]
"""Reads a variable: parses its text, or returns the default where it is absent."""


def parse_sign_on(read: Read) -> tuple[Provider, SignOnRules] | None:
    """Return the provider and the rules by which its users become users here.

    Raises
    ------
    InvalidValue : its field is the variable's name; also for a variable that is set without an issuer.
    """
    issuer = read(ISSUER, _parse_issuer, None)
    texts = {name: read(name, str, None) for name in (CLIENT_ID, CLIENT_SECRET, SCOPE, NAME, TENANT, TENANT_CLAIM)}
    texts |= {name: read(name, str, None) for name in (LOGIN_CLAIM, ROLES_CLAIM)}
    roles, creates_users = read(ROLES_OF, _parse_roles, None), read(NEW_USERS, _parse_new_users, None)
    if issuer is None:
        given = [name for name, value in texts.items() if value is not None]
        given += [ROLES_OF] * (roles is not None) + [NEW_USERS] * (creates_users is not None)
        if given:
            raise InvalidValue(given[0], f"is of no use without {ISSUER}")
        return None
    if texts[CLIENT_ID] is None:
        raise InvalidValue(CLIENT_ID, f"must be set where {ISSUER} is")
    if roles is None:
        raise InvalidValue(ROLES_OF, f"must be set where {ISSUER} is, such as admins=operator,*=analyst")
    provider = Provider(
        issuer=issuer,
        client_id=texts[CLIENT_ID],
        client_secret=texts[CLIENT_SECRET],
        scope=texts[SCOPE] or "openid profile email",
        name=texts[NAME] or "Sign in with single sign-on",
    )
    if "openid" not in provider.scope.split():
        raise InvalidValue(SCOPE, "must have openid among its words")
    rules = SignOnRules(
        tenant=texts[TENANT] or "local",
        tenant_claim=texts[TENANT_CLAIM],
        login_claim=texts[LOGIN_CLAIM] or "email",
        roles_claim=texts[ROLES_CLAIM] or "groups",
        roles=roles,
        creates_users=bool(creates_users),
    )
    return provider, rules


def _parse_issuer(text: str) -> str:
    parts = urlsplit(text)
    if not parts.hostname or parts.query or parts.fragment or parts.username is not None:
        raise ValueError("must be the provider's URL, as it names itself")
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ValueError("must be a URL beginning with https:")
    return text


def _parse_roles(text: str) -> Mapping[str, str]:
    """Parse ``value=role`` pairs, separated by commas; a value may hold anything but a comma, the last = separates the
    role.
    """
    roles: dict[str, str] = {}
    for pair in text.split(","):
        value, equals, role = pair.rpartition("=")
        if not equals or not value.strip() or role.strip() not in ROLES:
            raise ValueError(
                f"must be pairs of claim value and role by commas, such as admins=operator; roles: {', '.join(ROLES)}"
            )
        roles[value.strip()] = role.strip()
    return roles


def _parse_new_users(text: str) -> bool:
    if text not in ("create", "refuse"):
        raise ValueError("must be create or refuse")
    return text == "create"
