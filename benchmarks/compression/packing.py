"""What each setting makes of a whole file, packed and unpacked as a transfer would, with nothing sent."""

import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tradewind.compression.codecs import CodecSetting
from tradewind.compression.history import CodecObservation, CompressionCase
from tradewind.compression.model import Speeds
from tradewind.compression.steering import Steering
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.compression.packing import PackedFile
from tradewind_agent.compression.unpacking import Unpacker

REPEATS = 2
ONCE_FROM_S = 5.0
"""The quicker of so many counts, other work only ever slows; of what takes as long, one has to do."""

_SHORTEST_S = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A packed stream of a file.

    ``stream_bytes`` : that are sent. ``ratio``, ``compress_bps``, ``decompress_bps`` : of its blocks, one core each.
    ``pack_cpu_s``, ``unpack_cpu_s`` : time of all processors that each end takes for all of it.
    """

    stream_bytes: int
    ratio: float
    compress_bps: float
    decompress_bps: float
    pack_cpu_s: float
    unpack_cpu_s: float

    @classmethod
    def read(cls, row: dict[str, Any]) -> Self:
        return cls(**{name: row[name] for name in cls.__slots__})

    def row(self) -> dict[str, Any]:
        return asdict(self)

    def seen(self, setting: CodecSetting, case: CompressionCase) -> CodecObservation:
        """As an agent tells it of a transfer."""
        compress_bps = self.compress_bps * case.cores_for(setting)
        return CodecObservation(
            case=case, setting=setting, speeds=Speeds(self.ratio, compress_bps, self.decompress_bps)
        )


def made(file: Path, setting: CodecSetting) -> Made:
    """Pack a file whole and unpack it again."""
    found: list[Made] = []
    begun_s = time.perf_counter()
    while len(found) < REPEATS and (not found or time.perf_counter() - begun_s < ONCE_FROM_S):
        found.append(_once(file, setting))
    return Made(
        stream_bytes=min(each.stream_bytes for each in found),
        ratio=found[0].ratio,
        compress_bps=max(each.compress_bps for each in found),
        decompress_bps=max(each.decompress_bps for each in found),
        pack_cpu_s=min(each.pack_cpu_s for each in found),
        unpack_cpu_s=min(each.unpack_cpu_s for each in found),
    )


def _once(file: Path, setting: CodecSetting) -> Made:
    plain_bytes = file.stat().st_size
    steering = Steering(expected={}, line_bps=None, setting=setting)
    with file.open("rb") as source:
        packed = PackedFile(source.fileno(), file.stat(), steering, adapt=False)
        begun_s = _cpu_s()
        pieces = list(packed.pieces())
        pack_cpu_s = _cpu_s() - begun_s
    unpacker = Unpacker()
    begun_s = _cpu_s()
    for piece in pieces:
        for block in unpacker.feed(piece):
            unpacker.plain(block)
    unpacker.end()
    unpack_cpu_s = _cpu_s() - begun_s
    effort = packed.work.efforts[setting]
    # Where all blocks became no smaller none is unpacked: what is left is to look at them.
    unpack_s = unpacker.unpack_s or unpack_cpu_s
    return Made(
        stream_bytes=sum(map(len, pieces)),
        ratio=effort.ratio,
        compress_bps=effort.compress_bps,
        decompress_bps=BITS_PER_BYTE * plain_bytes / max(unpack_s, _SHORTEST_S),
        pack_cpu_s=pack_cpu_s,
        unpack_cpu_s=unpack_cpu_s,
    )


def _cpu_s() -> float:
    """Of this process and of programs that it ran, as lzop is one."""
    ran = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ran.ru_utime + ran.ru_stime
