"""What three codecs are known to have made of one file, and questions about it."""

from tradewind.compression.advice import CompressionQuery
from tradewind.compression.codecs import Codec, CodecSetting, list_candidate_settings
from tradewind.compression.content import Kind
from tradewind.compression.history import CodecObservation, CompressionCase, History
from tradewind.compression.model import NetworkLine, Speeds

PROBE = Speeds(4.0, 400e6, 1600e6)
XZ, ZSTD, GZIP = CodecSetting(Codec.XZ, 0), CodecSetting(Codec.ZSTD, 3), CodecSetting(Codec.GZIP, 1)


def case(**changes: object) -> CompressionCase:
    values = {"file_bytes": 30_000_000, "kind": Kind.TEXT, "cpu_class": "x86_64/a/2", "probe": PROBE} | changes
    return CompressionCase(**values)  # type: ignore[arg-type]


def observed(setting: CodecSetting, ratio: float, mbps: float, **changes: object) -> CodecObservation:
    return CodecObservation(case=case(**changes), setting=setting, speeds=Speeds(ratio, mbps * 1e6, 4 * mbps * 1e6))


HISTORY = History.of([observed(XZ, 8.0, 80), observed(ZSTD, 5.0, 1600), observed(GZIP, 4.0, 400)])


def question(rate_mbps: float, **changes: object) -> CompressionQuery:
    values = {"case": case(), "line": NetworkLine(rate_mbps * 1e6), "settings": list_candidate_settings()} | changes
    return CompressionQuery(**values)  # type: ignore[arg-type]
