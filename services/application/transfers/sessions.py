"""What is remembered of live transfers between two heartbeats, outside any process: the port, and what crosses it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from services.application.transfers.first_heartbeats import FirstHeartbeat


class TransferKey(NamedTuple):
    """A transfer of a tenant: the same number under another tenant is another transfer."""

    tenant_id: UUID
    transfer_id: UUID


@dataclass(frozen=True, slots=True)
class Claim:
    """A cap that the transfer falls under, held by all live transfers of its scope together."""

    scope: str
    concurrency: int | None
    streams: int | None


@dataclass(frozen=True, slots=True)
class Share:
    """What one transfer may use of the caps it falls under; ``None`` where none is set."""

    concurrency: int | None = None
    streams: int | None = None

    @property
    def granted(self) -> bool:
        """Whether there is room for the transfer at all."""
        return self.concurrency != 0 and self.streams != 0


UNLIMITED = Share()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A heartbeat with what was decided on it.

    ``known`` : sequence of the state that the decision was computed from, −1 for none. ``state``, ``enquiry``,
    ``heartbeat``, ``decision`` : JSON, the heartbeat without its enquiry. ``begun`` :
    what is told with its first heartbeat, JSON, empty once that is done. ``owner`` : key that the transfer belongs to;
    ``is_owner_known`` where the database says so, against which no session stands. ``used``, ``wanted`` : files and
    streams in force, and those that the next tick may ask for. ``silent_after_s`` : without a heartbeat for so long the
    share goes to others.
    """

    sequence: int
    known: int
    owner: UUID
    state: bytes
    enquiry: bytes
    heartbeat: bytes
    decision: bytes
    claims: tuple[Claim, ...]
    used: tuple[int, int]
    wanted: tuple[int, int]
    weight: float
    silent_after_s: float
    begun: bytes = b""
    is_owner_known: bool = False


class ExchangeOutcome(StrEnum):
    STORED = "stored"
    OVERTAKEN = "overtaken"
    """Another process has gone on with the transfer: its state comes back, nothing was stored."""
    ENDED = "ended"
    """The transfer is over."""
    OTHER_KEY = "anothers"
    """The session belongs to another key: nothing was stored."""
    FULL = "full"
    """The key, or all keys of its tenant, have as many sessions as they may: no session was begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeResult:
    """``share`` : granted now, or to the session that has overtaken this one; ``state`` : of that session, JSON.

    ``owner`` : of a session that is another key's. ``is_of_tenant``, ``retry_after_s`` : whose sessions are too many,
    all keys' of the tenant or this key's, and when the first of them will be forgotten.
    """

    outcome: ExchangeOutcome
    journalled_sequence: int = -1
    share: Share = UNLIMITED
    state: bytes | None = None
    owner: UUID | None = None
    is_of_tenant: bool = False
    retry_after_s: float = 0.0


MOST_LIVE_OF_KEY = 4_000
"""Transfers: four times the thousand agents that one organisation may have under one key."""

KEYS_AT_ONCE = 4
"""All keys of a tenant together may have so many times as many as one."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How many transfers may be live at once, of one key and of all keys of a tenant."""

    of_key: int = MOST_LIVE_OF_KEY
    of_tenant: int = KEYS_AT_ONCE * MOST_LIVE_OF_KEY


class SessionsUnreachable(Exception):
    """Nothing is remembered or claimed for now."""


class Sessions(Protocol):
    """Sessions of live transfers; may forget everything at any time. A port because `services.queue` implements it."""

    async def exchange(self, key: TransferKey, tick: Tick) -> ExchangeResult:
        """In one step: remember the state, hand the tick to the journal, and claim the transfer's share.

        Raises
        ------
        SessionsUnreachable : the store of sessions does not answer.
        """

    async def enquiry(self, key: TransferKey) -> bytes | None:
        """JSON of the enquiry of a session; ``None`` where there is none.

        Raises
        ------
        SessionsUnreachable : the store of sessions does not answer.
        """

    async def end(self, key: TransferKey) -> None:
        """Give the share back, and let no heartbeat revive the transfer.

        Raises
        ------
        SessionsUnreachable : the store of sessions does not answer.
        """

    async def find_first_heartbeat(self, key: TransferKey) -> "FirstHeartbeat | None":
        """Return what is known of a transfer whose heartbeats may not be journalled yet; ``None`` for nothing.

        Raises
        ------
        SessionsUnreachable : the store of sessions does not answer.
        """
