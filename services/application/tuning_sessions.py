"""What is remembered of live transfers between two heartbeats, outside any process: the port, and what crosses it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol
from uuid import UUID


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
    ``heartbeat``, ``decision`` : JSON; ``tells_enquiry`` where the heartbeat holds the enquiry, too. ``begun`` :
    what is told with its first heartbeat, JSON, empty once that is done. ``used``, ``wanted`` : files and streams in
    force, and those that the next tick may ask for. ``silent_after_s`` : without a heartbeat for so long the share goes
    to others.
    """

    sequence: int
    known: int
    state: bytes
    enquiry: bytes
    heartbeat: bytes
    decision: bytes
    claims: tuple[Claim, ...]
    used: tuple[int, int]
    wanted: tuple[int, int]
    weight: float
    silent_after_s: float
    tells_enquiry: bool = False
    begun: bytes = b""


class Outcome(StrEnum):
    STORED = "stored"
    OVERTAKEN = "overtaken"
    """Another process has gone on with the transfer: its state comes back, nothing was stored."""
    ENDED = "ended"
    """The transfer is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """``share`` : granted now, or to the session that has overtaken this one; ``state`` : of that session, JSON."""

    outcome: Outcome
    journalled_sequence: int = -1
    share: Share = UNLIMITED
    state: bytes | None = None


class SessionsAway(Exception):
    """Nothing is remembered or claimed for now."""


class Sessions(Protocol):
    """Sessions of live transfers; may forget everything at any time."""

    async def exchange(self, key: TransferKey, tick: Tick) -> Exchanged:
        """In one step: remember the state, hand the tick to the journal, and claim the transfer's share.

        Raises
        ------
        SessionsAway : the store of sessions does not answer.
        """

    async def enquiry(self, key: TransferKey) -> bytes | None:
        """JSON of the enquiry of a session; ``None`` where there is none.

        Raises
        ------
        SessionsAway : the store of sessions does not answer.
        """

    async def end(self, key: TransferKey) -> None:
        """Give the share back, and let no heartbeat revive the transfer.

        Raises
        ------
        SessionsAway : the store of sessions does not answer.
        """
