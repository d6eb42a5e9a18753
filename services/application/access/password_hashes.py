"""Hashes of passwords by argon2id: each takes a thread a seventh of a second, and 64 MiB.

RFC 9106 recommends four lanes. With them as many threads would compute each guess, and together go before one that
answers. A guess costs as much either way.
"""

from functools import cache

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher


@cache
def _get_hasher() -> PasswordHash:
    return PasswordHash((Argon2Hasher(parallelism=1),))


def hash_password(password: str) -> str:
    """Return a new hash of a password."""
    return _get_hasher().hash(password)


def verify_password(password: str, stored_hash: str) -> bool:
    """Return whether a password has this hash."""
    return _get_hasher().verify(password, stored_hash)
