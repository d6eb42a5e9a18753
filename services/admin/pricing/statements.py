"""*Usage › Statement*: what a customer, or a key without one, pays for a month, to be issued and printed."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Query, Request, Response

from services.admin.formatting.money import choose_uniform_decimals, round_amount, round_parts
from services.admin.pages.usage import MonthText
from services.admin.rendering import HEADERS, build_page_router, redirect_after_form, render_page, render_refusal
from services.admin.visitors import Parts, Provider
from services.application.billing.currencies import count_minor_digits
from services.application.billing.issued.issue import issue_statement
from services.application.billing.issued.opened import (
    ChangedTransfer,
    OpenedStatement,
    list_changed_transfers,
    open_statement,
)
from services.application.billing.issued.values import Due
from services.application.billing.issuer import find_issuer
from services.application.billing.statements import DayTotal, UsageTotal, find_statement
from services.application.billing.usage import Holder, Month, UsageLine, UsageTransfer
from services.streaming.usage_stream import stream_usage
from tradewind.sla.kinds import SlaKind
from tradewind.units import format_bps, format_joules, format_seconds

router = build_page_router("/usage")

TRANSFERS_AT_ONCE = 25
MOST_PRINTED = 200
"""Transfers that are printed with a statement; the file has all."""

LAST_PAGE = 10_000

Row = TypeVar("Row", UsageTotal, DayTotal)

OfCustomer = Annotated[UUID | None, Query(alias="customer")]
OfKey = Annotated[UUID | None, Query(alias="key")]
Page = Annotated[int, Query(ge=1, le=LAST_PAGE)]


class Amounts(NamedTuple):
    """An amount and what is given back of it, rounded to the decimals of its statement."""

    amount: Decimal
    credit: Decimal


class ShownDue(NamedTuple):
    """What a statement comes to in one currency, with rounded amounts; ``line`` : its billed transfers, if any."""

    due: Due
    line: UsageLine | None
    amounts: Amounts
    adjustment: Decimal


class ShownTransfer(NamedTuple):
    """A billed transfer as the statement shows it; ``tier`` : its name in the current release."""

    line: UsageTransfer
    tier: str | None
    amounts: Amounts

    @property
    def target(self) -> str:
        """The SLA with its target as text."""
        return format_target(self.line.sla, self.line.target)


def format_target(sla: str | None, target: float | None) -> str:
    """Return an SLA with its target as text."""
    if sla is None:
        return "none"
    kind = SlaKind(sla)
    name = kind.replace("_", " ")
    write = _TARGET_FORMATS.get(kind)
    return name if write is None or target is None else f"{name} {write(target)}"


_TARGET_FORMATS: Mapping[SlaKind, Callable[[float], str]] = MappingProxyType(
    {
        SlaKind.THROUGHPUT_AT_LEAST: format_bps,
        SlaKind.DEADLINE: format_seconds,
        SlaKind.ENERGY_AT_MOST: format_joules,
        SlaKind.POWER_AT_MOST: lambda power_w: f"{power_w:.3g} W",
    }
)


@router.get("/statement")
def statement_page(
    request: Request,
    visit: Provider,
    parts: Parts,
    *,
    month_text: MonthText,
    customer: OfCustomer = None,
    key: OfKey = None,
    page: Page = 1,
) -> Response:
    """Show a statement: sums, totals by link and tier and by day, and its transfers page by page.

    The first page also has those that are printed.
    """
    month = Month.parse(month_text)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        holder, offset = Holder(customer, None if customer else key), (page - 1) * TRANSFERS_AT_ONCE
        limit = MOST_PRINTED if page == 1 else TRANSFERS_AT_ONCE
        opened = open_statement(holder, month, limit=limit, offset=offset, uow=uow)
        negotiated = [] if customer is None else uow.negotiated_prices.list_of(customer)
        changed = None if opened.issued is None or not opened.changes else list_changed_transfers(opened.issued, uow)
    digits, current = _choose_digits(opened, changed or ()), Month.of(parts.clock.now())
    return render_page(
        request,
        "statement.html",
        visit,
        month=month,
        current=current,
        statement=opened.statement,
        detail=opened.detail,
        issued=opened.issued,
        changes=opened.changes,
        changed=changed,
        can_issue=customer is not None and opened.issued is None and month < current and bool(opened.dues),
        discounts=[each for each in negotiated if each.negotiation.adjustment and each.overlaps(month)],
        digits=digits,
        **_list_amounts(opened, digits),
        **_list_pages(opened, page),
        here=format_statement_query(month, opened.statement.holder),
    )


def _list_amounts(opened: OpenedStatement, digits: Mapping[str, int]) -> Mapping[str, Any]:
    """Return the parts of a statement that have amounts, rounded to the decimals of their currency."""
    detail, sheet = opened.detail, opened.detail.sheet
    return {
        "adjustments": [
            (each, _round(each.sums.amount, each.sums.credit, digits[each.currency])) for each in opened.adjustments
        ],
        "dues": _list_dues(opened, digits),
        "keys": [
            (usage, line, _round(line.amount, line.credit, digits[line.currency or ""]))
            for usage in opened.statement.keys
            for line in usage.billed
        ],
        "totals": _round_rows(sheet.totals, digits),
        "days": _round_rows(sheet.days, digits),
        "transfers": [
            ShownTransfer(
                line,
                None if line.tier_id is None else detail.tiers.get(line.tier_id),
                _round(line.amount, line.credit, digits[line.currency or ""]),
            )
            for line in sheet.transfers
        ],
    }


def _list_pages(opened: OpenedStatement, page: int) -> Mapping[str, Any]:
    """Return which page of how many transfers is shown, and how many are printed."""
    count = sum(line.transfers for line in opened.statement.billed)
    return {
        "at_once": TRANSFERS_AT_ONCE,
        "most_printed": MOST_PRINTED,
        "count": count,
        "page": page,
        "pages": -(-count // TRANSFERS_AT_ONCE),
    }


@router.post("/statement/issue")
def issue(
    request: Request,
    visit: Provider,
    parts: Parts,
    *,
    month_text: Annotated[str, Form(alias="month", max_length=7)],
    customer: Annotated[UUID, Form()],
) -> Response:
    """Issue the statement of a customer for a month that is over, once."""
    month = Month.parse(month_text)
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        issued, is_new = issue_statement(customer, month, uow=uow, clock=parts.clock)
    message = (
        f"Statement No. {issued.number} is issued." if is_new else f"It is issued already, as No. {issued.number}."
    )
    address = f"/admin/usage/statement?{format_statement_query(month, Holder(customer_id=customer))}"
    return redirect_after_form(request, address, message)


@router.get("/transfers.csv")
def usage_file(
    request: Request,
    visit: Provider,
    parts: Parts,
    *,
    month_text: MonthText,
    customer: OfCustomer = None,
    key: OfKey = None,
) -> Response:
    """Return the transfers of a month one by one as a file: all, or those of one statement."""
    month, tenant_id = Month.parse(month_text), visit.visitor.tenant_id
    holder, number, issuer, issued = None, None, None, None
    if customer is not None or key is not None:
        with parts.store.unit_of_work(tenant_id) as uow:
            statement = find_statement(Holder(customer, None if customer else key), month, uow)
            issuer = find_issuer(uow)
            issued = None if customer is None else uow.issued_statements.find(customer, month)
        holder, number = statement.holder, statement.number
    return stream_usage(
        tenant_id,
        month,
        parts.store.unit_of_work(tenant_id),
        request.app.state.query_slots,
        holder=holder,
        number=number,
        issuer=issuer,
        issued=issued,
        refused=partial(render_refusal, request),
        headers=HEADERS,
    )


def format_statement_query(month: Month, holder: Holder) -> str:
    """Return the query of a statement's address."""
    whose = {"customer": holder.customer_id, "key": holder.key_id}
    return urlencode({"month": str(month)} | {name: str(value) for name, value in whose.items() if value is not None})


def _list_dues(opened: OpenedStatement, digits: Mapping[str, int]) -> Sequence[ShownDue]:
    """Return what is paid by currency, with the line of the billed transfers."""
    lines = {line.currency: line for line in opened.statement.billed}
    return [
        ShownDue(
            due,
            lines.get(due.currency),
            _round(due.sums.amount, due.sums.credit, digits[due.currency]),
            round_amount(due.adjustment, digits[due.currency]),
        )
        for due in opened.dues
    ]


def _choose_digits(opened: OpenedStatement, changed: Sequence[ChangedTransfer]) -> Mapping[str, int]:
    """Return the decimals of all amounts of a statement and of its changes, by currency."""
    sheet, found = opened.detail.sheet, {}
    currencies = {due.currency for due in opened.dues} | {change.currency for change in opened.changes}
    # One that is free, in a currency of its own, makes no difference to be billed.
    currencies |= {each.started.currency for each in changed if each.started.currency is not None}
    for currency in currencies:
        amounts = [total.amount for total in sheet.totals if total.currency == currency]
        amounts += [day.amount for day in sheet.days if day.currency == currency]
        amounts += [each.amount for each in sheet.transfers if each.currency == currency and each.amount]
        amounts += [each.sums.amount for each in opened.adjustments if each.currency == currency]
        amounts += [due.sums.amount for due in opened.dues if due.currency == currency]
        found[currency] = choose_uniform_decimals(amounts, count_minor_digits(currency))
    return found


def _round(amount: Decimal | None, credit: Decimal | None, digits: int) -> Amounts:
    return Amounts(round_amount(amount or Decimal(0), digits), round_amount(credit or Decimal(0), digits))


def _round_rows(rows: Sequence[Row], digits: Mapping[str, int]) -> Sequence[tuple[Row, Amounts]]:
    """Return rows with their amounts, rounded so that those of a currency add up to its sum."""
    rounded: dict[int, Amounts] = {}
    for currency, decimals in digits.items():
        places = [place for place, row in enumerate(rows) if row.currency == currency]
        amounts = round_parts([rows[place].amount for place in places], decimals)
        credits_given = round_parts([rows[place].credit for place in places], decimals)
        rounded |= {place: Amounts(*each) for place, *each in zip(places, amounts, credits_given, strict=True)}
    return [(row, rounded[place]) for place, row in enumerate(rows)]
