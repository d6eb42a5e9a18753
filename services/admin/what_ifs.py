"""A draft tried on what was asked for lately, as its page shows it: sums rounded once, and parts that make them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from services.admin.charts.prices import revenues
from services.admin.money import decimals_for, rounded, rounded_parts
from services.admin.pages import chart
from services.application.currencies import minor_digits
from services.application.price_books import PriceBook
from services.application.sla_tiers import path_in_words
from services.application.what_if import Earned, TierWhatIf, WhatIf, what_if
from services.persistence.unit_of_work import UnitOfWork

TRIED_ON = timedelta(days=30)
"""Whose requests a draft is tried on."""

OF_EARLIER = "a tier of an earlier release"


class Sum(NamedTuple):
    """A line of the summary; ``in_force``, ``change`` : ``None`` where there is none to show."""

    name: str
    in_force: Decimal | None
    draft: Decimal
    change: Decimal | None


class TierRow(NamedTuple):
    """Demand of a tier and what is earned of it. ``place`` : its link and cluster, empty for an earlier release."""

    name: str
    place: str
    demand: TierWhatIf
    in_force: Decimal | None
    draft: Decimal


class Tried(NamedTuple):
    """``digits``, ``in_force_digits`` : decimals that are shown. ``chart`` : ``None`` where nothing is earned."""

    what_if: WhatIf
    sums: Sequence[Sum]
    tiers: Sequence[TierRow]
    digits: int
    in_force_digits: int
    chart: str | None
    same_currency: bool


def tried_on_demand(uow: UnitOfWork, draft: PriceBook, in_force: PriceBook | None, now: datetime) -> Tried:
    """The draft beside the book in force, on the requests that were quoted in the last days."""
    tried = what_if(uow.quotes.demand(now - TRIED_ON), draft=draft, in_force=in_force)
    same_currency = in_force is not None and in_force.currency == draft.currency
    largest = max(tried.draft.revenue, tried.in_force.revenue if same_currency else Decimal(0))
    digits = decimals_for(largest, minor_digits(draft.currency))
    in_force_digits = digits
    if in_force is not None and not same_currency:
        in_force_digits = decimals_for(tried.in_force.revenue, minor_digits(in_force.currency))
    tiers = _tier_rows(uow, tried, digits, None if in_force is None else in_force_digits)
    beside = in_force.name if in_force is not None and same_currency else None
    is_earned = bool(tried.draft.revenue or (same_currency and tried.in_force.revenue))
    names = [(each.name, each.place) for each in tiers]
    return Tried(
        tried,
        _sums(tried, digits, None if in_force is None else in_force_digits, same_currency=same_currency),
        tiers,
        digits,
        in_force_digits,
        chart(revenues(tried, names, currency=draft.currency, in_force=beside)) if is_earned else None,
        same_currency,
    )


def _sums(tried: WhatIf, digits: int, in_force_digits: int | None, *, same_currency: bool) -> Sequence[Sum]:
    names = ("Base and GB", "Energy charged", "Margin", "Revenue")
    after = _parts(tried.draft, digits)
    before: Sequence[Decimal | None] = [None] * len(names)
    if in_force_digits is not None:
        before = _parts(tried.in_force, in_force_digits)
    changes = [now - was if same_currency and was is not None else None for was, now in zip(before, after, strict=True)]
    return [Sum(*each) for each in zip(names, before, after, changes, strict=True)]


def _parts(earned: Earned, digits: int) -> Sequence[Decimal]:
    """Base and bytes, energy, margin, and their sum."""
    of_bytes = earned.revenue - earned.energy_cost - earned.margin
    parts = rounded_parts([of_bytes, earned.energy_cost, earned.margin], digits)
    return [*parts, rounded(earned.revenue, digits)]


def _tier_rows(uow: UnitOfWork, tried: WhatIf, digits: int, in_force_digits: int | None) -> Sequence[TierRow]:
    named = _named(uow, [each.tier_id for each in tried.tiers])
    after = rounded_parts([each.draft.revenue for each in tried.tiers], digits)
    before: Sequence[Decimal | None] = [None] * len(after)
    if in_force_digits is not None:
        before = rounded_parts([each.in_force.revenue for each in tried.tiers], in_force_digits)
    return [
        TierRow(*named.get(each.tier_id, (OF_EARLIER, "")), each, was, now)
        for each, was, now in zip(tried.tiers, before, after, strict=True)
    ]


def _named(uow: UnitOfWork, tier_ids: Collection[UUID]) -> Mapping[UUID, tuple[str, str]]:
    release = uow.releases.current()
    if release is None:
        return {}
    paths = {link.id: path_in_words(link.key) for link in uow.links.all()}
    tiers = uow.sla_tiers.of(release, tier_ids)
    return {each.tier.id: (each.name, f"{paths[each.link_id]}, {each.cluster}") for each in tiers}
