"""The parameters of FLD_TCP at load time, and their layout in the kernel."""

import struct
from dataclasses import dataclass
from typing import Self

from tradewind.errors import InvalidValue
from tradewind_agent.errors import OtherVersionLoaded

_LAYOUT = struct.Struct("=QII16s")
"""``struct fld_parameters`` of the source."""

LAYOUT_BYTES = _LAYOUT.size
DIGEST_BYTES = 16
MOST_GROWTH = 8
MOST_WINDOW_SEGMENTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The parameters of FLD_TCP; the defaults are the paper's: Moktan et al. (2018), section 2.1.

    Attributes
    ----------
    growth_factor : of the window in each round trip of slow start, while a flow is short.
    threshold_bytes : a flow that has sent more is long, and treated as Reno would.
    initial_window_segments : of a new connection; 0 leaves what system and route say.
    """

    growth_factor: int = 3
    threshold_bytes: int = 2_000_000
    initial_window_segments: int = 10

    def __post_init__(self) -> None:
        _require_within("growth_factor", self.growth_factor, 2, MOST_GROWTH)
        _require_within("threshold_bytes", self.threshold_bytes, 0, 2**63)
        _require_within("initial_window_segments", self.initial_window_segments, 0, MOST_WINDOW_SEGMENTS)

    def pack(self, source_digest: bytes) -> bytes:
        return _LAYOUT.pack(self.threshold_bytes, self.growth_factor, self.initial_window_segments, source_digest)

    @classmethod
    def unpack(cls, held: bytes) -> tuple[Self, bytes]:
        """Return the parameters in a kernel, and the digest of the source that was loaded with them.

        Raises
        ------
        OtherVersionLoaded : they are outside this version's limits.
        """
        threshold_bytes, growth_factor, initial_window_segments, source_digest = _LAYOUT.unpack(held)
        try:
            parameters = cls(
                growth_factor=growth_factor,
                threshold_bytes=threshold_bytes,
                initial_window_segments=initial_window_segments,
            )
        except InvalidValue as wrong:
            raise OtherVersionLoaded(f"its parameters are outside this version's limits: {wrong}") from None
        return parameters, source_digest

    def build_document(self) -> dict[str, int]:
        return {
            "growth_factor": self.growth_factor,
            "threshold_bytes": self.threshold_bytes,
            "initial_window_segments": self.initial_window_segments,
        }


def _require_within(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InvalidValue(name, f"must be within {least} and {most}, got {value}")
