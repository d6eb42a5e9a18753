"""Checksums of files: the algorithms that servers and manifests use, and the sum of a file by one of them."""

import hashlib
import os
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from threading import Lock
from typing import NamedTuple, Protocol

from tradewind_agent.engine.local.regular_file import open_regular_file

_BLOCK_BYTES = 1 << 20


class Checksum(NamedTuple):
    """The sum of an entire file by an algorithm of `ALGORITHMS`."""

    algorithm: str
    digest: bytes

    def __str__(self) -> str:
        return f"{self.algorithm} {self.digest.hex()}"


class _Running(Protocol):
    """A sum that grows block by block."""

    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


class _RunningCrc:
    """A cyclic redundancy check as an object like those of `hashlib`."""

    def __init__(self, add: Callable[[bytes, int], int], digest_bytes: int, value: int = 0) -> None:
        self._add, self._digest_bytes, self._value = add, digest_bytes, value

    def update(self, data: bytes) -> None:
        self._value = self._add(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._digest_bytes, "big")


class Algorithm(NamedTuple):
    """The length of a digest, bytes, and what begins a sum; ``is_built_in`` : needs no library."""

    digest_bytes: int
    begin: Callable[[], _Running]
    is_built_in: bool = True


ALGORITHMS: Mapping[str, Algorithm] = {
    "sha512": Algorithm(64, hashlib.sha512),
    "sha256": Algorithm(32, hashlib.sha256),
    "sha1": Algorithm(20, partial(hashlib.sha1, usedforsecurity=False)),
    "md5": Algorithm(16, partial(hashlib.md5, usedforsecurity=False)),
    "crc64nvme": Algorithm(8, lambda: _RunningCrc(import_module("awscrt.checksums").crc64nvme, 8), is_built_in=False),
    "crc32c": Algorithm(4, lambda: _RunningCrc(import_module("awscrt.checksums").crc32c, 4), is_built_in=False),
    "crc32": Algorithm(4, lambda: _RunningCrc(zlib.crc32, 4)),
    "adler32": Algorithm(4, lambda: _RunningCrc(zlib.adler32, 4, 1)),
}
"""The strongest first."""


def can_compute(algorithm: str) -> bool:
    """Return whether this host can compute such sums: some need a library (`awscrt`), Python being too slow."""
    if ALGORITHMS[algorithm].is_built_in:
        return True
    try:
        return hasattr(import_module("awscrt.checksums"), algorithm)
    except ImportError:
        return False


def make_checksum(algorithm: str, digest: bytes) -> Checksum | None:
    """Return a stated sum; ``None`` where it is none of that algorithm, or cannot be computed here."""
    if algorithm not in ALGORITHMS or len(digest) != ALGORITHMS[algorithm].digest_bytes or not can_compute(algorithm):
        return None
    return Checksum(algorithm, digest)


def sum_bytes(algorithm: str, data: bytes) -> Checksum:
    """Return the sum of bytes in memory."""
    running = ALGORITHMS[algorithm].begin()
    running.update(data)
    return Checksum(algorithm, running.digest())


class RunningSum:
    """The sum of the beginning of a file, which grows block by block.

    Attributes
    ----------
    position : the bytes that are summed.
    lock : held by the thread that adds to it.
    """

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self.position = 0
        self.lock = Lock()
        self._running = ALGORITHMS[algorithm].begin()

    def add_block(self, fd: int, end: int | None = None) -> bool:
        """Add the next bytes of an open file, at most those before ``end``; return whether there were any.

        Raises
        ------
        OSError
        """
        most_bytes = _BLOCK_BYTES if end is None else min(_BLOCK_BYTES, end - self.position)
        block = os.pread(fd, most_bytes, self.position) if most_bytes > 0 else b""
        self._running.update(block)
        self.position += len(block)
        return bool(block)

    def add_rest(self, fd: int, end: int | None = None) -> Checksum:
        """Add what an open file has up to its end, or ``end``, and return the sum.

        Raises
        ------
        OSError
        """
        while self.add_block(fd, end):
            pass
        return Checksum(self.algorithm, self._running.digest())


def compute_checksum(path: str | os.PathLike[str], algorithm: str) -> Checksum:
    """Return the sum of a file.

    Raises
    ------
    OSError
    """
    fd = open_regular_file(path)
    try:
        return RunningSum(algorithm).add_rest(fd)
    finally:
        os.close(fd)
