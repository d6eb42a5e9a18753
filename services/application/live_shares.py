"""What live transfers hold of the caps, read into memory each second: recommendations then know it without asking."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from services.application.tuning_sessions import SessionsAway

EVERY_S = 1.0
SCOPES_AT_ONCE = 500
"""Asked for in one step, in which the store answers nobody else."""


class Held(NamedTuple):
    """By the live transfers of a scope together: files and streams at once, and the sum of their weights."""

    transfers: int
    weight: float
    concurrency: int
    streams: int


HeldByScope = dict[str, Held]


class SharesHeld(Protocol):
    async def held(self, tenant_id: UUID, scopes: Sequence[str]) -> Sequence[Held]:
        """What is held of each scope.

        Raises
        ------
        SessionsAway : the store of sessions does not answer.
        """


class LiveShares:
    """Parameters
    ----------
    shares : the store in which transfers claim them.
    capped : scopes with caps of each tenant whose recommendations are asked for, and where to note what is held.
    """

    def __init__(
        self, shares: SharesHeld, capped: Callable[[], Mapping[UUID, tuple[Sequence[str], HeldByScope]]]
    ) -> None:
        self._shares = shares
        self._capped = capped

    async def follow(self, *, every_s: float = EVERY_S) -> None:
        """Read again and again, until cancelled; while the store is away nothing counts as held."""
        while True:
            for tenant_id, (scopes, noted) in self._capped().items():
                try:
                    found = await self._read(tenant_id, scopes)
                except SessionsAway:
                    found = {}
                noted.clear()
                noted.update(found)
            await asyncio.sleep(every_s)

    async def _read(self, tenant_id: UUID, scopes: Sequence[str]) -> HeldByScope:
        found: HeldByScope = {}
        for first in range(0, len(scopes), SCOPES_AT_ONCE):
            asked = scopes[first : first + SCOPES_AT_ONCE]
            held = await self._shares.held(tenant_id, asked)
            found |= {scope: each for scope, each in zip(asked, held, strict=True) if each.transfers}
        return found
