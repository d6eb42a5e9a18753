"""Count packets by how late the link sent them; counts of runs can be subtracted and added."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

_US_PER_S = 1e6
_EXACT_BUCKETS = 4
"""Buckets of one microsecond each; above them there are as many to each doubling (link/direction.h)."""


@dataclass(frozen=True, slots=True)
class Lateness:
    """Packets by bucket of lateness; quantiles are exact to a quarter, rounded up.

    While packets move the link wakes up every quarter of a millisecond at most: up to half of that is its own doing,
    and the rest is the machine's.
    """

    counts: Mapping[int, int]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``BUCKET:PACKETS,…``."""
        pairs = (pair.partition(":") for pair in text.split(",") if pair)
        return cls({int(bucket): int(packets) for bucket, _, packets in pairs})

    def subtract(self, earlier: Self) -> Self:
        """Return the lateness of the packets that left after ``earlier``."""
        fresh = {bucket: packets - earlier.counts.get(bucket, 0) for bucket, packets in self.counts.items()}
        return type(self)({bucket: packets for bucket, packets in fresh.items() if packets})

    def add(self, other: Self) -> Self:
        buckets = sorted(self.counts.keys() | other.counts.keys())
        return type(self)({bucket: self.counts.get(bucket, 0) + other.counts.get(bucket, 0) for bucket in buckets})

    def compute_quantile_s(self, share: float) -> float:
        """Return how late ``share`` of the packets were at most, s; 0 without packets."""
        needed, passed = math.ceil(share * sum(self.counts.values())), 0
        for bucket, packets in sorted(self.counts.items()):
            passed += packets
            if passed >= needed:
                return _find_end_us(bucket) / _US_PER_S
        return 0.0


def _find_end_us(bucket: int) -> int:
    """Return where a bucket ends, µs; the first bucket holds the packets in time."""
    doubling, quarter = divmod(bucket, _EXACT_BUCKETS)
    if doubling == 0:
        return quarter + 1 if quarter else 0
    return (_EXACT_BUCKETS + quarter + 1) << (doubling - 1)
