"""Passwords of users: hashed by argon2id, never stored, and slow to guess."""

import secrets
import string
import time
from collections.abc import Callable, Iterable
from functools import cached_property

from services.application.access.hashing_slots import (
    AT_ONCE,
    KNOWN_AT_ONCE,
    MOST_WAITING,
    Attempt,
    FailedAttempts,
    HashingSlots,
)
from services.application.access.password_hashes import hash_password, verify_password
from services.application.access.sign_in_networks import IN_A_SESSION
from services.application.access.weak_passwords import require_strong
from services.application.shared.yielding_processes import YieldingProcesses
from tradewind.errors import InvalidValue

__all__ = ["AT_ONCE", "MAX_LENGTH", "MIN_LENGTH", "MOST_WAITING", "Attempt", "Passwords", "generate_initial_password"]

MIN_LENGTH, MAX_LENGTH = 12, 200

SIGNED_IN = Attempt(IN_A_SESSION, is_known=True)
"""The attempt of a signed-in user who sets a password for another user."""

INITIAL_LENGTH = 21
INITIAL_CHARACTERS = "".join(each for each in string.ascii_letters + string.digits if each not in "0O1lI")
"""Characters that a reader cannot confuse, and no dash that a command would take for an option: 122 bits together."""


class Passwords:
    """Hashes and verifies passwords, a few at once, in processes that yield to those that answer.

    Parameters
    ----------
    monotonic : returns seconds of a clock that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._slots = HashingSlots(monotonic)
        self._failed = FailedAttempts(monotonic)
        self._processes = YieldingProcesses(AT_ONCE + KNOWN_AT_ONCE)

    def hash(self, password: str, *, own_words: Iterable[str] = ()) -> str:
        """Return the hash of a new password.

        Parameters
        ----------
        own_words : words that a guesser knows of this user, such as the login.

        Raises
        ------
        InvalidValue : it is too short, too long, blank, common or repetitive.
        Unavailable : too many hashes are waiting.
        """
        if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
            raise InvalidValue("password", f"must have {MIN_LENGTH} to {MAX_LENGTH} characters")
        if not password.strip():
            raise InvalidValue("password", "must have other characters than blanks")
        require_strong(password, own_words=own_words)
        with self._slots.hold_slot(SIGNED_IN):
            return self._processes.run(hash_password, password)

    def matches(self, password: str, stored_hash: str | None, attempt: Attempt = Attempt()) -> bool:  # noqa: B008 -- frozen
        """Return whether a password has this hash; it takes as long without a hash, so that time reveals nothing.

        Parameters
        ----------
        attempt : who tries; after too many wrong passwords from a network, only known users may try from there.

        Raises
        ------
        Unavailable : too many hashes are waiting.
        TooManyAttempts : too many recent passwords from this network were wrong.
        """
        if len(password) > MAX_LENGTH:
            return False
        if not attempt.is_known:
            self._failed.require_few(attempt.network)
        with self._slots.hold_slot(attempt):
            verified = self._processes.run(verify_password, password, stored_hash or self._dummy_hash)
            is_right = verified and stored_hash is not None
        if not is_right and attempt.network != IN_A_SESSION:
            self._failed.add(attempt.network)
        return is_right

    @cached_property
    def _dummy_hash(self) -> str:
        return self._processes.run(hash_password, generate_initial_password())

    def close(self) -> None:
        """End the processes that hash."""
        self._processes.close()


def generate_initial_password() -> str:
    """Return a random password that has to be changed at the first sign-in."""
    return "".join(secrets.choice(INITIAL_CHARACTERS) for _ in range(INITIAL_LENGTH))
