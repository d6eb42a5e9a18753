"""*Price by rule*: one price for all tiers of a kind, a band of rates and a group of links."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from fastapi import Request, Response

from services.admin.formatting.form_numbers import InvalidInput, parse_number
from services.admin.formatting.price_forms import PARTS, format_decimal, parse_price
from services.admin.pages.price_books import HERE, Sent, Version
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import Parts, Provider
from services.application.billing.draft_prices import count_rules, set_rules
from services.application.billing.price_books import BookState
from tradewind.errors import InvalidValue
from tradewind.sla.kinds import SlaKind
from tradewind.sla.price_rules import MOST_RULES, PRICED_KINDS, PriceRule
from tradewind.units import format_count

router = build_page_router("/price-books")

FREE_ROWS = 2
"""Empty rows for further rules."""

BPS_OF_MBPS = 10**6


class RuleRow(NamedTuple):
    """A rule as its row shows it; ``tiers`` : that it prices in the current release."""

    rule: PriceRule | None
    tiers: int | None
    from_mbps: str = ""
    to_mbps: str = ""


@router.get("/{book_id}/rules")
def rules_page(request: Request, book_id: UUID, visit: Provider, parts: Parts) -> Response:
    """Show the rules of a book, and how many tiers each prices."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        book = uow.price_books.get(book_id)
        rules = uow.price_rules.list_of_book(book_id)
        counts = count_rules(book, rules, uow)
        labels = sorted({label for each in uow.links.list_labels().values() for label in each})
    editable = book.state(parts.clock.now()) is BookState.DRAFT
    free = [RuleRow(None, None)] * (min(FREE_ROWS, MOST_RULES - len(rules)) if editable else 0)
    return render_page(
        request,
        "price_rules.html",
        visit,
        book=book,
        rows=[*map(to_rule_row, rules, counts.by_rule), *free],
        counts=counts,
        labels=labels,
        kinds=PRICED_KINDS,
        parts=PARTS,
        editable=editable,
    )


def to_rule_row(rule: PriceRule, tiers: int | None) -> RuleRow:
    """Return a rule as its row shows it."""
    return RuleRow(rule, tiers, _format_mbps(rule.from_bps), _format_mbps(rule.to_bps))


def _format_mbps(rate_bps: float | None) -> str:
    return "" if rate_bps is None else format_decimal(Decimal(f"{rate_bps / BPS_OF_MBPS:.12g}"))


@router.post("/{book_id}/rules")
def put_rules(
    request: Request, book_id: UUID, visit: Provider, parts: Parts, sent: Sent, *, version: Version
) -> Response:
    """Set the rules of a draft from all rows of the table."""
    rules = read_rules(sent)
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        book = set_rules(book_id, rules, version=version, uow=uow)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        counts = count_rules(book, rules, uow)
    priced = format_count(sum(counts.by_rule), "tier")
    return redirect_after_form(
        request,
        f"{HERE}/{book_id}/rules",
        f"The rules are saved: they price {priced}, {format_count(counts.unpriced, 'tier')} of the current release "
        f"{'has' if counts.unpriced == 1 else 'have'} no price.",
    )


def read_rules(sent: Mapping[str, str]) -> Sequence[PriceRule]:
    """Return the rules of a table of rows in the order that was typed; rows without a price are no rules.

    Raises
    ------
    InvalidValue : names the row and the field.
    """
    found = []
    for place, row in enumerate(_list_rows(sent), start=1):
        rule = _read_rule(sent, row, f"rule {place}")
        if rule is not None:
            found.append((_read_order(sent.get(f"order.{row}", ""), f"rule {place}"), place, rule))
    return [rule for _, _, rule in sorted(found, key=lambda each: each[:2])]


def _list_rows(sent: Iterable[str]) -> Sequence[int]:
    rows = {name.partition(".")[2] for name in sent if name.startswith("base.")}
    return sorted(int(row) for row in rows if row.isascii() and row.isdigit() and len(row) < len(str(MOST_RULES)) + 1)


def _read_rule(sent: Mapping[str, str], row: int, whose: str) -> PriceRule | None:
    price = parse_price(sent, whose, suffix=f".{row}")
    rates = {
        name: _read_rate(sent.get(f"{field}.{row}", "").strip(), f"{whose}, {field}", f"{field}.{row}")
        for name, field in (("from_bps", "from_mbps"), ("to_bps", "to_mbps"))
    }
    if price is None:
        if any(rate is not None for rate in rates.values()):
            reason = "is empty; type a price, or empty all of the row to remove the rule"
            raise InvalidInput(f"{whose}, base", reason, f"base.{row}")
        return None
    kind, label = sent.get(f"kind.{row}", ""), sent.get(f"label.{row}", "")
    if kind and kind not in PRICED_KINDS:
        raise InvalidInput(f"{whose}, kind", "is none of the list", f"kind.{row}")
    try:
        return PriceRule(price=price, kind=SlaKind(kind) if kind else None, label=label or None, **rates)
    except InvalidValue as wrong:
        field = wrong.field.replace("_bps", "_mbps")
        raise InvalidInput(f"{whose}, {field}", wrong.reason, f"{field}.{row}") from None


def _read_rate(text: str, field: str, input_name: str) -> float | None:
    if not text:
        return None
    try:
        rate = parse_number(field, text, example="100, which is 100 Mbit/s")
    except InvalidValue as wrong:
        raise InvalidInput(wrong.field, wrong.reason, input_name) from None
    if not 0 <= rate <= BPS_OF_MBPS:
        raise InvalidInput(field, f"must be 0 to {BPS_OF_MBPS:,} Mbit/s", input_name)
    return float(rate * BPS_OF_MBPS)


def _read_order(text: str, whose: str) -> float:
    """Return the place that was typed; a row without one comes last."""
    if not text.strip():
        return float(MOST_RULES + 1)
    order = parse_number(f"{whose}, order", text.strip(), example="1")
    if not 0 <= order <= MOST_RULES:
        raise InvalidValue(f"{whose}, order", f"must be 0 to {MOST_RULES}; it is {format_decimal(order)}")
    return float(order)
