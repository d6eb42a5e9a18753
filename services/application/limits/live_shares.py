"""What live transfers hold of the caps, read into memory each second: recommendations then know it without asking."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol
from uuid import UUID

from services.application.transfers.sessions import SessionsUnreachable

EVERY_S = 1.0
SCOPES_AT_ONCE = 500
"""Asked for in one step, in which the store answers nobody else."""


class ScopeUsage(NamedTuple):
    """By the live transfers of a scope together: files and streams at once, and the sum of their weights."""

    transfers: int
    weight: float
    concurrency: int
    streams: int


class LiveUsage:
    """What live transfers of one tenant hold, by scope, as it was read last: ``now`` is replaced with each look."""

    def __init__(self) -> None:
        self.now: Mapping[str, ScopeUsage] = {}


class ShareStore(Protocol):
    async def watch(self) -> None:
        """Mark that the store is there for claims; a gap between marks tells that it was not.

        Raises
        ------
        SessionsUnreachable : the store of sessions does not answer.
        """

    async def held(self, tenant_id: UUID, scopes: Sequence[str]) -> Sequence[ScopeUsage]:
        """What is held of each scope.

        Raises
        ------
        SessionsUnreachable : the store of sessions does not answer.
        """


class LiveShares:
    """Parameters
    ----------
    shares : the store in which transfers claim them.
    capped : scopes with caps of each tenant whose recommendations are asked for, and where to note what is held.
    on_failure : told of a look that failed as none should; the next one is made all the same.
    """

    def __init__(
        self,
        shares: ShareStore,
        capped: Callable[[], Mapping[UUID, tuple[Sequence[str], LiveUsage]]],
        on_failure: Callable[[Exception], None],
    ) -> None:
        self._shares = shares
        self._capped = capped
        self._on_failure = on_failure

    async def follow(self, *, every_s: float = EVERY_S) -> None:
        """Watch the store and read again and again, until cancelled; while it is away nothing counts as held."""
        while True:
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - without this task no process would know of shares any more
                self._on_failure(error)
            await asyncio.sleep(every_s)

    async def _look(self) -> None:
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
            asked = scopes[first : first + SCOPES_AT_ONCE]
            held = await self._shares.held(tenant_id, asked)
            found |= {scope: each for scope, each in zip(asked, held, strict=True) if each.transfers}
        return found
