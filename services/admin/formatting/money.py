"""Sums of money that add up as they are shown: each is rounded once, and its parts are rounded so that they make it."""

from collections.abc import Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import reduce

TOLD_DIGITS = 4
"""Of a sum that is small in its currency."""

MOST_DECIMALS = 6
_EXACT = Context(prec=80)


def decimals_for(largest: Decimal, minor_digits: int) -> int:
    """Decimals that show four digits of the largest of some sums, at least those of the currency's smallest unit."""
    if largest == 0:
        return minor_digits
    return max(minor_digits, min(MOST_DECIMALS, TOLD_DIGITS - 1 - largest.adjusted()))


def rounded(amount: Decimal, decimals: int) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN, _EXACT)


def rounded_parts(amounts: Sequence[Decimal], decimals: int) -> Sequence[Decimal]:
    """Amounts rounded so that their sum is the rounded sum of all: those that lose most are rounded up.

    Each is less than one step away from what it is (method of the largest remainder).
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
