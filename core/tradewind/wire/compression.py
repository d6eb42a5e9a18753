"""``/v1/compression``: requests about a file, the advice, and what transfers observed of codecs."""

from typing import Annotated, NamedTuple, Self
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from tradewind.compression.advice import (
    DEFAULT_CPU_W,
    DEFAULT_NETWORK_W,
    CodecAdvice,
    CompressionOption,
    CompressionQuery,
    Objective,
)
from tradewind.compression.codecs import Codec, CodecSetting, list_candidate_settings, parse_setting
from tradewind.compression.content import Content, Kind
from tradewind.compression.history import MAX_CORES, CodecObservation, CompressionCase, parse_core_count
from tradewind.compression.model import (
    MAX_CODEC_BPS,
    MAX_RATIO,
    MIN_CODEC_BPS,
    MIN_RATIO,
    Mode,
    NetworkLine,
    Speeds,
)
from tradewind.errors import InvalidValue
from tradewind.wire.base import CPU_CLASS, AtLeastOne, Bandwidth, Instant, NonNegative, Open, Strict
from tradewind.wire.recommendations import RecommendRequest, RecommendResponse

MAX_SETUP_S = 3600.0
MAX_SAMPLES = 64
MAX_OBSERVATIONS = 1000
MAX_FILE_CLASSES = 16
MAX_CONNECTIONS = 1000


def _check_core_count(cpu_class: str) -> str:
    if parse_core_count(cpu_class) > MAX_CORES:
        raise ValueError(f"has more than {MAX_CORES} cores")
    return cpu_class


CpuClass = Annotated[
    str,
    StringConstraints(min_length=1, max_length=100, pattern=CPU_CLASS),
    AfterValidator(_check_core_count),
]
Ratio = Annotated[float, Field(gt=MIN_RATIO, lt=MAX_RATIO)]
Rate = Annotated[float, Field(gt=MIN_CODEC_BPS, lt=MAX_CODEC_BPS)]
Power = Annotated[float, Field(ge=0, le=1e5)]


class WireSpeeds(Strict):
    """Uncompressed over compressed size; plain bits a second, with CRC-32 and SHA-256 of them, as each end takes."""

    ratio: Ratio
    compress_bps: Rate
    decompress_bps: Rate

    def to_speeds(self) -> Speeds:
        return Speeds(self.ratio, self.compress_bps, self.decompress_bps)

    @classmethod
    def from_domain(cls, speeds: Speeds) -> Self:
        return cls(ratio=speeds.ratio, compress_bps=speeds.compress_bps, decompress_bps=speeds.decompress_bps)


class WireSetting(Strict):
    codec: Codec
    level: Annotated[int, Field(ge=0, le=99)]

    @model_validator(mode="after")
    def _check_codec_has_level(self) -> Self:
        try:
            parse_setting(f"{self.codec}:{self.level}")
        except InvalidValue as wrong:
            raise ValueError(wrong.reason) from None
        return self

    def to_setting(self) -> CodecSetting:
        return CodecSetting(self.codec, self.level)


class WireSampled(WireSetting):
    """What a setting made of the sample."""

    speeds: WireSpeeds


class SampledFile(Strict):
    """A file that may be packed.

    ``probe`` : what gzip -1 makes of a sample of the file on the sending machine; ``samples`` : what others make of it,
    on all cores that they use.
    ``setup_s`` : time that any transfer on this path costs; ``packing_setup_s`` : that a packed one costs in addition.
    ``codecs`` : that both ends have; absent: all are thought to.
    ``sequential`` : also consider packing the entire file before it is sent.
    """

    file_bytes: AtLeastOne
    setup_s: Annotated[float, Field(ge=0, le=MAX_SETUP_S)] = 0.0
    packing_setup_s: Annotated[float, Field(ge=0, le=MAX_SETUP_S)] = 0.0
    kind: Kind = Kind.BINARY
    entropy_bits_per_byte: Annotated[float, Field(ge=0, le=8)] | None = None
    cpu_class: CpuClass = "unknown"
    probe: WireSpeeds | None = None
    samples: Annotated[tuple[WireSampled, ...], Field(max_length=MAX_SAMPLES)] = ()
    codecs: tuple[Codec, ...] | None = None
    sequential: bool = False
    objective: Objective = Objective.MAX_THROUGHPUT
    cpu_w: Power = DEFAULT_CPU_W
    network_w: Power = DEFAULT_NETWORK_W

    @field_validator("samples")
    @classmethod
    def _check_settings_differ(cls, samples: tuple[WireSampled, ...]) -> tuple[WireSampled, ...]:
        settings = [sample.to_setting() for sample in samples]
        twice = next((setting for number, setting in enumerate(settings) if setting in settings[:number]), None)
        if twice is not None:
            raise ValueError(f"names {twice} more than once")
        return samples

    @field_validator("samples")
    @classmethod
    def _require_probe(cls, samples: tuple[WireSampled, ...], info: ValidationInfo) -> tuple[WireSampled, ...]:
        """Require a probe: without one there is nothing to compare history with."""
        if samples and info.data.get("probe", samples) is None:
            raise ValueError("need the probe, what gzip -1 makes of the same bytes")
        return samples

    def build_query(self, usual_probe: Speeds, line_bps: float, raw_bps: float | None = None) -> CompressionQuery:
        """Return the request in the words of the domain.

        Parameters
        ----------
        usual_probe : of content of this kind, where the file was not sampled.
        line_bps : that packed files go by; ``raw_bps`` : what others reach, where they go another way.
        """
        case = CompressionCase(
            file_bytes=self.file_bytes,
            kind=self.kind,
            cpu_class=self.cpu_class,
            probe=usual_probe if self.probe is None else self.probe.to_speeds(),
        )
        entropy = self.entropy_bits_per_byte
        return CompressionQuery(
            case=case,
            line=NetworkLine(line_bps, self.setup_s),
            packing_setup_s=self.packing_setup_s,
            raw_bps=raw_bps,
            sampled=self.probe is not None,
            settings=list_candidate_settings(None if self.codecs is None else frozenset(self.codecs)),
            content=None if entropy is None else Content(self.kind, entropy),
            samples=[
                CodecObservation(case=case, setting=sample.to_setting(), speeds=sample.speeds.to_speeds())
                for sample in self.samples
            ],
            objective=self.objective,
            modes=(Mode.PIPED, Mode.SEQUENTIAL) if self.sequential else (Mode.PIPED,),
            cpu_w=self.cpu_w,
            network_w=self.network_w,
        )


class AdviceRequest(SampledFile):
    """A file and a path."""

    bandwidth_bps: Bandwidth

    def to_query(self, usual_probe: Speeds) -> CompressionQuery:
        return self.build_query(usual_probe, self.bandwidth_bps)


class FileClassRequest(SampledFile):
    """One of many similar files that are packed or sent by the recommendation's setting.

    ``connections`` : that packed files go over at once, one a file.
    """

    connections: Annotated[int, Field(ge=1, le=MAX_CONNECTIONS)] = 1

    def to_query(self, usual_probe: Speeds, baseline: "ExpectedRates") -> CompressionQuery:
        return self.build_query(usual_probe, baseline.packed_bps, baseline.recommended_bps)


class ExpectedRates(NamedTuple):
    """What a recommended setting is expected to reach with files as they are, and connections of packed ones carry."""

    recommended_bps: float
    packed_bps: float


class WireBand(Open):
    mean: float
    low: float
    high: float


class WireOption(Open):
    """One way to send the file. ``codec``, ``level`` and the codec's own speeds are absent of the raw one.

    Energy is modelled, above idle.
    """

    mode: Mode
    codec: Codec | None = None
    level: int | None = None
    ratio: float
    compress_bps: float | None = None
    decompress_bps: float | None = None
    duration_s: float
    throughput_bps: WireBand
    energy_j: NonNegative

    @property
    def setting(self) -> CodecSetting | None:
        """``None`` of the raw option, or of a service that does not tell."""
        return None if self.expected is None else self.expected[0]

    @property
    def expected(self) -> tuple[CodecSetting, Speeds] | None:
        """Return what is expected of a codec; ``None`` of the raw option, or of a service that does not tell."""
        if self.codec is None or self.level is None or self.compress_bps is None or self.decompress_bps is None:
            return None
        return CodecSetting(self.codec, self.level), Speeds(self.ratio, self.compress_bps, self.decompress_bps)

    @classmethod
    def from_domain(cls, option: CompressionOption) -> Self:
        band = option.throughput_bps
        return cls(
            mode=option.mode,
            codec=None if option.setting is None else option.setting.codec,
            level=None if option.setting is None else option.setting.level,
            ratio=option.ratio,
            compress_bps=None if option.speeds is None else option.speeds.compress_bps,
            decompress_bps=None if option.speeds is None else option.speeds.decompress_bps,
            duration_s=option.duration_s,
            throughput_bps=WireBand(mean=band.mean, low=band.low, high=band.high),
            energy_j=option.energy_j,
        )


class AdviceAnswer(Open):
    """The best option, all of them from best to worst, and why. ``source`` : what the expectations rest on."""

    best: WireOption
    options: tuple[WireOption, ...]
    incompressible: bool
    sampled: bool
    source: str
    rationale: str

    @classmethod
    def from_domain(cls, advice: CodecAdvice, *, sampled: bool, source: str) -> Self:
        return cls(
            best=WireOption.from_domain(advice.best),
            options=tuple(map(WireOption.from_domain, advice.options)),
            incompressible=advice.incompressible,
            sampled=sampled,
            source=source,
            rationale=advice.rationale,
        )


class WireObservation(WireSetting):
    """What a codec made of a file that was transferred, or of a sample of one.

    ``id`` makes the same one sent twice count once. ``probe`` and ``speeds`` : packed by a ``cpu_class``, unpacked by
    the other end, or by the same one.
    """

    id: UUID
    seen_at: Instant
    file_bytes: AtLeastOne
    kind: Kind
    cpu_class: CpuClass
    probe: WireSpeeds
    speeds: WireSpeeds

    def to_observation(self) -> CodecObservation:
        return CodecObservation(
            case=CompressionCase(
                file_bytes=self.file_bytes, kind=self.kind, cpu_class=self.cpu_class, probe=self.probe.to_speeds()
            ),
            setting=self.to_setting(),
            speeds=self.speeds.to_speeds(),
        )


class NewObservations(Strict):
    observations: Annotated[tuple[WireObservation, ...], Field(min_length=1, max_length=MAX_OBSERVATIONS)]


class ObservationsReceipt(Open):
    """``kept`` : those that were not known before."""

    kept: int


class FullRecommendRequest(RecommendRequest):
    """A recommendation request that includes compression; separate, because other agents do without it.

    ``compression`` : for one file on a path of a given rate. ``file_classes`` : for sorts of files of the data set,
    each packed or sent by the very setting that is recommended, whichever is expected to be faster.
    """

    compression: AdviceRequest | None = None
    file_classes: Annotated[tuple[FileClassRequest, ...], Field(max_length=MAX_FILE_CLASSES)] = ()


class FullRecommendResponse(RecommendResponse):
    """``file_classes`` : one for each that was asked about, in their order."""

    compression: AdviceAnswer | None = None
    file_classes: tuple[AdviceAnswer, ...] = ()
