"""Events that workers report once their work is committed; logs and metrics are made of them."""

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
    """A link got no new model; ``verdict`` is ``None`` where no model could be fitted."""

    tenant_id: UUID
    release_id: int
    link_id: UUID
    reason: str
    duration_s: float
    verdict: Verdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePublished:
    """A release became current, ``building_s`` after its start; ``outcomes`` : links by outcome."""

    tenant_id: UUID
    release_id: int
    outcomes: Mapping[str, int]
    building_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRefused:
    """A complete release was abandoned."""

    tenant_id: UUID
    release_id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OldReleasesRemoved:
    """Old releases of a tenant were removed, and so many of their models."""

    tenant_id: UUID
    releases: int
    models: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysRolledUp:
    """So many days of a tenant's links were summed again."""

    tenant_id: UUID
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRefreshed:
    """What is billed of so many transfers of a tenant was computed again."""

    tenant_id: UUID
    transfers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsExported:
    """A day of a tenant's view was written to its Parquet file."""

    tenant_id: UUID
    view: str
    day: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsCompacted:
    """The exported days of a tenant's month were put together in one Parquet file."""

    tenant_id: UUID
    view: str
    month: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsDropped:
    """A month of all tenants' logs was dropped from the database; ``rows`` is an estimate."""

    month: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsRetained:
    """A month of logs is due, but cannot be dropped yet for these reasons."""

    month: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """The sweep counted tenants with links to fit, and tenants with releases that are too old."""

    tenants_with_work: int
    tenants_with_old_releases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatsJournalled:
    """The journal stored or dropped the heartbeats that came since its last run."""

    stored: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatDropped:
    """An entry of the heartbeat stream cannot be stored; its ids are quoted unchecked, empty where missing."""

    entry: str
    tenant_id: str
    transfer_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotesJournalled:
    """The journal stored or dropped the entries that came since its last run; an entry has several quotes."""

    stored: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotesDropped:
    """An entry of the quote stream cannot be stored; its tenant id is quoted unchecked."""

    entry: str
    tenant_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LongReadsEnded:
    """Sessions of analysts' tools were ended because one transaction lasted too long."""

    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalWaits:
    """The database or the stream of a journal is unreachable; the next run takes the same entries."""

    reason: str


WorkEvent = (
    LinkFitted
    | LinkRefused
    | ReleasePublished
    | ReleaseRefused
    | OldReleasesRemoved
    | DaysRolledUp
    | UsageRefreshed
    | LogsExported
    | LogsCompacted
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
    """Where workers report events; reporting must not fail. A port because `workers.reports` implements it."""

    def report(self, event: WorkEvent) -> None: ...
