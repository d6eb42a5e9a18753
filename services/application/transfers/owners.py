"""Owners of transfers: a transfer belongs to the API key that started it, and no other key may act on it.

A priced recommendation, or else the first heartbeat or completion, starts a transfer. Once an operator has revoked the
owner's key, two kinds of keys act in its place: a new key of the same name, which is how a customer's key is replaced,
unless it belongs to another customer, and keys that are no customer's. Every other key of the tenant is still refused.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

from services.application.access.authenticate import Principal
from services.application.shared.audit import Actor, ActorKind
from services.application.shared.single_flight import SingleFlight
from services.application.shared.unit_of_work import UnitOfWork
from services.application.transfers.sessions import TransferKey
from tradewind.errors import Conflict, Unavailable

T = TypeVar("T")

TIMEOUT_S = 1.0
"""Longest wait for the database before the first heartbeat of a transfer is answered without it."""

RETRY_AFTER_S = 5.0
"""Time without queries to a database that did not answer."""


class KnownTransfer(NamedTuple):
    """The owner and state of a transfer in the database.

    ``owner`` : key that started it, ``None`` where none is known. ``is_of_other_key`` : the requesting key may not act
    on it. ``is_over`` : it has ended.
    """

    owner: UUID | None = None
    is_of_other_key: bool = False
    is_over: bool = False


class TransferOwners(Protocol):
    """Owners of one tenant's transfers, as seen by the acting key; users and the service may act on any.

    A port because the application may not import persistence.
    """

    def find(self, transfer_id: UUID, *, started_by: UUID | None = None) -> KnownTransfer:
        """Return the owner and state of a transfer; ``started_by`` is its owner where the database has none yet."""

    def select_others_logs(self, transfer_ids: Collection[UUID]) -> Collection[UUID]:
        """Return the transfers whose logs the acting key may not upload."""

    def is_of_other_key(self, owner: UUID) -> bool:
        """Return whether the acting key may not act on transfers of ``owner``."""

    def own_keys(self) -> Collection[UUID]:
        """Return the acting key and those that it replaces."""


class Ownership(Protocol):
    """Finds owners for heartbeats. A port, so that tests of the tuner need no database."""

    async def find(self, key: TransferKey, key_id: UUID) -> KnownTransfer: ...
    async def is_of_other_key(self, key: TransferKey, owner: UUID, key_id: UUID) -> bool: ...


@dataclass
class OwnerLookups:
    """Look owners up in the database, in threads and with a short timeout.

    Parameters
    ----------
    find_quoted_key : returns the key of a recent quote for a transfer, which the database may lack.
    monotonic : returns seconds of a clock that never goes back.
    """

    open_: Callable[[UUID, Actor], AbstractContextManager[UnitOfWork]]
    find_quoted_key: Callable[[TransferKey], Awaitable[UUID | None]]
    lookups: SingleFlight
    monotonic: Callable[[], float]
    _retry_at_s: float = 0.0

    async def find(self, key: TransferKey, key_id: UUID) -> KnownTransfer:
        """Return the owner and state of a transfer; without the database, the key of a recent quote for it."""
        quoted_key = await self.find_quoted_key(key)

        def look_up() -> KnownTransfer:
            with self.open_(key.tenant_id, Actor(ActorKind.KEY, key_id)) as uow:
                return uow.owners.find(key.transfer_id, started_by=quoted_key)

        by_quote = KnownTransfer(quoted_key, is_of_other_key=quoted_key not in {None, key_id})
        return await self._look_up(("owner", key, key_id), look_up, otherwise=by_quote)

    async def is_of_other_key(self, key: TransferKey, owner: UUID, key_id: UUID) -> bool:
        """Return whether ``key_id`` may not act for ``owner``; it may not while the database is unreachable."""

        def look_up() -> bool:
            with self.open_(key.tenant_id, Actor(ActorKind.KEY, key_id)) as uow:
                return uow.owners.is_of_other_key(owner)

        return await self._look_up(("replaces", owner, key_id), look_up, otherwise=True)

    async def _look_up(self, name: tuple[object, ...], look_up: Callable[[], T], *, otherwise: T) -> T:
        if self.monotonic() < self._retry_at_s:
            return otherwise
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self.lookups.run(name, look_up)
        except (TimeoutError, Unavailable):
            self._retry_at_s = self.monotonic() + RETRY_AFTER_S
            return otherwise


def own_keys(principal: Principal, owners: TransferOwners) -> Collection[UUID] | None:
    """Return the keys whose data a key's holder sees: its own and those it replaces; ``None`` for all keys."""
    return owners.own_keys() if principal.is_customer else None


def make_foreign_transfer_error(transfer_id: UUID) -> Conflict:
    """Return the error of a call on a transfer of another key."""
    return Conflict(
        f"transfer {transfer_id} was started with another key; use that key. Once it is revoked, a new key of the"
        " same name and customer may be used"
    )
