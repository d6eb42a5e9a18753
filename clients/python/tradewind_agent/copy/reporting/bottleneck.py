"""What held a copy up at this end: its busiest disk or its processors. More streams do not help there."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tradewind.mobile.io_request import advise_io_block_bytes, is_storage_bottleneck
from tradewind.transfer import ResourceUsage
from tradewind.units import KIB, MIB
from tradewind_agent.meters import CpuWork
from tradewind_agent.resources.applied import Enforced, Verdict

PROCESSOR_BOUND = 0.9
"""Share of the processors' time that a copy takes above which they are its bottleneck, a judgement."""

RATE_REACHED = 0.95
"""A copy with this share of its rate limit, or of the predicted rate, was not held up, a judgement."""


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
            return f"the copy took {self.busy:.0%} of the processors' time, more streams will not help"
        advised = "more streams will not help" if self.io_block_bytes is None else f"try --io-block {self._block}"
        return f"the disk was busy {self.busy:.0%} of the time, {advised}"

    @property
    def _block(self) -> str:
        """The I/O block as the option takes it."""
        size_bytes = self.io_block_bytes or 0
        return f"{size_bytes // KIB}KiB" if size_bytes % MIB else f"{size_bytes // MIB}MiB"


def find_bottleneck(
    usage: ResourceUsage | None, used_block_bytes: int | None, work: CpuWork | None = None, cores: float | None = None
) -> Bottleneck | None:
    """Return what held up a copy that moved enough to be measured; ``None`` where nothing at this end did.

    Parameters
    ----------
    used_block_bytes : the I/O block that the copy used; ``None`` where it is not known.
    work : CPU time of the copy's own processes. What other programs take says nothing about the copy.
    cores : that the copy is limited to; ``None`` where it may use all of them.
    """
    if usage is not None and usage.disk is not None and is_storage_bottleneck(usage.disk):
        return Bottleneck(Part.DISK, usage.disk, advise_io_block_bytes(used_block_bytes, usage.disk))
    if work is not None and work.duration_s > 0:
        usable = min(work.logical_cpus, cores or work.logical_cpus)
        busy = min(work.cpu_s / (work.duration_s * usable), 1.0)
        if busy >= PROCESSOR_BOUND:
            return Bottleneck(Part.PROCESSOR, busy)
    return None


def has_reached_rate(throughput_bps: float, predicted_bps: float | None, limits: Sequence[Verdict]) -> bool:
    """Return whether a copy ran at its rate limit or at the predicted rate, so that nothing held it up."""
    rates = [predicted_bps, find_limit(limits, "nic_bps"), find_limit(limits, "disk_bps")]
    return any(rate is not None and throughput_bps >= RATE_REACHED * rate for rate in rates)


def find_limit(limits: Sequence[Verdict], resource: str) -> float | None:
    """Return the lowest enforced limit of a resource."""
    found = [each.value for each in limits if isinstance(each, Enforced) and each.resource == resource]
    return min(found, default=None)
