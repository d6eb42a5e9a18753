"""What a file is to be packed with: as the user says, or as a sample of it and history advise."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from tradewind.compression.advice import DEFAULT_LINE_BPS, CompressionQuery, advise
from tradewind.compression.codecs import Codec, CodecSetting, list_candidate_settings, parse_setting
from tradewind.compression.content import Kind
from tradewind.compression.history import CompressionCase
from tradewind.compression.model import NetworkLine, Speeds
from tradewind.compression.steering import Steering
from tradewind.errors import InvalidValue
from tradewind_agent.compression.codecs import CodecMissing
from tradewind_agent.compression.sampling import FileSample, sample_descriptor

if TYPE_CHECKING:
    from tradewind.wire.compression import AdviceAnswer

QUICK_SETTINGS = (CodecSetting(Codec.ZSTD, 3), CodecSetting(Codec.LZ4, 1), CodecSetting(Codec.GZIP, 1))
"""Settings of a block that goes before its file was sampled, the first that both ends have."""

AUTO = "auto"
RAW = "raw"
LARGEST_SPEED = 1e15
MAX_EXPECTATIONS = 12
"""Largest number of expectations that a download sends to a server: other settings are not tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAdvice:
    """What a file is to be packed with.

    ``answer`` : on its sort; ``None`` where the user, or a web server, says with what. ``codecs`` : of both ends.
    ``sample`` : of a file of that sort.
    """

    answer: "AdviceAnswer | None" = None
    sample: FileSample | None = None
    codecs: frozenset[Codec] = frozenset()


def format_expectations(advice: "AdviceAnswer") -> str:
    """Return what is expected of codecs, the best first, as a field of a message."""
    return format_speeds(dict(each.expected for each in advice.options[:MAX_EXPECTATIONS] if each.expected is not None))


def format_speeds(speeds: Mapping[CodecSetting, Speeds]) -> str:
    return ";".join(f"{setting}={','.join(f'{value:.6g}' for value in its)}" for setting, its in speeds.items())


def parse_speeds(text: str) -> Mapping[CodecSetting, Speeds]:
    """Return what `format_speeds` has encoded.

    Raises
    ------
    InvalidValue : it makes no sense.
    """
    found = {}
    for each in filter(None, text.split(";")[:MAX_EXPECTATIONS]):
        name, _, values = each.partition("=")
        try:
            ratio, compress_bps, decompress_bps = map(float, values.split(","))
        except ValueError:
            raise InvalidValue("speeds", f"{each[:80]!r} is no codec with ratio and speeds") from None
        if not all(0 < value < LARGEST_SPEED for value in (ratio, compress_bps, decompress_bps)):
            raise InvalidValue("speeds", "ratios and speeds must be above 0 and finite")
        found[parse_setting(name)] = Speeds(ratio, compress_bps, decompress_bps)
    return found


@dataclass(frozen=True, slots=True)
class PackingMode:
    """``setting`` : by hand; ``None`` lets it be chosen and changed on the way, unless all is to go ``is_raw``."""

    setting: CodecSetting | None
    is_raw: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return ``auto``, ``raw``, or a codec with or without a level.

        Raises
        ------
        InvalidValue
        """
        word = text.strip().lower()
        if word == RAW:
            return cls.raw()
        return cls(None if word == AUTO else parse_setting(text))

    @classmethod
    def raw(cls) -> Self:
        """Return the mode without packing, for comparisons."""
        return cls(None, is_raw=True)

    @property
    def is_adaptive(self) -> bool:
        return self.setting is None and not self.is_raw

    def __str__(self) -> str:
        if self.is_raw:
            return RAW
        return AUTO if self.setting is None else str(self.setting)


def make_case(sample: FileSample) -> CompressionCase:
    return CompressionCase(
        file_bytes=sample.file_bytes, kind=sample.content.kind, cpu_class=sample.cpu_class, probe=sample.probe
    )


def find_quick_setting(codecs: frozenset[Codec]) -> CodecSetting | None:
    """Return what a block of unknown content is packed with; ``None`` where the ends share no quick codec."""
    return next((setting for setting in QUICK_SETTINGS if setting.codec in codecs), None)


def plan_by_sample(
    descriptor: int, mode: PackingMode, line_bps: float | None, codecs: frozenset[Codec]
) -> tuple[FileSample, Steering]:
    """Sample an open file next to other work, and plan by that; see `plan_steering`.

    Raises
    ------
    OSError : it cannot be read.
    """
    sample = sample_descriptor(descriptor, line_bps, time.thread_time)  # others' turns are not of the codec's time
    return sample, plan_steering(mode, sample, line_bps, codecs)


def plan_steering(
    mode: PackingMode,
    sample: FileSample | None,
    line_bps: float | None,
    codecs: frozenset[Codec],
    *,
    advice: "AdviceAnswer | None" = None,
    expected: Mapping[CodecSetting, Speeds] | None = None,
) -> Steering:
    """Return the setting to begin with, and what the others are expected to make of the content.

    Parameters
    ----------
    sample : of the file; ``None`` where ``expected`` is given, or the setting is by hand.
    codecs : that both ends have.
    advice : of the service, where it was asked: its expectations are what steering begins with.
    expected : what the request to the other end expects of each setting, the one to start with first.

    Raises
    ------
    CodecMissing : one end lacks the codec that was asked for.
    """
    from tradewind.compression.prior import build_typical_probe, load_packaged_history  # noqa: PLC0415 -- built when it is needed

    if mode.is_raw:
        return Steering(expected={}, line_bps=line_bps, setting=None)
    if mode.setting is not None:
        if mode.setting.codec not in codecs:
            raise CodecMissing(f"one end has no {mode.setting.codec}; both have {', '.join(sorted(codecs)) or 'none'}")
        return Steering(expected={}, line_bps=line_bps, setting=mode.setting)
    expected = {setting: speeds for setting, speeds in (expected or {}).items() if setting.codec in codecs}
    if expected:
        return Steering(expected=expected, line_bps=line_bps, setting=next(iter(expected)))
    assert sample is not None
    case = make_case(sample)
    if advice is None:
        question = CompressionQuery(
            case=case,
            line=NetworkLine(line_bps or DEFAULT_LINE_BPS),
            settings=list_candidate_settings(codecs),
            content=sample.content,
        )
        advised = advise(question, load_packaged_history())
        start, hardly_packs = advised.best.setting, advised.incompressible
        expected = {each.setting: each.speeds for each in advised.options if each.setting and each.speeds}
    else:
        best, hardly_packs = advice.best, advice.incompressible
        start = None if best.codec is None or best.level is None else CodecSetting(best.codec, best.level)
        expected = dict(each.expected for each in advice.options if each.expected is not None)
    if hardly_packs or not expected:
        # What was looked at may be the one part without order: the rest is expected to be as usual once it packs.
        usual = replace(case, kind=Kind.TEXT, probe=build_typical_probe(Kind.TEXT))
        expected = {
            setting: found.speeds
            for setting in list_candidate_settings(codecs)
            if (found := load_packaged_history().predict_speeds(setting, usual)) is not None
        }
    exponent = 0.0 if hardly_packs else 1.0
    return Steering(expected=expected, line_bps=line_bps, setting=start, ratio_exponent=exponent)
