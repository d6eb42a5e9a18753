"""When chunks that share one pipe are done, from the rate that each of them would have alone."""

from collections.abc import Sequence

from tradewind.units import BITS_PER_BYTE


def compute_shared_duration_s(sizes_bytes: Sequence[int], rates_bps: Sequence[float], ceiling_bps: float) -> float:
    """Return the time until chunks that run together are all done, s; see `compute_end_times_s`."""
    return max(compute_end_times_s(sizes_bytes, rates_bps, ceiling_bps))


def compute_end_times_s(sizes_bytes: Sequence[int], rates_bps: Sequence[float], ceiling_bps: float) -> list[float]:
    """Return the time at which each of some chunks that run together is done, s.

    Each runs at its own rate, scaled by one factor to ``ceiling_bps`` together; after one ends the others use its room.
    """
    alone_s = [BITS_PER_BYTE * size / rate for size, rate in zip(sizes_bytes, rates_bps, strict=True)]
    running_bps = sum(rates_bps)
    taken_s = before_s = 0.0
    ends_s = [0.0] * len(alone_s)
    for i in sorted(range(len(alone_s)), key=lambda i: (alone_s[i], rates_bps[i])):  # in the order as each would alone
        taken_s += (alone_s[i] - before_s) * max(1.0, running_bps / ceiling_bps)
        running_bps -= rates_bps[i]
        before_s = alone_s[i]
        ends_s[i] = taken_s
    return ends_s
