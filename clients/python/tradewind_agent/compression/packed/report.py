"""What packing made of the bytes of a copy: before and after, and by which codecs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tradewind.compression.codecs import CodecSetting
from tradewind.units import format_bytes
from tradewind_agent.compression.planning import RAW


@dataclass(slots=True, kw_only=True)
class PackedBytes:
    """The bytes of a copy.

    ``plain_bytes``, ``packed_bytes`` : of the packed files that are done and of those that went as they are, and what
    went over the path for them.
    ``used`` : plain bytes by setting; ``None`` of those that were sent as they are.
    """

    plain_bytes: int = 0
    packed_bytes: int = 0
    used: dict[CodecSetting | None, int] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        return self.plain_bytes / self.packed_bytes if self.packed_bytes else 1.0

    @property
    def codec(self) -> str | None:
        return find_codec(self.used)

    def format_line(self) -> str:
        """Return the part of the closing line that a plain copy has not."""
        used = ", ".join(format_setting(each) for each in sorted(self.used, key=lambda each: -self.used[each]))
        return f"{format_bytes(self.packed_bytes)} on the wire ({self.ratio:.2f} to 1, packed with {used or 'nothing'})"

    def build_document(self) -> dict[str, Any]:
        return {
            "packed_bytes": self.packed_bytes,
            "ratio": self.ratio,
            "used": {format_setting(setting): plain_bytes for setting, plain_bytes in self.used.items()},
        }


def find_codec(used: Mapping[CodecSetting | None, int]) -> str | None:
    """Return the codec of most bytes, as records state it; ``None`` where it is unknown."""
    return format_setting(max(used, key=lambda each: used[each])) if used else None


def format_setting(setting: CodecSetting | None) -> str:
    return RAW if setting is None else str(setting)
