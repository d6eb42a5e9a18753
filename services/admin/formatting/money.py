"""Sums of money that add up as they are shown: each sum is rounded once, and its parts so that they make it."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import reduce

SIGNIFICANT_DIGITS = 4
"""Significant digits of a sum that is small in its currency."""

MOST_DECIMALS = 6
_EXACT = Context(prec=80)


def choose_decimals(largest: Decimal, minor_digits: int) -> int:
    """Return the decimals that show four digits of the largest sum, at least those of the currency's smallest unit."""
    if largest == 0:
        return minor_digits
    return max(minor_digits, min(MOST_DECIMALS, SIGNIFICANT_DIGITS - 1 - largest.adjusted()))


def choose_uniform_decimals(amounts: Iterable[Decimal], minor_digits: int) -> int:
    """Return the decimals that show all these exactly, at least those of the smallest unit and at most six."""
    used = (-int(each.normalize(_EXACT).as_tuple().exponent) for each in amounts if each)
    return min(MOST_DECIMALS, max((minor_digits, *used)))


def round_amount(amount: Decimal, decimals: int) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN, _EXACT)


def round_parts(amounts: Sequence[Decimal], decimals: int) -> Sequence[Decimal]:
    """Return amounts rounded so that they add up to the rounded sum: those that lose most are rounded up.

    Each differs from its exact value by less than one step (method of the largest remainder).
    """
    step = Decimal(1).scaleb(-decimals)
    exact = [_EXACT.divide(each, step) for each in amounts]
    floors = [each.to_integral_value(ROUND_FLOOR) for each in exact]
    total = _sum(exact).to_integral_value(ROUND_HALF_EVEN)
    missing = int(total - _sum(floors))
    by_loss = sorted(range(len(exact)), key=lambda place: floors[place] - exact[place])
    raised = set(by_loss[:missing])
    return [(floor + (place in raised)) * step for place, floor in enumerate(floors)]


def _sum(amounts: Sequence[Decimal]) -> Decimal:
    return reduce(_EXACT.add, amounts, Decimal(0))
