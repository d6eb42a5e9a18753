"""What workers tell of their work once it is committed: logs and metrics are made of these."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from services.application.models.gate import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFitted:
    """A link has a new model in the release that is being built."""

    tenant_id: UUID
    release_id: int
    link_id: UUID
    rows: int
    leaves: int
    duration_s: float
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRefused:
    """A link got no new model; ``verdict`` is absent where none could be fitted."""

    tenant_id: UUID
    release_id: int
    link_id: UUID
    reason: str
    duration_s: float
    verdict: Verdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePublished:
    """A release is in force, so long after it was begun; ``outcomes``: how many links fared how."""

    tenant_id: UUID
    release_id: int
    outcomes: Mapping[str, int]
    building_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRefused:
    """A complete release was put aside."""

    tenant_id: UUID
    release_id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OldReleasesRemoved:
    """A tenant's old releases are gone, or a part of them."""

    tenant_id: UUID
    releases: int
    models: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysRolledUp:
    """So many days of a tenant's links were added up anew."""

    tenant_id: UUID
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsExported:
    """A day of a tenant's view is in its Parquet file."""

    tenant_id: UUID
    view: str
    day: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsDropped:
    """A month of all tenants' logs is gone from the database; their number is an estimate."""

    month: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsRetained:
    """A month of logs is due, but cannot be dropped yet."""

    month: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """How many tenants have links to fit, and how many have releases that are too old."""

    tenants_with_work: int
    tenants_with_old_releases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatsJournalled:
    """What became of the heartbeats that came since the last run of the journal."""

    stored: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatDropped:
    """An entry of the stream of heartbeats cannot be stored; ids as they stand there, empty where none do."""

    entry: str
    tenant_id: str
    transfer_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotesJournalled:
    """What became of the entries of quotes that came since the last run of their journal; each has several."""

    stored: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotesDropped:
    """An entry of the stream of quotes cannot be stored; the id as it stands there."""

    entry: str
    tenant_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LongReadsEnded:
    """Sessions of analysts' tools went on for too long in one transaction."""

    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalWaits:
    """The database or the stream of a journal is away; the next run of the journal takes the same entries."""

    reason: str


WorkEvent = (
    LinkFitted
    | LinkRefused
    | ReleasePublished
    | ReleaseRefused
    | OldReleasesRemoved
    | DaysRolledUp
    | LogsExported
    | LogsDropped
    | LogsRetained
    | LongReadsEnded
    | Swept
    | HeartbeatsJournalled
    | HeartbeatDropped
    | QuotesJournalled
    | QuotesDropped
    | JournalWaits
)


class Reporter(Protocol):
    """Where facts are told; telling must not fail."""

    def report(self, fact: WorkEvent) -> None: ...
