"""A draft tried on recent requests, as its page shows it: sums rounded once, and parts that make them."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from services.admin.charts.prices import build_revenue_chart
from services.admin.formatting.money import choose_decimals, round_amount, round_parts
from services.admin.rendering import encode_chart
from services.application.billing.currencies import count_minor_digits
from services.application.billing.price_books import PriceBook
from services.application.billing.what_if import Earnings, PlacedTier, Replay, TierWhatIf, WhatIf

NONE = Decimal(0)
OF_EARLIER = PlacedTier("a tier of an earlier release", "")


class Sum(NamedTuple):
    """A line of the summary; ``current``, ``draft``, ``change`` : ``None`` where there is none to show.

    ``exact_current``, ``exact_draft`` : the values before rounding, which tell a small sum from none.
    """

    name: str
    current: Decimal | None
    draft: Decimal | None
    change: Decimal | None
    exact_current: Decimal | None
    exact_draft: Decimal | None

    @property
    def exact_change(self) -> Decimal:
        return (self.exact_draft or NONE) - (self.exact_current or NONE)


class Money(NamedTuple):
    """What a book earns from a tier, as it is shown; ``exact`` : the values before rounding."""

    revenue: Decimal
    credits: Decimal
    energy_cost: Decimal | None
    exact: Earnings

    @property
    def margin(self) -> Decimal | None:
        return None if self.energy_cost is None else self.revenue - self.credits - self.energy_cost


class TierRow(NamedTuple):
    """Demand of a tier and what it earns."""

    tier: PlacedTier
    demand: TierWhatIf
    current: Money | None
    draft: Money


class WhatIfView(NamedTuple):
    """``digits``, ``current_digits`` : decimals shown. ``chart`` : ``None`` where nothing is earned."""

    what_if: WhatIf
    sums: Sequence[Sum]
    tiers: Sequence[TierRow]
    digits: int
    current_digits: int
    chart: str | None
    same_currency: bool


def compare_books(tried: Replay, draft: PriceBook, current_book: PriceBook | None) -> WhatIfView:
    """Compare the draft with the current book on the requests of the last days."""
    what_if = tried.what_if
    same_currency = current_book is not None and current_book.currency == draft.currency
    digits = choose_decimals(
        max(_find_largest(what_if.draft), _find_largest(what_if.current) if same_currency else Decimal(0)),
        count_minor_digits(draft.currency),
    )
    current_digits = digits
    if current_book is not None and not same_currency:
        current_digits = choose_decimals(_find_largest(what_if.current), count_minor_digits(current_book.currency))
    named = [tried.tiers.get(each.tier_id, OF_EARLIER) for each in what_if.tiers]
    after = _of_tiers([each.draft for each in what_if.tiers], digits)
    before: Sequence[Money | None] = [None] * len(after)
    if current_book is not None:
        before = _of_tiers([each.current for each in what_if.tiers], current_digits)
    compared_name = current_book.name if current_book is not None and same_currency else None
    is_earned = bool(what_if.draft.revenue or (same_currency and what_if.current.revenue))
    return WhatIfView(
        what_if,
        _list_sums(what_if, digits, None if current_book is None else current_digits, same_currency=same_currency),
        list(map(TierRow, named, what_if.tiers, before, after)),
        digits,
        current_digits,
        encode_chart(build_revenue_chart(what_if, named, currency=draft.currency, current_name=compared_name))
        if is_earned
        else None,
        same_currency,
    )


def _find_largest(earned: Earnings) -> Decimal:
    return max(earned.revenue, earned.energy_cost or Decimal(0))


_LINES = ("Base and GB charged", "Energy charged", "Mark-up charged", "Revenue", "Credits", "Energy cost", "Margin")


def _list_sums(what_if: WhatIf, digits: int, current_digits: int | None, *, same_currency: bool) -> Sequence[Sum]:
    after = _list_lines(what_if.draft, digits)
    before: Sequence[Decimal | None] = [None] * len(_LINES)
    if current_digits is not None:
        before = _list_lines(what_if.current, current_digits)
    changes = [
        now - was if same_currency and was is not None and now is not None else None
        for was, now in zip(before, after, strict=True)
    ]
    exact = (_list_exact_lines(what_if.current), _list_exact_lines(what_if.draft))
    return [Sum(*each) for each in zip(_LINES, before, after, changes, *exact, strict=True)]


def _list_exact_lines(earned: Earnings) -> Sequence[Decimal | None]:
    of_bytes = earned.revenue - earned.energy_charged - earned.mark_up
    return [
        of_bytes,
        earned.energy_charged,
        earned.mark_up,
        earned.revenue,
        earned.credits,
        earned.energy_cost,
        earned.margin,
    ]


def _list_lines(earned: Earnings, digits: int) -> Sequence[Decimal | None]:
    """Return the parts of the revenue, the revenue, credits, the cost of energy and the margin, so that they add up."""
    parts = round_parts([each or NONE for each in _list_exact_lines(earned)[:3]], digits)
    credits_given = round_amount(earned.credits, digits)
    total = Money(round_amount(earned.revenue, digits), credits_given, _round_cost(earned, digits), earned)
    return [*parts, total.revenue, total.credits, total.energy_cost, total.margin]


def _round_cost(earned: Earnings, digits: int) -> Decimal | None:
    return None if earned.energy_cost is None else round_amount(earned.energy_cost, digits)


def _of_tiers(earned: Sequence[Earnings], digits: int) -> Sequence[Money]:
    """Return revenue and cost of each tier, rounded so that they add up to those of all."""
    known = [each.energy_cost for each in earned if each.energy_cost is not None]
    costs: Sequence[Decimal | None] = round_parts(known, digits) if len(known) == len(earned) else [None] * len(earned)
    revenue = round_parts([each.revenue for each in earned], digits)
    credits_given = round_parts([each.credits for each in earned], digits)
    return [Money(*each) for each in zip(revenue, credits_given, costs, earned, strict=True)]
