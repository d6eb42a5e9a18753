"""Sign-ins at a provider that were begun and have not come back: each is taken once, by the browser that began it."""

import hmac
import json
import secrets
from dataclasses import dataclass
from typing import Protocol

from services.application.access.authenticate import hash_secret
from tradewind.errors import Unauthenticated

KEPT_S = 600
"""So long somebody may take to sign in at the provider."""

GONE = "this sign-in has ended or was not begun here; sign in again"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignIn:
    """What comes back with it or is shown again; ``next`` : the page asked for."""

    nonce: str
    verifier: str
    next: str


class ShortMemory(Protocol):
    """Values that are forgotten after a while."""

    def put(self, key: str, value: str, *, kept_s: int) -> None: ...
    def take(self, key: str) -> str | None:
        """The value, which is then gone."""


def store_pending_sign_in(pending: PendingSignIn, state: str, memory: ShortMemory) -> str:
    """Remember a sign-in under its state; the secret that the browser must show."""
    browser = secrets.token_urlsafe(32)
    told = {"nonce": pending.nonce, "verifier": pending.verifier, "next": pending.next}
    memory.put(state, json.dumps({**told, "browser": hash_secret(browser).hex()}), kept_s=KEPT_S)
    return browser


def take_pending_sign_in(state: str, browser: str, memory: ShortMemory) -> PendingSignIn:
    """The sign-in of a state, once.

    Raises
    ------
    Unauthenticated : there is none, or another browser began it.
    """
    told = memory.take(state)
    if told is None:
        raise Unauthenticated(GONE)
    known = json.loads(told)
    if not hmac.compare_digest(known["browser"], hash_secret(browser).hex()):
        raise Unauthenticated(GONE)
    return PendingSignIn(nonce=known["nonce"], verifier=known["verifier"], next=known["next"])
