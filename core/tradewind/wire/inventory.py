"""Endpoints, keys, links, clusters and surfaces: what a tenant owns and what was learned from it."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.sla.power_policy import PowerPolicy
from tradewind.wire.base import Bandwidth, BufferBytes, Name, NewName, Open, Positive, RoundTrip, Strict
from tradewind.wire.records import WireParameters
from tradewind.wire.regions import NetworkEnergyOfPath, RegionName


class KnownPair(Strict):
    """What is known of the path to another endpoint; old logs lack it."""

    destination: Name
    bandwidth_bps: Bandwidth | None = None
    rtt_s: RoundTrip | None = None
    buffer_bytes: BufferBytes | None = None
    network_energy: NetworkEnergyOfPath | None = Field(default=None, exclude_if=lambda known: known is None)

    @model_validator(mode="after")
    def _check_network_energy(self) -> Self:
        if self.network_energy is not None:
            self.network_energy.to_rate().check()
        return self


class PowerProfile(Strict):
    """Power of the endpoint's host, W: idle and at full load, and where the values come from."""

    idle_w: Positive
    full_w: Positive
    source: Name


class NewEndpoint(Strict):
    """An endpoint to be made.

    ``power_policy`` : decides the default energy basis of its transfers. ``region`` : of its electricity.
    """

    name: NewName
    aliases: tuple[Name, ...] = Field(default=(), max_length=100)
    known_pairs: tuple[KnownPair, ...] = Field(default=(), max_length=1000)
    power_profile: PowerProfile | None = None
    power_policy: PowerPolicy | None = None
    region: RegionName | None = None


class EndpointChange(Strict):
    """Fields that are absent stay as they are.

    A ``power_profile`` or ``power_policy`` of null is removed; an empty ``region`` takes the endpoint out of any.
    """

    name: NewName | None = None
    aliases: tuple[Name, ...] | None = Field(default=None, max_length=100)
    known_pairs: tuple[KnownPair, ...] | None = Field(default=None, max_length=1000)
    power_profile: PowerProfile | None = None
    power_policy: PowerPolicy | None = None
    region: RegionName | Literal[""] | None = None


class Endpoint(Open):
    id: UUID
    name: str
    aliases: tuple[str, ...]
    known_pairs: tuple[KnownPair, ...]
    power_profile: PowerProfile | None = None
    power_policy: PowerPolicy | None = None
    region: str | None = None


LEAST_WEIGHT, MOST_WEIGHT = 0.01, 100.0
LEAST_RATE_FACTOR, MOST_RATE_FACTOR = 0.01, 1000.0
Weight = Annotated[float, Field(ge=LEAST_WEIGHT, le=MOST_WEIGHT)]
RateFactor = Annotated[float, Field(ge=LEAST_RATE_FACTOR, le=MOST_RATE_FACTOR)]


class NewKey(Strict):
    """A key to be made.

    ``weight`` : of transfers under this key where a cap is split among several; one of 3 gets three times of 1.
    ``rate_factor`` : how many times the usual number of calls the key may make, for one that many agents share.
    """

    name: NewName
    scopes: tuple[Name, ...] = Field(min_length=1, max_length=4)
    weight: Weight = 1.0
    rate_factor: RateFactor = 1.0


class KeyChange(Strict):
    """What is not named stays as it is."""

    weight: Weight | None = None
    rate_factor: RateFactor | None = None

    @model_validator(mode="after")
    def _check_something_changes(self) -> Self:
        if self.weight is None and self.rate_factor is None:
            raise ValueError("name weight, rate_factor or both")
        return self


class Key(Open):
    id: UUID
    name: str
    prefix: str
    scopes: tuple[str, ...]
    weight: float = 1.0
    rate_factor: float = 1.0
    created_at: datetime
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


class CreatedKey(Key):
    """The only answer that ever holds the secret."""

    secret: str


class FitVerdict(Open):
    """What the newest fit of a link was judged by, on rows held out from it.

    ``error`` and ``error_in_force`` are mean relative errors of the fit and of the model that was current, both on the
    same ``compared_rows``, which are new to either; absent where there were too few.
    """

    accuracy: float
    coverage90: float
    held_out_rows: int
    compared_rows: int
    error: float | None = None
    error_in_force: float | None = None


class Link(Open):
    """A link; ``reason`` says why its newest logs gave no model, so that it has none or kept the one before.

    With newer logs it is then fitted again once they are ``refit_rows`` in all, or from ``refit_at`` on.
    """

    id: UUID
    source: str
    destination: str
    network: str | None
    mover: str
    rows: int
    last_log_at: datetime | None
    release: int | None
    clusters: int
    bandwidth_bps: float | None = None
    rtt_s: float | None = None
    reason: str | None = None
    verdict: FitVerdict | None = None
    refit_rows: int | None = None
    refit_at: datetime | None = None


class Cluster(Open):
    id: UUID
    link_id: UUID
    release: int
    rows: int
    mean_file_bytes: float
    mean_file_count: float
    load: float | None
    accuracy: dict[str, Any]


class SlaPartition(Open):
    id: UUID
    kind: SlaKind
    confidence: float
    energy_basis: EnergyBasis
    lower: float | None
    upper: float | None
    parameters: WireParameters
    probability: float


class Surface(Open):
    """Lattice of one cluster: every array is in C order of ``axes``."""

    cluster_id: UUID
    release: int
    axes: dict[str, tuple[float, ...]]
    log_throughput_mean: tuple[float, ...]
    log_throughput_sd: tuple[float, ...]
    power_w_mean: tuple[float, ...] | None
    power_w_sd: tuple[float, ...] | None
    certified: tuple[bool, ...]
    observed: tuple[dict[str, float], ...]
    partitions: tuple[SlaPartition, ...]
