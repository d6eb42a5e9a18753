"""What packing came to: of one file, or of several."""

from dataclasses import dataclass, field

from tradewind.compression.codecs import CodecSetting
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.compression.frames import Block

SHORTEST_S = 1e-6
"""Resolution below which a duration says nothing of a speed."""


@dataclass(slots=True)
class SettingTotals:
    """What one setting made of the blocks that it was tried on; times are those of one core, summed.

    They include the codec and the checksums of each block at both ends, and no wait for a disk.

    ``last`` : of those that were packed here and became smaller.
    """

    plain_bytes: int = 0
    packed_bytes: int = 0
    pack_s: float = 0.0
    unpack_s: float = 0.0
    last: Block | None = field(default=None, repr=False)

    @property
    def ratio(self) -> float:
        return self.plain_bytes / self.packed_bytes if self.packed_bytes else 1.0

    @property
    def compress_bps(self) -> float:
        """Return the plain bits a second of one core."""
        return BITS_PER_BYTE * self.plain_bytes / max(self.pack_s, SHORTEST_S)

    @property
    def decompress_bps(self) -> float:
        return BITS_PER_BYTE * self.plain_bytes / max(self.unpack_s, SHORTEST_S)


@dataclass(slots=True)
class PackingTotals:
    """What packing came to.

    ``packed_bytes`` : with the heads of blocks. ``used`` : plain bytes by the setting that they were sent with.
    ``efforts`` : by the setting that was tried, also where blocks became no smaller and were sent as they are.
    """

    plain_bytes: int = 0
    packed_bytes: int = 0
    used: dict[CodecSetting | None, int] = field(default_factory=dict)
    efforts: dict[CodecSetting, SettingTotals] = field(default_factory=dict)

    def count_sent(self, setting: CodecSetting | None, plain_bytes: int) -> None:
        self.plain_bytes += plain_bytes
        self.used[setting] = self.used.get(setting, 0) + plain_bytes

    def add(self, other: "PackingTotals") -> None:
        """Add the totals of another part of the same file."""
        for setting, plain_bytes in other.used.items():
            self.count_sent(setting, plain_bytes)
        self.packed_bytes += other.packed_bytes
        for setting, effort in other.efforts.items():
            times = {"pack_s": effort.pack_s, "unpack_s": effort.unpack_s}
            self.count_tried(setting, effort.plain_bytes, effort.packed_bytes, **times)

    def count_tried(
        self, setting: CodecSetting, plain_bytes: int, packed_bytes: float, *, pack_s: float, unpack_s: float = 0.0
    ) -> None:
        effort = self.efforts.setdefault(setting, SettingTotals())
        effort.plain_bytes += plain_bytes
        effort.packed_bytes += round(packed_bytes)
        effort.pack_s += pack_s
        effort.unpack_s += unpack_s
