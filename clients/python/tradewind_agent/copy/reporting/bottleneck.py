"""What held a copy up at this end: its busiest disk or its processors. More streams do not help there."""

from dataclasses import dataclass
from enum import StrEnum

from tradewind.mobile.io_request import advise_io_block_bytes, is_storage_bottleneck
from tradewind.transfer import ResourceUsage
from tradewind.units import KIB, MIB

PROCESSOR_BOUND = 0.9
"""Share of their time that the processors were busy above which they are the bottleneck, a judgement."""


class Part(StrEnum):
    """What may be the bottleneck of a host."""

    DISK = "disk"
    PROCESSOR = "processor"


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """``busy`` : share of the time. ``io_block_bytes`` : the I/O block to try next; ``None`` where none is advised."""

    part: Part
    busy: float
    io_block_bytes: int | None = None

    def format(self) -> str:
        """Return what was busy and what to try, for a closing line."""
        if self.part is Part.PROCESSOR:
            return f"the processors were busy {self.busy:.0%} of the time, more streams will not help"
        advised = "more streams will not help" if self.io_block_bytes is None else f"try --io-block {self._block}"
        return f"the disk was busy {self.busy:.0%} of the time, {advised}"

    @property
    def _block(self) -> str:
        """The I/O block as the option takes it."""
        size_bytes = self.io_block_bytes or 0
        return f"{size_bytes // KIB}KiB" if size_bytes % MIB else f"{size_bytes // MIB}MiB"


def find_bottleneck(usage: ResourceUsage | None, used_block_bytes: int | None) -> Bottleneck | None:
    """Return what held up a copy that moved enough to be measured; ``None`` where nothing at this end did.

    Parameters
    ----------
    used_block_bytes : the I/O block that the copy used; ``None`` where it is not known.
    """
    if usage is None:
        return None
    if usage.disk is not None and is_storage_bottleneck(usage.disk):
        return Bottleneck(Part.DISK, usage.disk, advise_io_block_bytes(used_block_bytes, usage.disk))
    if usage.cpu is not None and usage.cpu >= PROCESSOR_BOUND:
        return Bottleneck(Part.PROCESSOR, usage.cpu)
    return None
