"""``POST /v1/recommend``: the request, and the answer with plan, prediction, table and ready flags."""

import math
from decimal import Decimal
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import to_json

from tradewind.dataset import ChunkKind, DataSet, SizeBin
from tradewind.energy.ends import EndPower
from tradewind.energy.measured import Host
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.prediction import Interval, PredictedSetting
from tradewind.recommendation import AnswerSource, ChunkPlan, CompactTable
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, Sla, SlaKind
from tradewind.tiers.setting_table import SettingTable
from tradewind.wire.base import AtLeastOne, Count, ExactDecimal, Name, NonNegative, Open, ProfileName, Strict
from tradewind.wire.limits import WireLimits
from tradewind.wire.records import WireParameters, WirePath

MEAN_TOLERANCE = 0.01
"""Rounding of a mean file size that is given next to the sums it follows from, relative."""


class WireSizeBin(Strict):
    """Files of at most ``max_file_bytes`` and above the bin before."""

    max_file_bytes: AtLeastOne
    file_count: Count
    total_bytes: Count


class WireWorkload(Strict):
    """The data set to move; the histogram, where given, is what chunks are made of."""

    file_count: AtLeastOne
    total_bytes: Count
    mean_file_bytes: NonNegative | None = None
    size_histogram: tuple[WireSizeBin, ...] = Field(default=(), max_length=64)
    content_type: Name | None = None

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        mean = self.total_bytes / self.file_count
        if self.mean_file_bytes is not None and abs(self.mean_file_bytes - mean) > MEAN_TOLERANCE * mean + 1:
            raise InvalidValue("dataset.mean_file_bytes", f"is not total_bytes / file_count, which is {mean:g}")
        if self.size_histogram:
            self._check_histogram()
        return self

    def _check_histogram(self) -> None:
        lowest = 0
        for i, size_bin in enumerate(self.size_histogram):
            field = f"dataset.size_histogram.{i}"
            if size_bin.max_file_bytes <= lowest:
                raise InvalidValue(f"{field}.max_file_bytes", "must rise from bin to bin")
            if size_bin.total_bytes > size_bin.file_count * size_bin.max_file_bytes:
                raise InvalidValue(f"{field}.total_bytes", "is more than file_count files of max_file_bytes")
            lowest = size_bin.max_file_bytes
        for name in ("file_count", "total_bytes"):
            declared = sum(getattr(size_bin, name) for size_bin in self.size_histogram)
            if declared != getattr(self, name):
                raise InvalidValue(
                    "dataset.size_histogram", f"has a {name} of {declared} in all, not {getattr(self, name)}"
                )

    def list_bins(self) -> tuple[SizeBin, ...]:
        if self.size_histogram:
            return tuple(SizeBin(b.max_file_bytes, b.file_count, b.total_bytes) for b in self.size_histogram)
        mean = -(-self.total_bytes // self.file_count)
        return (SizeBin(max(mean, 1), self.file_count, self.total_bytes),)

    def to_dataset(self) -> DataSet:
        return DataSet(file_count=self.file_count, total_bytes=self.total_bytes, content_type=self.content_type)


class WireSla(Strict):
    """``energy_basis`` : absent, the power policy of the endpoints decides it; the answer names it."""

    kind: SlaKind
    target: float | None = Field(default=None, ge=1e-9, le=1e18)
    fraction: float | None = None
    confidence: float = DEFAULT_CONFIDENCE
    energy_basis: EnergyBasis | None = None

    @classmethod
    def from_sla(cls, sla: Sla) -> Self:
        return cls(
            kind=sla.kind,
            target=sla.target,
            fraction=sla.fraction,
            confidence=sla.confidence,
            energy_basis=None if sla.has_default_basis else sla.energy_basis,
        )

    def to_sla(self) -> Sla:
        return Sla(
            kind=self.kind,
            target=self.target,
            fraction=self.fraction,
            confidence=self.confidence,
            energy_basis=self.energy_basis or EnergyBasis.TOTAL,
            has_default_basis=self.energy_basis is None,
        )


MOST_LABELS = 20
LabelKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,49}$")]


class RecommendRequest(Strict):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "source": "sample-origin",
                    "destination": "sample-ocean",
                    "dataset": {"file_count": 8, "total_bytes": 8_800_000},
                    "sla": {"kind": "throughput_at_least", "target": 20_000_000, "confidence": 0.9},
                }
            ]
        }
    )

    source: Name
    destination: Name
    dataset: WireWorkload
    sla: WireSla
    mover: Name = "tradewind"
    network: Name | None = None
    path: WirePath | None = None
    load: float | None = Field(default=None, ge=0, le=1)
    device: ProfileName | None = Field(
        default=None,
        description="The receiving device, of GET /v1/devices: its limits hold, and its power is modelled where no log "
        "of the path has any; `network` names which of several radios it uses.",
    )
    limits: WireLimits | None = None
    adjustable_resources: tuple[Literal["cores", "frequency_hz"], ...] | None = Field(
        default=None,
        max_length=2,
        description="Resources of its host that the agent can change while the transfer runs.",
    )
    labels: dict[LabelKey, Name] | None = Field(
        default=None,
        max_length=MOST_LABELS,
        description="What the transfer belongs to, such as activity, user and project; stored with it for analysts.",
    )

    def to_path(self) -> Path:
        return Path(**dict(self.path)) if self.path else UNKNOWN_PATH

    @property
    def rate_limit_bps(self) -> float | None:
        """Return what the transfer's user permits at most."""
        return None if self.limits is None else self.limits.throughput_bps


class WireInterval(Open):
    mean: float
    low: float
    high: float

    @classmethod
    def from_domain(cls, interval: Interval) -> Self:
        return cls(mean=interval.mean, low=interval.low, high=interval.high)


class WirePrediction(Open):
    throughput_bps: WireInterval
    energy_j: WireInterval | None = None
    power_w: WireInterval | None = None


class WirePrice(Open):
    """What the transfer is offered for, in the currency's main unit; ``quote`` is what its log carries of it.

    ``credit`` : the share of the amount that is given back where the transfer misses its SLA.
    """

    amount: ExactDecimal
    currency: str
    basis: EnergyBasis
    book_id: UUID
    quote: str
    credit: ExactDecimal = Decimal(0)


class WireSlaAnswer(Open):
    kind: SlaKind
    confidence: float
    energy_basis: EnergyBasis
    probability: float
    feasible: bool
    target: float | None = None
    fraction: float | None = None
    tier_id: UUID | None = None
    tier: str | None = None
    price: WirePrice | None = None


class WireChunkPlan(Open):
    """Files up to ``max_file_bytes`` (absent: all that are left) and their own parameters."""

    chunk: ChunkKind
    max_file_bytes: int | None = None
    parameters: WireParameters

    def to_plan(self) -> ChunkPlan:
        return ChunkPlan(self.chunk, self.max_file_bytes, Parameters(**dict(self.parameters)))


class WireTableSetting(Open):
    """One setting: ln of bit/s with its spread; the mean of the log-normal total power, W, and the sd of its log."""

    parameters: WireParameters
    log_throughput_mean: float
    log_throughput_sd: float
    power_w_mean: float | None = None
    power_log_sd: float | None = None
    log_covariance: float | None = None
    certified: bool = True

    def to_setting(self) -> PredictedSetting:
        power_sd = self.power_log_sd or 0.0
        return PredictedSetting(
            parameters=Parameters(**dict(self.parameters)),
            log_throughput_mean=self.log_throughput_mean,
            log_throughput_sd=self.log_throughput_sd,
            log_power_mean=None if self.power_w_mean is None else math.log(self.power_w_mean) - power_sd**2 / 2,
            log_power_sd=power_sd,
            log_covariance=self.log_covariance or 0.0,
            certified=self.certified,
        )


class WireEndPower(Open):
    """Mean power of one end in a table's history, W, and its base power where that is known."""

    power_w: NonNegative
    base_w: NonNegative | None = None


class WireTable(Open):
    """``power_ends`` : the ends that the table's power is of; ``None`` where a service does not say."""

    settings: tuple[WireTableSetting, ...]
    base_power_w: float | None = None
    queueing_delay_p90_s: dict[int, float] = Field(default_factory=dict)
    loss_baseline: float | None = None
    bank_limit_bits: float | None = None
    power_ends: dict[Host, WireEndPower] | None = None

    def to_table(self) -> CompactTable:
        settings = tuple(setting.to_setting() for setting in self.settings)
        return CompactTable(
            predicted=SettingTable(settings, self.base_power_w),
            queueing_delay_p90_s=self.queueing_delay_p90_s,
            loss_baseline=self.loss_baseline,
            bank_limit_bits=self.bank_limit_bits,
            power_by_end={host: EndPower(each.power_w, each.base_w) for host, each in (self.power_ends or {}).items()},
        )


class WireRegions(Open):
    """The electricity regions of both ends; ``null`` where one is unknown."""

    source: str | None = None
    destination: str | None = None


class RecommendResponse(Open):
    """``regions`` : absent where neither end's is known."""

    transfer_id: UUID
    parameters: WireParameters
    chunks: tuple[WireChunkPlan, ...]
    predicted: WirePrediction
    sla: WireSlaAnswer
    table: dict[ChunkKind, WireTable]
    rationale: str
    source: AnswerSource
    release: int | None = None
    nearest_data_distance: float | None = None
    flags: dict[str, str]
    not_expressible: tuple[str, ...] = ()
    regions: WireRegions | None = None


def to_wire_parameters(parameters: Parameters) -> WireParameters:
    """Return the wire form of domain parameters, trusted as they are."""
    return WireParameters.model_construct(None, **parameters.list_known())  # type: ignore[arg-type]  # keys are field names


def serialize_table(table: CompactTable) -> bytes:
    """Return the JSON of a ``WireTable`` with every field of the table; of its settings only what is known.

    Written without the models: an unknown path's table is made for each request, and they took most of its time.
    """
    return to_json(
        {
            "settings": [_build_table_setting(setting) for setting in table.predicted.settings],
            "base_power_w": table.predicted.base_power_w,
            "queueing_delay_p90_s": dict(table.queueing_delay_p90_s),
            "loss_baseline": table.loss_baseline,
            "bank_limit_bits": table.bank_limit_bits,
            "power_ends": {host: each._asdict() for host, each in table.power_by_end.items()} or None,
        }
    )


def _build_table_setting(setting: PredictedSetting) -> dict[str, object]:
    written: dict[str, object] = {
        "parameters": setting.parameters.list_known(),
        "log_throughput_mean": round(setting.log_throughput_mean, 5),
        "log_throughput_sd": round(setting.log_throughput_sd, 5),
        "certified": setting.certified,
    }
    if setting.log_power_mean is not None:
        written["power_w_mean"] = round(math.exp(setting.log_power_mean + setting.log_power_sd**2 / 2), 4)
        written["power_log_sd"] = round(setting.log_power_sd, 5)
        written["log_covariance"] = round(setting.log_covariance, 6)
    return written
