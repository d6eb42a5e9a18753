"""Rate and start-up time of a path, from a few transfers of different sizes.

Source: the paper's equations 5 and 6, which take two files. Two files leave the result at the mercy of noise (rounding
of the paper's own example moves the rate by ten per cent), so the service fits three or more.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tradewind.compression.model import NetworkLine
from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE

MIN_SIZES = 3
MIN_SIZE_RATIO = 8
"""Largest over smallest size of a probe: below it, start-up and rate cannot be separated."""


class TimedTransfer(NamedTuple):
    """A transfer of ``file_bytes`` plain bytes that took ``duration_s``."""

    file_bytes: int
    duration_s: float


@dataclass(frozen=True, slots=True)
class FittedLine:
    """A line with the standard errors of its two values; the rate's is relative."""

    line: NetworkLine
    setup_error_s: float
    rate_relative_error: float


def solve_line_of_two(small: TimedTransfer, large: TimedTransfer) -> NetworkLine:
    """Return the line through both transfers, provided that its start-up is not below 0.

    Equation 6, linear in Th.UP and Th.UP·T.SC; where the start-up would be below 0, the larger file gives the rate.

    Raises
    ------
        InvalidValue : the large file is not larger, or took no longer.
    """
    more_bytes, more_s = large.file_bytes - small.file_bytes, large.duration_s - small.duration_s
    if more_bytes <= 0 or more_s <= 0:
        raise InvalidValue("probe", "the larger file must take longer than the smaller one; take sizes further apart")
    rate_bps = BITS_PER_BYTE * more_bytes / more_s
    setup_s = small.duration_s - BITS_PER_BYTE * small.file_bytes / rate_bps
    return (
        NetworkLine(rate_bps, setup_s)
        if setup_s >= 0
        else NetworkLine(BITS_PER_BYTE * large.file_bytes / large.duration_s, 0.0)
    )


def fit_network_line(timed: Sequence[TimedTransfer]) -> FittedLine:
    """Fit start-up and rate by least squares on durations, each weighted by its inverse square: noise is relative.

    Raises
    ------
    InvalidValue : fewer than three sizes, sizes too close, or durations that do not grow with size.
    """
    sizes = {transfer.file_bytes for transfer in timed}
    if len(sizes) < MIN_SIZES or max(sizes) < MIN_SIZE_RATIO * min(sizes):
        raise InvalidValue("probe", f"needs {MIN_SIZES} sizes, the largest {MIN_SIZE_RATIO} times the smallest")
    if any(transfer.duration_s <= 0 for transfer in timed):
        raise InvalidValue("probe", "durations must be above 0")
    weights = [transfer.duration_s**-2 for transfer in timed]
    bits = [BITS_PER_BYTE * transfer.file_bytes for transfer in timed]
    total = sum(weights)
    mean_bits = sum(w * x for w, x in zip(weights, bits, strict=True)) / total
    mean_s = sum(w * transfer.duration_s for w, transfer in zip(weights, timed, strict=True)) / total
    spread = sum(w * (x - mean_bits) ** 2 for w, x in zip(weights, bits, strict=True))
    slope = (
        sum(
            w * (x - mean_bits) * (transfer.duration_s - mean_s)
            for w, x, transfer in zip(weights, bits, timed, strict=True)
        )
        / spread
    )
    if slope <= 0:
        raise InvalidValue("probe", "larger files took no longer than smaller ones; take sizes further apart")
    setup_s = mean_s - slope * mean_bits
    if setup_s < 0:  # no start-up: the best line through the origin
        slope = sum(w * x * transfer.duration_s for w, x, transfer in zip(weights, bits, timed, strict=True)) / sum(
            w * x**2 for w, x in zip(weights, bits, strict=True)
        )
        setup_s = 0.0
    residual = sum(
        w * (transfer.duration_s - setup_s - slope * x) ** 2
        for w, x, transfer in zip(weights, bits, timed, strict=True)
    )
    variance = residual / max(len(timed) - 2, 1)
    return FittedLine(
        NetworkLine(1 / slope, setup_s),
        setup_error_s=math.sqrt(variance * (1 / total + mean_bits**2 / spread)),
        rate_relative_error=math.sqrt(variance / spread) / slope,
    )
