"""Read what live transfers use of caps into memory each second, so that recommendations need no query for it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol
from uuid import UUID

from services.application.transfers.sessions import SessionsUnreachable

EVERY_S = 1.0
SCOPES_AT_ONCE = 500
"""Scopes in one request, during which the store answers no other."""


class ScopeUsage(NamedTuple):
    """Use of a scope by all its live transfers: files and streams at once, and the sum of weights."""

    transfers: int
    weight: float
    concurrency: int
    streams: int


class LiveUsage:
    """Use of one tenant's scopes by live transfers, as read last; each read replaces ``now``."""

    def __init__(self) -> None:
        self.now: Mapping[str, ScopeUsage] = {}


class LiveShareRegistry(Protocol):
    """The store of shares; a port because `services.queue` implements it."""

    async def watch(self) -> None:
        """Mark that the store answers claims; a gap between marks shows that it did not.

        Raises
        ------
        SessionsUnreachable : the store of sessions does not answer.
        """

    async def measure_held(self, tenant_id: UUID, scopes: Sequence[str]) -> Sequence[ScopeUsage]:
        """Return the use of each scope.

        Raises
        ------
        SessionsUnreachable : the store of sessions does not answer.
        """


class LiveShares:
    """Reads the use of shares again and again.

    Parameters
    ----------
    shares : the store in which transfers claim shares.
    capped : returns the scopes with caps of each tenant with requests, and where to note their use.
    on_failure : called with an unexpected error of one read; the next one follows all the same.
    """

    def __init__(
        self,
        shares: LiveShareRegistry,
        capped: Callable[[], Mapping[UUID, tuple[Sequence[str], LiveUsage]]],
        on_failure: Callable[[Exception], None],
    ) -> None:
        self._shares = shares
        self._capped = capped
        self._on_failure = on_failure

    async def follow(self, *, every_s: float = EVERY_S) -> None:
        """Watch the store and read until cancelled; while it is unreachable no use counts."""
        while True:
            try:
                await self._read_all()
            except Exception as error:  # noqa: BLE001 - without this task no process would know of shares any more
                self._on_failure(error)
            await asyncio.sleep(every_s)

    async def _read_all(self) -> None:
        with suppress(SessionsUnreachable):
            await self._shares.watch()
        for tenant_id, (scopes, noted) in self._capped().items():
            try:
                noted.now = await self._read(tenant_id, scopes)
            except SessionsUnreachable:
                noted.now = {}

    async def _read(self, tenant_id: UUID, scopes: Sequence[str]) -> Mapping[str, ScopeUsage]:
        found: dict[str, ScopeUsage] = {}
        for first in range(0, len(scopes), SCOPES_AT_ONCE):
            part = scopes[first : first + SCOPES_AT_ONCE]
            held = await self._shares.measure_held(tenant_id, part)
            found |= {scope: usage for scope, usage in zip(part, held, strict=True) if usage.transfers}
        return found
