"""Pack and unpack a complete file with each setting as a transfer would, with nothing sent."""

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
"""The quicker of so many packings counts, as other work only ever slows; a packing that takes as long is made once."""

_SHORTEST_S = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedStream:
    """The packed stream of a file.

    ``stream_bytes`` : bytes that are sent. ``ratio``, ``compress_bps``, ``decompress_bps`` : of its blocks, one core
    each. ``pack_cpu_s``, ``unpack_cpu_s`` : time of all processors that each end takes for all of it.
    """

    stream_bytes: int
    ratio: float
    compress_bps: float
    decompress_bps: float
    pack_cpu_s: float
    unpack_cpu_s: float

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        return cls(**{name: row[name] for name in cls.__slots__})

    def to_row(self) -> dict[str, Any]:
        return asdict(self)

    def to_observation(self, setting: CodecSetting, case: CompressionCase) -> CodecObservation:
        """Return the observation that an agent would report after a transfer."""
        compress_bps = self.compress_bps * case.count_cores(setting)
        return CodecObservation(
            case=case, setting=setting, speeds=Speeds(self.ratio, compress_bps, self.decompress_bps)
        )


def pack_file(file: Path, setting: CodecSetting) -> PackedStream:
    """Pack a complete file and unpack it again."""
    found: list[PackedStream] = []
    started_s = time.perf_counter()
    while len(found) < REPEATS and (not found or time.perf_counter() - started_s < ONCE_FROM_S):
        found.append(_pack_once(file, setting))
    return PackedStream(
        stream_bytes=min(each.stream_bytes for each in found),
        ratio=found[0].ratio,
        compress_bps=max(each.compress_bps for each in found),
        decompress_bps=max(each.decompress_bps for each in found),
        pack_cpu_s=min(each.pack_cpu_s for each in found),
        unpack_cpu_s=min(each.unpack_cpu_s for each in found),
    )


def _pack_once(file: Path, setting: CodecSetting) -> PackedStream:
    plain_bytes = file.stat().st_size
    steering = Steering(expected={}, line_bps=None, setting=setting)
    with file.open("rb") as source:
        packed = PackedFile(source.fileno(), file.stat(), steering, adapt=False)
        started_s = _read_cpu_s()
        pieces = list(packed.encode_pieces())
        pack_cpu_s = _read_cpu_s() - started_s
    unpacker = Unpacker()
    started_s = _read_cpu_s()
    for piece in pieces:
        for block in unpacker.feed(piece):
            unpacker.unpack_block(block)
    unpacker.end()
    unpack_cpu_s = _read_cpu_s() - started_s
    effort = packed.work.efforts[setting]
    # Where no block became smaller none is unpacked: the remaining work is to look at them.
    unpack_s = unpacker.unpack_s or unpack_cpu_s
    return PackedStream(
        stream_bytes=sum(map(len, pieces)),
        ratio=effort.ratio,
        compress_bps=effort.compress_bps,
        decompress_bps=BITS_PER_BYTE * plain_bytes / max(unpack_s, _SHORTEST_S),
        pack_cpu_s=pack_cpu_s,
        unpack_cpu_s=unpack_cpu_s,
    )


def _read_cpu_s() -> float:
    """Return the time of this process and of programs that it ran, such as lzop, s."""
    ran = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ran.ru_utime + ran.ru_stime
