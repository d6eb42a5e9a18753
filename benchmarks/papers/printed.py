"""Numbers as far as they are printed: each stands for all that would be rounded to it, and so does what follows.

A claim contradicts the numbers that it is made of only where no values behind them could have given it.
"""

import math
from dataclasses import dataclass
from typing import Union

Number = Union[int, float, "Range"]


@dataclass(frozen=True, slots=True)
class Range:
    """``value`` as it stands, and the ends of what it may mean."""

    value: float
    low: float
    high: float

    def __add__(self, other: Number) -> "Range":
        right = exact(other)
        return Range(self.value + right.value, self.low + right.low, self.high + right.high)

    def __sub__(self, other: Number) -> "Range":
        right = exact(other)
        return Range(self.value - right.value, self.low - right.high, self.high - right.low)

    def __mul__(self, other: Number) -> "Range":
        right = exact(other)
        ends = [mine * yours for mine in (self.low, self.high) for yours in (right.low, right.high)]
        return Range(self.value * right.value, min(ends), max(ends))

    def __truediv__(self, other: Number) -> "Range":
        """By something above 0."""
        right = exact(other)
        ends = [mine / yours for mine in (self.low, self.high) for yours in (right.low, right.high)]
        return Range(self.value / right.value, min(ends), max(ends))

    def __rsub__(self, other: float) -> "Range":
        return exact(other) - self

    def __rtruediv__(self, other: float) -> "Range":
        return exact(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def meets(self, other: "Range", rounding: float = 1e-9) -> bool:
        """Whether both may mean the same number."""
        slack = rounding * max(abs(self.value), abs(other.value))
        return self.low <= other.high + slack and other.low <= self.high + slack


def exact(number: Number) -> Range:
    """What has no more behind it than it says."""
    return number if isinstance(number, Range) else Range(number, number, number)


def printed(number: float | str) -> Range:
    """A number that was rounded to the last digit it shows, or cut off there: half a unit less to one more."""
    text = repr(number) if not isinstance(number, str) else number
    value = float(text)
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0 ** ((int(exponent) if exponent else 0) - decimals)
    return Range(value, value - unit / 2, value + unit)


_UNITS = {"B": 0, "KB": 1, "MB": 2, "GB": 3}


def readings_of_bytes(text: str) -> tuple[Range, Range]:
    """A size such as ``128 KB`` in bytes, decimal and binary: papers print one for the other."""
    number, unit = text.split()
    power = _UNITS[unit]
    return printed(number) * 1000.0**power, printed(number) * 1024.0**power


def closest(claim: Range, readings: list[Range]) -> Range:
    """Of several readings of what a claim rests on the one that suits it best: the benefit of the doubt."""
    return min(readings, key=lambda each: (not each.meets(claim), math.fabs(each.value - claim.value)))
