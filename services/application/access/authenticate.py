"""Who is calling: API keys to principals, remembered for a moment so that most calls ask no database."""

import hashlib
import hmac
import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from typing import NamedTuple, Protocol
from uuid import UUID

from services.application.shared.audit import Actor, ActorKind
from tradewind.errors import NotPermitted, Unauthenticated, Unavailable

SECRET_PREFIX = "tw_"  # noqa: S105 - a mark by which leaked keys are found, not a secret
SECRET_BYTES = 32
SHOWN_CHARACTERS = 10
"""Of a secret, in lists of keys."""

REMEMBERED_S = 5.0
AHEAD_S = 1.0
"""So long before a key is forgotten it is looked up again, if it is used, while those who use it go on."""

MAX_REMEMBERED = 100_000

UNCHECKED_S = 30.0
"""How long a key is honoured unasked once the database was found away: one that hangs must not hold up each call."""

LONGEST_UNCHECKED_S = 3600.0
"""After so long without the database no key is honoured that it may have seen revoked."""


class Scope(StrEnum):
    """What a key may be used for."""

    AGENT = "agent"
    PROVIDER = "provider"
    ANALYST = "analyst"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a valid key.

    Attributes
    ----------
    weight : of its transfers where several share a cap.
    rate_factor : how many times the usual number of calls it may make.
    """

    tenant_id: UUID
    key_id: UUID
    scopes: frozenset[str]
    weight: float = 1.0
    rate_factor: float = 1.0

    @property
    def actor(self) -> Actor:
        """As whom its holder changes things."""
        return Actor(ActorKind.KEY, self.key_id)

    @property
    def is_customer(self) -> bool:
        """Whether the key moves data and nothing else: its holder learns what is paid, not how that is made up."""
        return self.scopes <= {Scope.AGENT}

    def require(self, *scopes: Scope) -> None:
        """Raise ``NotPermitted`` unless the key has one of ``scopes``."""
        if not self.scopes.intersection(scopes):
            raise NotPermitted(f"this call needs a key with the scope {' or '.join(scopes)}")


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret that is shown once, and what is kept of it."""

    secret: str
    prefix: str
    sha256: bytes


def new_secret() -> NewSecret:
    """A random secret; 256 bits of entropy need no slow hash."""
    secret = SECRET_PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    return NewSecret(secret, secret[:SHOWN_CHARACTERS], hash_secret(secret))


def hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


class FoundKey(Protocol):
    @property
    def id(self) -> UUID: ...
    @property
    def tenant_id(self) -> UUID: ...
    @property
    def scopes(self) -> frozenset[str]: ...
    @property
    def weight(self) -> float: ...
    @property
    def rate_factor(self) -> float: ...
    @property
    def secret_sha256(self) -> bytes: ...


class _Remembered(NamedTuple):
    """``checked_s`` : when the database last told it; ``until_s`` : until when it is not asked again."""

    principal: Principal
    checked_s: float
    until_s: float


class Keyring:
    """Principals by secret. A revoked key is honoured for ``REMEMBERED_S`` at most, and not at all once forgotten.

    While the database is away, keys that it has told are honoured on, so that live transfers are still answered.

    Parameters
    ----------
    find : looks a key up by the hash of its secret.
    monotonic : seconds of a clock that never goes back.
    """

    def __init__(self, find: Callable[[bytes], FoundKey | None], monotonic: Callable[[], float]) -> None:
        self._find = find
        self._monotonic = monotonic
        self._remembered: dict[bytes, _Remembered] = {}
        self._forgotten = 0
        self._changing = Lock()

    def recall(self, secret: str) -> Principal | None:
        """The principal if it is remembered; asks no database."""
        remembered = self._remembered.get(hash_secret(secret))
        if remembered is None or remembered.until_s < self._monotonic():
            return None
        return remembered.principal

    def is_due(self, secret: str) -> bool:
        """Whether a key that is remembered should be looked up again, so that nobody will have to wait for it."""
        remembered = self._remembered.get(hash_secret(secret))
        return remembered is not None and remembered.until_s - AHEAD_S <= self._monotonic()

    def authenticate(self, secret: str) -> Principal:
        """The principal of a secret.

        Raises
        ------
        Unauthenticated : the secret is of no key, or of a revoked one.
        Unavailable : the database is away and has not told of the key lately.
        """
        digest = hash_secret(secret)
        forgotten, asked_at = self._forgotten, self._monotonic()
        try:
            found = self._find(digest)
        except Unavailable:
            known = self._told_lately(digest)
            if known is None:
                raise
            return known
        if found is None or not hmac.compare_digest(found.secret_sha256, digest):
            self._remembered.pop(digest, None)
            raise Unauthenticated("the API key is unknown or revoked")
        principal = Principal(found.tenant_id, found.id, found.scopes, found.weight, found.rate_factor)
        with self._changing:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            if self._forgotten == forgotten:  # else a key was revoked meanwhile, perhaps this one
                self._remembered[digest] = _Remembered(principal, asked_at, asked_at + REMEMBERED_S)
        return principal

    def _told_lately(self, digest: bytes) -> Principal | None:
        """The principal as the database told it last, honoured on; ``None`` where that is too long ago."""
        now_s = self._monotonic()
        with self._changing:  # a revoked key must not come back from what was read before it was forgotten
            known = self._remembered.get(digest)
            if known is None or now_s - known.checked_s > LONGEST_UNCHECKED_S:
                return None
            self._remembered[digest] = known._replace(until_s=now_s + UNCHECKED_S)
            return known.principal

    def forget(self, key_id: UUID) -> None:
        """Look a key up again at its next use."""
        with self._changing:
            self._forgotten += 1
            for digest, known in list(self._remembered.items()):
                if known.principal.key_id == key_id:
                    self._remembered.pop(digest, None)

    def forget_all(self) -> None:
        """Look every key up again, as after notices may have been missed."""
        with self._changing:
            self._forgotten += 1
            for digest, known in list(self._remembered.items()):
                self._remembered[digest] = known._replace(until_s=-math.inf)
