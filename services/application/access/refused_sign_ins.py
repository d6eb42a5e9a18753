"""Count refused sign-ins and report sums: thousands of attempts a second must not write as many log lines."""

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

EVERY_S = 1.0

MAX_ADDRESSES = 1_000
"""Addresses counted separately; further ones are counted together as others."""

OTHERS = "others"


class RefusedSignIn(NamedTuple):
    """Attempts from one address since the last report; ``path`` and ``reason`` are of the last one."""

    visitor: str | None
    path: str
    reason: str
    attempts: int


class RefusedSignIns:
    """Counts refused sign-ins in any thread, and reports them regularly.

    Parameters
    ----------
    on_refused : called at most once for an address in ``EVERY_S``.
    """

    def __init__(self, on_refused: Callable[[RefusedSignIn], None]) -> None:
        self._on_refused = on_refused
        self._waiting: dict[str | None, RefusedSignIn] = {}
        self._lock = Lock()

    def add(self, visitor: str | None, *, path: str, reason: str) -> None:
        """Count one attempt."""
        with self._lock:
            if visitor not in self._waiting and len(self._waiting) >= MAX_ADDRESSES:
                visitor = OTHERS
            before = self._waiting.get(visitor)
            self._waiting[visitor] = RefusedSignIn(visitor, path, reason, 1 + (before.attempts if before else 0))

    def report(self) -> None:
        """Report the attempts since the last report."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for refused in waiting.values():
            self._on_refused(refused)

    async def follow(self, *, every_s: float = EVERY_S) -> None:
        """Report regularly until cancelled, and then the rest."""
        try:
            while True:
                await asyncio.sleep(every_s)
                self.report()
        finally:
            self.report()
