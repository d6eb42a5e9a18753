"""``/v1/releases``: published releases, their comparison with the current one, and publishing one."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, StringConstraints

from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.wire.base import NO_CONTROLS, Open, Strict

MAX_REASON_LENGTH = 500

Reason = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=3, max_length=MAX_REASON_LENGTH, pattern=NO_CONTROLS),
]


class ChangeKind(StrEnum):
    """What changes if the release becomes the current one."""

    GAINED = "gained"
    LOST = "lost"
    CHANGED = "changed"


class TierBounds(Open):
    """In bit/s, joules a byte or watts by the kind of the tier."""

    lower: float
    upper: float


class TierChange(Open):
    """A tier that is there in one of the two alone, or whose bounds move; bit/s, J a byte or W by kind."""

    tier_id: UUID
    link_id: UUID
    name: str | None
    kind: SlaKind
    confidence: float
    energy_basis: EnergyBasis
    change: ChangeKind
    before: TierBounds | None
    after: TierBounds | None


class UndecidedTiers(Open):
    """A link whose newest model waits: it would take away or move these tiers, which have a price.

    The link keeps the model before until a provider has decided. ``release`` : in which it kept it first.
    """

    decision_id: UUID
    link_id: UUID
    source: str
    destination: str
    network: str | None
    mover: str
    release: int
    raised_at: datetime
    tiers: tuple[TierChange, ...]


class DecideTiers(Strict):
    """``accept`` : put the new current model, with its tiers; else the link keeps the model before."""

    accept: bool


class Release(Open):
    """``undecided`` : of the current release, what waits for a provider's decision; empty for others."""

    id: int
    state: str
    created_at: datetime
    published_at: datetime | None
    links: int
    clusters: int
    gate: dict[str, Any]
    current: bool
    undecided: tuple[UndecidedTiers, ...] = ()


class PublishRelease(Strict):
    """``reason`` : why it becomes current though it was put aside or rolled back, for the log of changes."""

    reason: Reason


class LinkMetrics(Open):
    """Of a link's model: means over its clusters, ``accuracy`` and ``coverage90`` by held-out rows.

    ``coverage90`` : share of rows within the 90 % band. ``regret`` : share of throughput or energy that serving all
    targets of a tier with the setting of its hardest would give up, a mean over its tiers.
    """

    clusters: int
    accuracy: float | None
    coverage90: float | None
    regret: float | None
    tiers: int


class LinkChange(Open):
    """A link whose model is another one; ``before`` in the current release, ``after`` in the one that is compared."""

    link_id: UUID
    source: str
    destination: str
    network: str | None
    mover: str
    change: ChangeKind
    before: LinkMetrics | None
    after: LinkMetrics | None


class ReleaseComparison(Open):
    """A release compared with the current one. ``same`` : links whose model is the same in both.

    ``tiers`` : those that move most of ``tiers_changed``; ``tiers_gained``, ``tiers_lost`` are counted among these.
    """

    release: Release
    in_force: int | None
    same: int
    links: tuple[LinkChange, ...]
    tiers_changed: int
    tiers_gained: int
    tiers_lost: int
    tiers: tuple[TierChange, ...] = Field(description="Those that move most.")
