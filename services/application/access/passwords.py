"""Passwords of people: hashed by argon2id, never kept, and slow to guess."""

import secrets
import time
from collections.abc import Callable
from functools import cached_property

from pwdlib import PasswordHash

from services.application.access.hashing_slots import AT_ONCE, MOST_WAITING, Attempt, FailedAttempts, HashingSlots
from services.application.access.sign_in_networks import IN_A_SESSION
from tradewind.errors import InvalidValue

__all__ = ["AT_ONCE", "MAX_LENGTH", "MIN_LENGTH", "MOST_WAITING", "Attempt", "Passwords", "initial_password"]

MIN_LENGTH, MAX_LENGTH = 12, 200

SIGNED_IN = Attempt(IN_A_SESSION, is_known=True)
"""Of somebody who is signed in and gives a password out."""

INITIAL_BYTES = 15


class Passwords:
    """Hashes passwords, and knows them again: a few at once of the process that has it.

    Parameters
    ----------
    monotonic : seconds of a clock that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._hasher = PasswordHash.recommended()
        self._slots = HashingSlots(monotonic)
        self._failed = FailedAttempts(monotonic)

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
        with self._slots.slot(SIGNED_IN):
            return self._hasher.hash(password)

    def matches(self, password: str, kept: str | None, attempt: Attempt = Attempt()) -> bool:  # noqa: B008 -- frozen
        """Whether it is the password of this hash; takes as long where there is none, so that time tells nothing.

        Parameters
        ----------
        attempt : whose; only those who are known where they ask are looked at after too many wrong ones from there.

        Raises
        ------
        Unavailable : too many wait for theirs.
        TooManyAttempts : too many passwords from this network were wrong of late.
        """
        if len(password) > MAX_LENGTH:
            return False
        if not attempt.is_known:
            self._failed.require_few(attempt.network)
        with self._slots.slot(attempt):
            is_right = self._hasher.verify(password, kept or self._of_nobody) and kept is not None
        if not is_right and attempt.network != IN_A_SESSION:
            self._failed.add(attempt.network)
        return is_right

    @cached_property
    def _of_nobody(self) -> str:
        return self._hasher.hash(initial_password())


def initial_password() -> str:
    """A password to be changed at the first sign-in."""
    return secrets.token_urlsafe(INITIAL_BYTES)
