"""Authenticate API keys; principals are cached for a moment, so that most calls need no database query."""

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
"""Characters of a secret that lists of keys show."""

CACHED_S = 5.0
RENEW_BEFORE_S = 1.0
"""A key in use is looked up again this long before its cache entry expires, while calls still use the entry."""

MAX_CACHED = 100_000

UNCHECKED_S = 30.0
"""How long a cached key is valid without a query once the database was unreachable, so that calls do not hang."""

LONGEST_UNCHECKED_S = 3600.0
"""After this long without the database no key is valid, because it may have been revoked."""


class Scope(StrEnum):
    """Scopes of a key: what it may be used for."""

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
    rate_factor : multiple of the usual call rate that it may use.
    customer_id, customer_rate_factor : its customer, and the multiple of the usual call rate of one key that all keys
        of that customer may use together; ``None`` : not limited.
    """

    tenant_id: UUID
    key_id: UUID
    scopes: frozenset[str]
    weight: float = 1.0
    rate_factor: float = 1.0
    customer_id: UUID | None = None
    customer_rate_factor: float | None = None

    @property
    def actor(self) -> Actor:
        """The actor of changes that the key makes."""
        return Actor(ActorKind.KEY, self.key_id)

    @property
    def is_customer(self) -> bool:
        """Whether the key only moves data; its holder sees what is paid, not how the price is composed."""
        return self.scopes <= {Scope.AGENT}

    def require(self, *scopes: Scope) -> None:
        """Raise ``NotPermitted`` unless the key has one of ``scopes``."""
        if not self.scopes.intersection(scopes):
            raise NotPermitted(f"this call needs a key with the scope {' or '.join(scopes)}")


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret that is shown once, and the parts that are stored."""

    secret: str
    prefix: str
    sha256: bytes


def make_secret() -> NewSecret:
    """Create a random secret; 256 bits of entropy need no slow hash."""
    secret = SECRET_PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    return NewSecret(secret, secret[:SHOWN_CHARACTERS], hash_secret(secret))


def hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


class FoundKey(Protocol):
    """A stored key; a port because the application may not import persistence, whose rows have these fields."""

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
    @property
    def customer_id(self) -> UUID | None: ...
    @property
    def customer_rate_factor(self) -> float | None: ...


class _CacheEntry(NamedTuple):
    """``checked_s`` : when the database last confirmed the key. ``until_s`` : until when it is not queried again."""

    principal: Principal
    checked_s: float
    until_s: float


class Keyring:
    """A cache of principals by secret. A revoked key is valid for ``CACHED_S`` at most, and invalid once forgotten.

    While the database is unreachable, cached keys stay valid, so that live transfers are still answered.

    Parameters
    ----------
    find : looks a key up by the hash of its secret.
    monotonic : returns seconds of a clock that never goes back.
    """

    def __init__(self, find: Callable[[bytes], FoundKey | None], monotonic: Callable[[], float]) -> None:
        self._find = find
        self._monotonic = monotonic
        self._cache: dict[bytes, _CacheEntry] = {}
        self._invalidations = 0
        self._changing = Lock()

    def recall(self, secret: str) -> Principal | None:
        """Return the principal if it is cached; do not query the database."""
        entry = self._cache.get(hash_secret(secret))
        if entry is None or entry.until_s < self._monotonic():
            return None
        return entry.principal

    def is_due(self, secret: str) -> bool:
        """Return whether a cached key should be looked up again now, so that no call will have to wait for it."""
        entry = self._cache.get(hash_secret(secret))
        return entry is not None and entry.until_s - RENEW_BEFORE_S <= self._monotonic()

    def authenticate(self, secret: str) -> Principal:
        """Return the principal of a secret.

        Raises
        ------
        Unauthenticated : no key has this secret, or it is revoked.
        Unavailable : the database is unreachable and has not confirmed the key recently.
        """
        digest = hash_secret(secret)
        invalidations, requested_s = self._invalidations, self._monotonic()
        try:
            found = self._find(digest)
        except Unavailable:
            known = self._extend_cached(digest)
            if known is None:
                raise
            return known
        if found is None or not hmac.compare_digest(found.secret_sha256, digest):
            self._cache.pop(digest, None)
            raise Unauthenticated("the API key is unknown or revoked")
        principal = Principal(
            found.tenant_id,
            found.id,
            found.scopes,
            found.weight,
            found.rate_factor,
            found.customer_id,
            found.customer_rate_factor,
        )
        with self._changing:
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            if self._invalidations == invalidations:  # otherwise a key was revoked meanwhile, perhaps this one
                self._cache[digest] = _CacheEntry(principal, requested_s, requested_s + CACHED_S)
        return principal

    def _extend_cached(self, digest: bytes) -> Principal | None:
        """Extend a cached principal during an outage; return ``None`` where its last check is too long ago."""
        now_s = self._monotonic()
        with self._changing:  # a revoked key must not come back from a read before its invalidation
            known = self._cache.get(digest)
            if known is None or now_s - known.checked_s > LONGEST_UNCHECKED_S:
                return None
            self._cache[digest] = known._replace(until_s=now_s + UNCHECKED_S)
            return known.principal

    def forget(self, key_id: UUID) -> None:
        """Drop a key, so that its next use looks it up again."""
        with self._changing:
            self._invalidations += 1
            for digest, known in list(self._cache.items()):
                if known.principal.key_id == key_id:
                    self._cache.pop(digest, None)

    def forget_all(self) -> None:
        """Expire every key, as after notices may have been missed."""
        with self._changing:
            self._invalidations += 1
            for digest, known in list(self._cache.items()):
                self._cache[digest] = known._replace(until_s=-math.inf)
