"""What was learned, as it is kept: models with the identities that prices and readers refer to."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from tradewind.cluster import Leaf
from tradewind.model import LeafModel, LinkModel
from tradewind.path import Path
from tradewind.transfer import LinkKey


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLink:
    """A link as it stands: what identifies it, how many logs it has, and up to which of them it is fitted.

    ``refit_rows``, ``refit_at`` : with newer logs it is fitted again from so many on, or from that time on; ``None``
    where its last fit was not refused.
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


@dataclass(frozen=True, slots=True)
class Tier:
    """Identity of an SLA partition, carried on from release to release; ``needs_review`` since its bounds moved.

    ``name`` : what its provider calls it, where that was asked for; by its range otherwise.
    ``split_from`` : of one that is not stored yet, the tier whose price it inherits.
    """

    id: UUID
    needs_review: bool = False
    name: str | None = None
    split_from: UUID | None = None


@dataclass(frozen=True, slots=True)
class StoredLeaf:
    """A cluster with its identity; one tier a partition, in their order."""

    cluster_id: UUID
    model: LeafModel
    tiers: tuple[Tier, ...]


@dataclass(frozen=True, slots=True)
class ModelOverview:
    """What a list of links shows of a model."""

    path: Path
    clusters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOutline:
    """What the page of a link shows of a cluster.

    ``settings_seen`` : how many its logs tell of. ``fastest_bps`` : the highest throughput that some setting keeps with
    the default confidence, ``None`` if none is certified.
    """

    cluster_id: UUID
    leaf: Leaf
    accuracy: Mapping[str, float]
    settings_seen: int
    fastest_bps: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutline:
    """What the page of a link shows of its model: no more than a line a cluster."""

    fitted_at: datetime
    path: Path
    rows: int
    load_median: float
    failures: tuple[str, ...]
    clusters: tuple[ClusterOutline, ...]


@dataclass(frozen=True, slots=True)
class LastFit:
    """Of a link in a release: why its newest logs gave no model, and the figures that the newest fit was judged by."""

    reason: str | None = None
    verdict: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class IndexedModel:
    """What an index of a release holds of a link's model: enough to find it, or a neighbour, by.

    ``powered`` : for each leaf, whether its logs tell power, so that energy can be agreed on it.
    """

    id: UUID
    path: Path
    leaves: tuple[Leaf, ...]
    powered: tuple[bool, ...]
    link_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredModel:
    """The model of one link, as some release holds it."""

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
        """The domain's value."""
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
    """A release and how large it is."""

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
    """A link whose fit is this transaction's business, and how often it was begun."""

    link_id: UUID
    logs_version: int
    attempts: int


@dataclass(frozen=True, slots=True)
class KnownLoadCurve:
    """Known bytes of an endpoint over time: breakpoints, POSIX s, and the step of the rate at each, bytes/s.

    Arrays of doubles, because a busy endpoint has millions.
    """

    times_s: "array[float]"
    rate_steps: "array[float]"


@dataclass(frozen=True, slots=True)
class EndpointLoad:
    """The curves of an endpoint, the oldest month first, read when they are asked for.

    ``rows_by_month`` : what each of them knows; as long as it is the same, so are the curves.
    """

    endpoint_id: UUID
    rows_by_month: tuple[tuple[datetime, int], ...]
    read: Callable[[], Sequence[KnownLoadCurve]]
