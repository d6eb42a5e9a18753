"""Refused sign-ins, told in sums: whoever tries thousands of passwords a second does not write as many lines."""

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

EVERY_S = 1.0

MOST_ADDRESSES = 1_000
"""Told apart at a time; who comes from a further one is counted with the others."""

OTHERS = "others"


class RefusedSignIn(NamedTuple):
    """Attempts from one address since they were last told; ``path`` and ``reason`` are the last one's."""

    visitor: str | None
    path: str
    reason: str
    attempts: int


class RefusedSignIns:
    """Takes note of them in any thread, and tells them from time to time.

    Parameters
    ----------
    on_refused : told at most once for an address in ``EVERY_S``.
    """

    def __init__(self, on_refused: Callable[[RefusedSignIn], None]) -> None:
        self._on_refused = on_refused
        self._waiting: dict[str | None, RefusedSignIn] = {}
        self._lock = Lock()

    def add(self, visitor: str | None, *, path: str, reason: str) -> None:
        """Take note of one attempt."""
        with self._lock:
            if visitor not in self._waiting and len(self._waiting) >= MOST_ADDRESSES:
                visitor = OTHERS
            before = self._waiting.get(visitor)
            self._waiting[visitor] = RefusedSignIn(visitor, path, reason, 1 + (before.attempts if before else 0))

    def tell(self) -> None:
        """Tell what was noted since the last time."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for refused in waiting.values():
            self._on_refused(refused)

    async def follow(self, *, every_s: float = EVERY_S) -> None:
        """Tell again and again, until cancelled, and then what is left."""
        try:
            while True:
                await asyncio.sleep(every_s)
                self.tell()
        finally:
            self.tell()
