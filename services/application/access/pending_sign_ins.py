"""Sign-ins at an OpenID provider that are not finished; each is taken once, by the browser that started it."""

import hmac
import json
import secrets
from dataclasses import dataclass
from typing import Protocol

from services.application.access.authenticate import hash_secret
from tradewind.errors import Unauthenticated

PENDING_S = 600
"""Longest time of a sign-in at the provider."""

GONE = "this sign-in has ended or was not started here; sign in again"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignIn:
    """The values that the provider's answer is checked with; ``next`` : the page to show afterwards."""

    nonce: str
    verifier: str
    next: str


class ShortMemory(Protocol):
    """Values that expire; a port because `services.queue` implements it."""

    def put(self, key: str, value: str, *, keep_s: int) -> None: ...
    def take(self, key: str) -> str | None:
        """Return a value and remove it."""


def store_pending_sign_in(pending: PendingSignIn, state: str, memory: ShortMemory) -> str:
    """Store a sign-in under its state; return the secret that the browser must send back."""
    browser = secrets.token_urlsafe(32)
    fields = {"nonce": pending.nonce, "verifier": pending.verifier, "next": pending.next}
    memory.put(state, json.dumps({**fields, "browser": hash_secret(browser).hex()}), keep_s=PENDING_S)
    return browser


def take_pending_sign_in(state: str, browser: str, memory: ShortMemory) -> PendingSignIn:
    """Return the sign-in of a state, and remove it.

    Raises
    ------
    Unauthenticated : there is none, or another browser started it.
    """
    stored = memory.take(state)
    if stored is None:
        raise Unauthenticated(GONE)
    known = json.loads(stored)
    if not hmac.compare_digest(known["browser"], hash_secret(browser).hex()):
        raise Unauthenticated(GONE)
    return PendingSignIn(nonce=known["nonce"], verifier=known["verifier"], next=known["next"])
