"""Passwords of people: hashed by argon2id, never kept, and slow to guess."""

import secrets
from functools import cache
from threading import BoundedSemaphore

from pwdlib import PasswordHash

from tradewind.errors import InvalidValue

MIN_LENGTH, MAX_LENGTH = 12, 200
AT_ONCE = 2
"""Hashes computed at the same time: each takes 64 MiB and tens of milliseconds, and anybody may ask for one."""

INITIAL_BYTES = 15

_turns = BoundedSemaphore(AT_ONCE)


@cache
def _hasher() -> PasswordHash:
    return PasswordHash.recommended()


def hashed(password: str) -> str:
    """The hash to keep.

    Raises
    ------
    InvalidValue : too short, or longer than anybody types.
    """
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise InvalidValue("password", f"must have {MIN_LENGTH} to {MAX_LENGTH} characters")
    with _turns:
        return _hasher().hash(password)


def matches(password: str, kept: str | None) -> bool:
    """Whether it is the password of this hash; takes as long where there is none, so that time tells nothing."""
    if len(password) > MAX_LENGTH:
        return False
    with _turns:
        return _hasher().verify(password, kept or _of_nobody()) and kept is not None


@cache
def _of_nobody() -> str:
    return _hasher().hash(secrets.token_urlsafe(INITIAL_BYTES))


def initial_password() -> str:
    """A password to be changed at the first sign-in."""
    return secrets.token_urlsafe(INITIAL_BYTES)
