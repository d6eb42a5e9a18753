"""Numbers as far as they are printed: each stands for all that would be rounded to it, and so does what follows from
it.

A claim contradicts the numbers that it is made of only where no values behind them could have given it.
"""

import math
from dataclasses import dataclass
from typing import Union

Number = Union[int, float, "Range"]


@dataclass(frozen=True, slots=True)
class Range:
    """A printed value, and the ends of what it may mean."""

    value: float
    low: float
    high: float

    def __add__(self, other: Number) -> "Range":
        right = build_exact_range(other)
        return Range(self.value + right.value, self.low + right.low, self.high + right.high)

    def __sub__(self, other: Number) -> "Range":
        right = build_exact_range(other)
        return Range(self.value - right.value, self.low - right.high, self.high - right.low)

    def __mul__(self, other: Number) -> "Range":
        right = build_exact_range(other)
        ends = [mine * yours for mine in (self.low, self.high) for yours in (right.low, right.high)]
        return Range(self.value * right.value, min(ends), max(ends))

    def __truediv__(self, other: Number) -> "Range":
        """Divide by something above 0."""
        right = build_exact_range(other)
        ends = [mine / yours for mine in (self.low, self.high) for yours in (right.low, right.high)]
        return Range(self.value / right.value, min(ends), max(ends))

    def __rsub__(self, other: float) -> "Range":
        return build_exact_range(other) - self

    def __rtruediv__(self, other: float) -> "Range":
        return build_exact_range(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def overlaps(self, other: "Range", rounding: float = 1e-9) -> bool:
        """Return whether both may mean the same number."""
        slack = rounding * max(abs(self.value), abs(other.value))
        return self.low <= other.high + slack and other.low <= self.high + slack


def build_exact_range(number: Number) -> Range:
    """Return the range of a number that is exact."""
    return number if isinstance(number, Range) else Range(number, number, number)


def find_printed_range(number: float | str) -> Range:
    """Return the range of a number that was rounded to the last digit it shows, or cut off there: half a unit less to
    one more.
    """
    text = repr(number) if not isinstance(number, str) else number
    value = float(text)
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0 ** ((int(exponent) if exponent else 0) - decimals)
    return Range(value, value - unit / 2, value + unit)


_UNITS = {"B": 0, "KB": 1, "MB": 2, "GB": 3}


def read_bytes_both_ways(text: str) -> tuple[Range, Range]:
    """Return a size such as ``128 KB`` in bytes, decimal and binary: papers print one for the other."""
    number, unit = text.split()
    power = _UNITS[unit]
    return find_printed_range(number) * 1000.0**power, find_printed_range(number) * 1024.0**power


def pick_closest(claimed: Range, readings: list[Range]) -> Range:
    """Return the reading that suits a claimed number best, so that the paper has the benefit of the doubt."""
    return min(readings, key=lambda each: (not each.overlaps(claimed), math.fabs(each.value - claimed.value)))
