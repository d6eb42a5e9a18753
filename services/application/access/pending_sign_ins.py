"""Sign-ins at an OpenID provider that are not finished: sealed, and stored by the browser that started them.

So whoever starts many, without an account, takes no room here. The provider takes each code once, so that a sealed
sign-in which is sent again opens no second session.
"""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Protocol

from tradewind.errors import Unauthenticated

PENDING_S = 600
"""Longest time of a sign-in at the provider."""

GONE = "this sign-in has ended or was not started here; sign in again"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignIn:
    """The values that the provider's answer is checked with; ``next`` : the page to show afterwards."""

    state: str
    nonce: str
    verifier: str
    next: str


class SealingKey(Protocol):
    """The key of all processes; a port because `services.queue` implements it."""

    def read(self) -> bytes:
        """Return the key.

        Raises
        ------
        Unavailable : it cannot be read just now.
        """


def seal_sign_in(pending: PendingSignIn, *, key: bytes, now: datetime) -> str:
    """Return a sign-in as text for a cookie, which nobody can make or change without the key."""
    fields = [pending.state, pending.nonce, pending.verifier, pending.next, now.timestamp() + PENDING_S]
    text = urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")  # which cookies do not take
    return f"{text}.{_compute_seal(text, key)}"


def open_sign_in(sealed: str, state: str, *, key: bytes, now: datetime) -> PendingSignIn:
    """Return the sign-in of a state.

    Raises
    ------
    Unauthenticated : it was not sealed here, is that of another state, or ended.
    """
    text, _, seal = sealed.rpartition(".")
    if not hmac.compare_digest(seal.encode(), _compute_seal(text, key).encode()):
        raise Unauthenticated(GONE)
    own_state, nonce, verifier, next_page, ends_at_s = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    if not hmac.compare_digest(own_state.encode(), state.encode()) or now.timestamp() > ends_at_s:
        raise Unauthenticated(GONE)
    return PendingSignIn(state=own_state, nonce=nonce, verifier=verifier, next=next_page)


def _compute_seal(text: str, key: bytes) -> str:
    return hmac.new(key, text.encode(), sha256).hexdigest()
