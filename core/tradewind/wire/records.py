"""The transfer record: one NDJSON row of ``POST /v1/logs``."""

from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, model_validator

from tradewind.dataset import ChunkKind, DataSet
from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host
from tradewind.errors import InvalidValue
from tradewind.failure import LONGEST_SENTENCE, Failure, FailureKind, format_sentence
from tradewind.parameters import UNKNOWN_PARAMETERS, Parameters
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.transfer import RATE_TOLERANCE, Direction, Mover, ResourceUsage, Status, TransferOutcome, TransferRecord
from tradewind.wire.base import (
    AtLeastOne,
    Bandwidth,
    BufferBytes,
    Count,
    Fraction,
    Instant,
    Name,
    RoundTrip,
    Small,
    SmallOrZero,
    Strict,
    Text,
    describe_validation_error,
)

_ROUNDING = 1e-6
"""Share of the total by which a part may exceed it where both were rounded as they were written."""

HIGHEST_QUANTITY = 1e30
"""Of a rate, a size, a power or an energy: a higher one is corrupt, and some of 1.8e308 have no sum."""

Quantity = Annotated[float, Field(ge=0, le=HIGHEST_QUANTITY)]
PositiveQuantity = Annotated[float, Field(gt=0, le=HIGHEST_QUANTITY)]
SignedQuantity = Annotated[float, Field(ge=-HIGHEST_QUANTITY, le=HIGHEST_QUANTITY)]


class WireMover(Strict):
    name: Name
    version: Name | None = None


class WirePath(Strict):
    bandwidth_bps: Bandwidth | None = None
    rtt_s: RoundTrip | None = None
    min_rtt_s: RoundTrip | None = None
    loss_rate: Fraction | None = None
    buffer_bytes: BufferBytes | None = None


class WireDataSet(Strict):
    file_count: AtLeastOne
    total_bytes: Count
    mean_file_bytes: Quantity | None = None
    min_file_bytes: Count | None = None
    max_file_bytes: Count | None = None
    sd_file_bytes: Quantity | None = None
    content_type: Name | None = None


class WireParameters(Strict):
    concurrency: Small | None = None
    parallelism: Small | None = None
    pipelining: SmallOrZero | None = None
    io_block_bytes: AtLeastOne | None = None
    part_bytes: AtLeastOne | None = None
    cores: Small | None = None
    frequency_hz: PositiveQuantity | None = None
    memory_bytes: AtLeastOne | None = None
    disk_bps: PositiveQuantity | None = None
    nic_bps: PositiveQuantity | None = None
    codec: Name | None = None
    congestion_control: Name | None = None


class WireFailure(Strict):
    """Why a transfer failed or was cancelled. The sentence is stored without secrets, whatever the agent sends."""

    kind: FailureKind
    reason: Annotated[str, Field(max_length=LONGEST_SENTENCE), AfterValidator(format_sentence)] = ""


class WireOutcome(Strict):
    status: Status
    bytes_moved: Count
    files_done: Count
    files_failed: Count
    throughput_bps: Quantity
    retransmitted_bytes: Count | None = None
    failure: WireFailure | None = None

    def to_outcome(self) -> TransferOutcome:
        """Return the domain value."""
        failure = self.failure
        return TransferOutcome(
            **{**dict(self), "failure": None if failure is None else Failure(failure.kind, failure.reason)}
        )


class WireUsage(Strict):
    cpu: Fraction | None = None
    memory: Fraction | None = None
    disk: Fraction | None = None
    nic: Fraction | None = None


class WireEnergy(Strict):
    host: Host
    total_j: Quantity
    method: EnergyMethod
    quality: EnergyQuality
    dynamic_j: SignedQuantity | None = None
    base_w: Quantity | None = None
    tail_j: Quantity | None = None


class WireRecord(Strict):
    id: UUID
    started_at: Instant
    ended_at: Instant
    source: Name
    destination: Name
    mover: WireMover
    protocol: Name
    direction: Direction
    dataset: WireDataSet
    outcome: WireOutcome
    store: Name | None = None
    network: Name | None = None
    path: WirePath | None = None
    parameters: WireParameters | None = None
    usage: WireUsage | None = None
    energy: tuple[WireEnergy, ...] = Field(default=(), max_length=2)
    chunk: ChunkKind | None = None
    transfer_id: UUID | None = None
    sla: Text | None = None
    quote: Text | None = None

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        if self.ended_at <= self.started_at:
            raise InvalidValue("ended_at", "must be after started_at")
        bandwidth_bps = self.path.bandwidth_bps if self.path else None
        if bandwidth_bps is not None and self.outcome.throughput_bps > RATE_TOLERANCE * bandwidth_bps:
            raise InvalidValue("outcome.throughput_bps", "is above the link's rate in path.bandwidth_bps")
        for nth, reading in enumerate(self.energy):
            if reading.dynamic_j is not None and reading.dynamic_j > reading.total_j * (1 + _ROUNDING):
                raise InvalidValue(f"energy.{nth}.dynamic_j", "is more than total_j, which it is a part of")
        return self

    def to_record(self) -> TransferRecord:
        """Return the domain value of this row."""
        return TransferRecord(
            id=self.id,
            started_at=self.started_at,
            ended_at=self.ended_at,
            source=self.source,
            destination=self.destination,
            mover=Mover(self.mover.name, self.mover.version),
            protocol=self.protocol,
            direction=self.direction,
            dataset=DataSet(**self.dataset.model_dump(exclude={"mean_file_bytes"})),
            outcome=self.outcome.to_outcome(),
            path=Path(**dict(self.path)) if self.path else UNKNOWN_PATH,
            parameters=Parameters(**dict(self.parameters)) if self.parameters else UNKNOWN_PARAMETERS,
            store=self.store,
            network=self.network,
            usage=ResourceUsage(**dict(self.usage)) if self.usage else None,
            energy=tuple(EnergyReading(**dict(reading)) for reading in self.energy),
            chunk=self.chunk,
            transfer_id=self.transfer_id,
            sla=self.sla,
            quote=self.quote,
        )

    @classmethod
    def from_domain(cls, record: TransferRecord) -> Self:
        """Return the wire form of a domain record."""
        fields = _list_fields(record)
        for name in ("mover", "dataset", "outcome", "path", "parameters"):
            fields[name] = _list_fields(fields[name])
        failure = record.outcome.failure
        fields["outcome"]["failure"] = None if failure is None else _list_fields(failure)
        fields["dataset"]["mean_file_bytes"] = record.dataset.mean_file_bytes
        fields["usage"] = None if record.usage is None else _list_fields(record.usage)
        fields["energy"] = tuple(_list_fields(reading) for reading in record.energy)
        return _RECORD.validate_python(fields)  # type: ignore[return-value]  # the adapter is of this class

    def to_line(self) -> bytes:
        """Return the one NDJSON line with its newline; what is unknown is left out."""
        return self.__pydantic_serializer__.to_json(self, exclude_none=True, exclude_defaults=True) + b"\n"


def _list_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a value object with slots; `dataclasses.asdict` would copy them too."""
    return {name: getattr(value, name) for name in value.__slots__}


_RECORD = TypeAdapter(WireRecord)


def parse_row(line: bytes) -> WireRecord:
    """Return the one NDJSON line as a record.

    Raises
    ------
    InvalidValue : the first thing wrong with it, as dotted field and reason.
    """
    try:
        return _RECORD.validate_json(line)
    except ValidationError as invalid:
        raise describe_validation_error(invalid.errors(include_url=False, include_context=False)[0]) from None
