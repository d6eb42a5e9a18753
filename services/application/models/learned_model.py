"""Learned models as they are stored, with the ids that prices and readers refer to."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from tradewind.cluster import Leaf
from tradewind.model import LeafModel, LinkModel
from tradewind.path import Path
from tradewind.tiers.partitions import Bounds, has_moved
from tradewind.transfer import LinkKey


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLink:
    """A stored link: its identity, the number of its logs, and the version of the logs that it is fitted to.

    ``refit_rows``, ``refit_at`` : with newer logs it is fitted again from this number of rows or from this time on;
    ``None`` where its last fit was not refused.
    """

    id: UUID
    key: LinkKey
    source_id: UUID
    destination_id: UUID
    rows: int
    last_log_at: datetime | None
    logs_version: int
    fitted_version: int
    refit_rows: int | None = None
    refit_at: datetime | None = None


class ReviewedBounds(NamedTuple):
    """Bounds of a tier, in bit/s, J per byte or W by its kind."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Tier:
    """The identity of an SLA partition over releases; ``needs_review`` : its bounds have moved, or it is split off.

    ``name`` : given by its provider; ``None`` for a name by its range. ``split_from`` : of a tier that is not stored
    yet, the tier whose price it inherits. ``reviewed`` : the bounds that its provider has seen last; ``None`` where
    these are its own, or where nobody has seen a tier that is split off.
    """

    id: UUID
    needs_review: bool = False
    name: str | None = None
    split_from: UUID | None = None
    reviewed: "ReviewedBounds | None" = None

    def move(self, before: Bounds, now: Bounds) -> "Tier":
        """Return the tier with other bounds: to be reviewed while they differ from those that its provider has seen.

        Small moves add up: each is compared with these, not with the release before.
        """
        if self.needs_review and self.reviewed is None:
            return replace(self, split_from=None)
        seen = self.reviewed or ReviewedBounds(before.lower, before.upper)
        return replace(self, needs_review=has_moved(seen, now), reviewed=seen)


@dataclass(frozen=True, slots=True)
class StoredLeaf:
    """A cluster with its id, and one tier for each partition, in their order."""

    cluster_id: UUID
    model: LeafModel
    tiers: tuple[Tier, ...]


@dataclass(frozen=True, slots=True)
class ModelOverview:
    """The part of a model that a list of links shows."""

    path: Path
    clusters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOutline:
    """The part of a cluster that the page of a link shows.

    ``settings_seen`` : settings in its logs, counted. ``fastest_bps`` : the highest throughput that a setting reaches
    with the default confidence; ``None`` if none is certified.
    """

    cluster_id: UUID
    leaf: Leaf
    accuracy: Mapping[str, float]
    settings_seen: int
    fastest_bps: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutline:
    """The part of a model that the page of a link shows: one line for each cluster."""

    fitted_at: datetime
    path: Path
    rows: int
    load_median: float
    failures: tuple[str, ...]
    clusters: tuple[ClusterOutline, ...]


@dataclass(frozen=True, slots=True)
class LastFit:
    """The newest fit of a link in a release: the reason why it gave no model, and its metrics."""

    reason: str | None = None
    verdict: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class IndexedModel:
    """The part of a link's model in the index of a release: enough to find it, or a neighbour.

    ``powered`` : for each leaf, whether its logs have power, so that it can serve energy SLAs.
    """

    id: UUID
    path: Path
    leaves: tuple[Leaf, ...]
    powered: tuple[bool, ...]
    link_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredModel:
    """The stored model of one link."""

    id: UUID
    link_id: UUID
    fitted_at: datetime
    path: Path
    rows: int
    load_median: float
    unknown_bps: float | None
    failures: tuple[str, ...]
    leaves: tuple[StoredLeaf, ...]

    def model(self) -> LinkModel:
        """Return the domain value without ids."""
        return LinkModel(
            path=self.path,
            leaves=tuple(leaf.model for leaf in self.leaves),
            rows=self.rows,
            load_median=self.load_median,
            unknown_bps=self.unknown_bps,
            failures=self.failures,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRelease:
    """A stored release and its size."""

    id: int
    state: str
    created_at: datetime
    published_at: datetime | None
    parent_id: int | None
    gate: dict[str, Any]
    links: int
    clusters: int
    current: bool


@dataclass(frozen=True, slots=True)
class Span:
    """From the start of a link's first transfer to the end of its last."""

    begins_at: datetime
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class ClaimedLink:
    """A link that this transaction has claimed to fit, and how often its fit was started."""

    link_id: UUID
    logs_version: int
    attempts: int


@dataclass(frozen=True, slots=True)
class KnownLoadCurve:
    """The known load of an endpoint over time: breakpoints, POSIX s, and the step of the rate at each, bytes/s.

    Arrays of doubles, because a busy endpoint has millions.
    """

    times_s: "array[float]"
    rate_steps: "array[float]"


@dataclass(frozen=True, slots=True)
class EndpointLoad:
    """The known load curves of an endpoint, the oldest month first, read on demand.

    ``rows_by_month`` : rows in each curve; while these numbers are the same, so are the curves.
    """

    endpoint_id: UUID
    rows_by_month: tuple[tuple[datetime, int], ...]
    read: Callable[[], Sequence[KnownLoadCurve]]
