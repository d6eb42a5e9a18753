"""Statistics of codecs from a tenant's transfers, and what advice expects of each on paths of four rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tradewind.compression.advice import CompressionOption, CompressionQuery, advise
from tradewind.compression.codecs import CodecSetting, list_candidate_settings
from tradewind.compression.content import Kind
from tradewind.compression.history import CompressionCase, History
from tradewind.compression.model import NetworkLine, Speeds
from tradewind.compression.prior import build_typical_probe
from tradewind.compression.prior_table import CPU_CLASS
from tradewind.units import BITS_PER_BYTE

RATES_BPS = tuple(rate * 1e6 * BITS_PER_BYTE for rate in (0.5, 2.0, 5.0, 20.0))
"""Rates of the four paths that compressed transfers are measured on."""

FILE_BYTES = 30_000_000
"""Large enough for start-up not to count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecStatistics:
    """Observations of a setting by transfers and samples; ratio and speeds are geometric means."""

    setting: CodecSetting
    observations: int
    machines: int
    kinds: tuple[str, ...]
    speeds: Speeds
    newest_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecOutlook:
    """Expectations of each setting for content of a kind, compressed on a machine.

    ``throughput_bps``, ``raw_bps``, ``best`` : by rate of the path; a best of ``None`` means uncompressed.
    """

    expected: Mapping[CodecSetting, CompressionOption]
    throughput_bps: Mapping[CodecSetting, tuple[float, ...]]
    raw_bps: tuple[float, ...]
    best: tuple[CodecSetting | None, ...]


def estimate_outlook(history: History, kind: Kind, machine: str = CPU_CLASS) -> CodecOutlook:
    """Return the expectations for one large file of the kind without a sample."""
    case = CompressionCase(file_bytes=FILE_BYTES, kind=kind, cpu_class=machine, probe=build_typical_probe(kind))
    question = CompressionQuery(
        case=case, line=NetworkLine(RATES_BPS[0]), settings=list_candidate_settings(), sampled=False
    )
    advices = [advise(replace(question, line=NetworkLine(rate_bps)), history) for rate_bps in RATES_BPS]
    by_setting = [{option.setting: option for option in advice.options} for advice in advices]
    known: Sequence[CodecSetting] = [setting for setting in by_setting[0] if setting is not None]
    return CodecOutlook(
        expected={setting: by_setting[0][setting] for setting in known},
        throughput_bps={
            setting: tuple(options[setting].throughput_bps.mean for options in by_setting) for setting in known
        },
        raw_bps=tuple(options[None].throughput_bps.mean for options in by_setting),
        best=tuple(advice.best.setting for advice in advices),
    )
