"""Sessions of live transfers, stored between two heartbeats outside any process: the port and its values."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from services.application.transfers.first_heartbeats import FirstHeartbeat


class TransferKey(NamedTuple):
    """The key of a transfer: the same id under another tenant is another transfer."""

    tenant_id: UUID
    transfer_id: UUID


@dataclass(frozen=True, slots=True)
class CapClaim:
    """A cap that a transfer falls under, shared by all live transfers of its scope."""

    scope: str
    concurrency: int | None
    streams: int | None


@dataclass(frozen=True, slots=True)
class Share:
    """Files and streams that one transfer may use of the caps it falls under; ``None`` where none is set."""

    concurrency: int | None = None
    streams: int | None = None

    @property
    def granted(self) -> bool:
        """Whether the transfer may run at all."""
        return self.concurrency != 0 and self.streams != 0


UNLIMITED = Share()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A heartbeat with the decision on it.

    ``known`` : sequence of the state that the decision was computed from, −1 for none. ``state``, ``request``,
    ``heartbeat``, ``decision`` : JSON, the heartbeat without its request. ``start`` : the start of the transfer as
    JSON, empty once it is stored. ``owner`` : key that the transfer belongs to; ``is_owner_known`` : the database
    confirms it, which overrules any session. ``used``, ``requested`` : files and streams in use, and those that the
    next tick may need. ``is_idle`` : it moved nothing since its last heartbeat. ``silent_after_s`` : after so long
    without a heartbeat the share goes to others.
    """

    sequence: int
    known: int
    owner: UUID
    state: bytes
    request: bytes
    heartbeat: bytes
    decision: bytes
    claims: tuple[CapClaim, ...]
    used: tuple[int, int]
    requested: tuple[int, int]
    weight: float
    silent_after_s: float
    start: bytes = b""
    is_owner_known: bool = False
    is_idle: bool = False


class ExchangeOutcome(StrEnum):
    STORED = "stored"
    OVERTAKEN = "overtaken"
    """Another process has continued the transfer: its state is returned, nothing was stored."""
    ENDED = "ended"
    """The transfer has ended."""
    OTHER_KEY = "anothers"
    """The session belongs to another key: nothing was stored."""
    FULL = "full"
    """The key, or all keys of its tenant, have the maximum number of sessions: no session was started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeResult:
    """The result of an exchange with the store of sessions.

    ``share`` : granted now, or to the session that has overtaken this one. ``state`` : of that session, JSON.
    ``owner`` : of a session of another key. ``is_of_tenant`` : the tenant has too many sessions, rather than the key.
    ``retry_after_s`` : until the first of them expires.
    """

    outcome: ExchangeOutcome
    journalled_sequence: int = -1
    share: Share = UNLIMITED
    state: bytes | None = None
    owner: UUID | None = None
    is_of_tenant: bool = False
    retry_after_s: float = 0.0


MOST_LIVE_OF_KEY = 4_000
"""Live transfers: four times the thousand agents that one organisation may have under one key."""

KEYS_AT_ONCE = 4
"""All keys of a tenant together may have this many times as many as one."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Maximum of live transfers, of one key and of all keys of a tenant."""

    of_key: int = MOST_LIVE_OF_KEY
    of_tenant: int = KEYS_AT_ONCE * MOST_LIVE_OF_KEY


class SessionsUnreachable(Exception):
    """The store of sessions does not answer: no state is stored and no share claimed."""


class Sessions(Protocol):
    """Sessions of live transfers; may forget everything at any time. A port because `services.queue` implements it."""

    async def exchange(self, key: TransferKey, tick: Tick) -> ExchangeResult:
        """Store the state, pass the tick to the stream of heartbeats, and claim the transfer's share, in one step.

        Raises
        ------
        SessionsUnreachable : the store of sessions does not answer.
        """

    async def find_request(self, key: TransferKey) -> bytes | None:
        """Return the request of a session as JSON; ``None`` where there is no session.

        Raises
        ------
        SessionsUnreachable : the store of sessions does not answer.
        """

    async def end(self, key: TransferKey) -> None:
        """Release the share, and let no heartbeat revive the transfer.

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
