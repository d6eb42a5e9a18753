"""Hashes of passwords by argon2id: each takes four threads a tenth of a second, and 64 MiB."""

from functools import cache

from pwdlib import PasswordHash


@cache
def _get_hasher() -> PasswordHash:
    return PasswordHash.recommended()


def hash_password(password: str) -> str:
    """Return a new hash of a password."""
    return _get_hasher().hash(password)


def verify_password(password: str, stored_hash: str) -> bool:
    """Return whether a password has this hash."""
    return _get_hasher().verify(password, stored_hash)
