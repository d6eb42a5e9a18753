"""What three codecs are known to have made of one file, and questions about it."""

from tradewind.compression.advice import Question
from tradewind.compression.codecs import Codec, Setting, candidates
from tradewind.compression.content import Kind
from tradewind.compression.history import Case, History, Observation
from tradewind.compression.model import Line, Speeds

PROBE = Speeds(4.0, 400e6, 1600e6)
XZ, ZSTD, GZIP = Setting(Codec.XZ, 0), Setting(Codec.ZSTD, 3), Setting(Codec.GZIP, 1)


def case(**changes: object) -> Case:
    told = {"file_bytes": 30_000_000, "kind": Kind.TEXT, "cpu_class": "x86_64/a/2", "probe": PROBE} | changes
    return Case(**told)  # type: ignore[arg-type]


def seen(setting: Setting, ratio: float, mbps: float, **changes: object) -> Observation:
    return Observation(case=case(**changes), setting=setting, speeds=Speeds(ratio, mbps * 1e6, 4 * mbps * 1e6))


HISTORY = History.of([seen(XZ, 8.0, 80), seen(ZSTD, 5.0, 1600), seen(GZIP, 4.0, 400)])


def question(rate_mbps: float, **changes: object) -> Question:
    told = {"case": case(), "line": Line(rate_mbps * 1e6), "settings": candidates()} | changes
    return Question(**told)  # type: ignore[arg-type]
