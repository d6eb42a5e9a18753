"""Passwords of people: hashed by argon2id, never kept, and slow to guess."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import BoundedSemaphore

from pwdlib import PasswordHash

from tradewind.errors import InvalidValue, Unavailable

MIN_LENGTH, MAX_LENGTH = 12, 200
AT_ONCE = 2
"""Hashes computed at the same time: each takes 64 MiB and tens of milliseconds, and anybody may ask for one."""

MOST_WAITING = 8
"""For their turn: each keeps a thread from answering other requests."""

INITIAL_BYTES = 15


class Passwords:
    """Hashes passwords, and knows them again: a few at once of the process that has it."""

    def __init__(self) -> None:
        self._hasher = PasswordHash.recommended()
        self._turns = BoundedSemaphore(AT_ONCE)
        self._places = BoundedSemaphore(AT_ONCE + MOST_WAITING)

    def hashed(self, password: str) -> str:
        """The hash to keep.

        Raises
        ------
        InvalidValue : too short, longer than anybody types, or blank.
        Unavailable : too many wait for theirs.
        """
        if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
            raise InvalidValue("password", f"must have {MIN_LENGTH} to {MAX_LENGTH} characters")
        if not password.strip():
            raise InvalidValue("password", "must have other characters than blanks")
        with self._turn():
            return self._hasher.hash(password)

    def matches(self, password: str, kept: str | None) -> bool:
        """Whether it is the password of this hash; takes as long where there is none, so that time tells nothing.

        Raises
        ------
        Unavailable : too many wait for theirs.
        """
        if len(password) > MAX_LENGTH:
            return False
        with self._turn():
            return self._hasher.verify(password, kept or self._of_nobody) and kept is not None

    @cached_property
    def _of_nobody(self) -> str:
        return self._hasher.hash(initial_password())

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise Unavailable("many sign in at this moment; try again in a few seconds")
        try:
            with self._turns:
                yield
        finally:
            self._places.release()


def initial_password() -> str:
    """A password to be changed at the first sign-in."""
    return secrets.token_urlsafe(INITIAL_BYTES)
