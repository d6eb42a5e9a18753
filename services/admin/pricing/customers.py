"""*Customers*: who pays, which keys they hold, what they may spend, and which prices were negotiated with them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Annotated, NamedTuple
from uuid import UUID

from fastapi import Depends, Form, Request, Response
from pydantic import Field

from services.admin.formatting.form_numbers import parse_number
from services.admin.formatting.price_forms import PARTS, parse_instant, parse_percent
from services.admin.lists import LAST_PAGE, Empty, Filters, FiltersOf, Line
from services.admin.pages.price_books import Sent, Version
from services.admin.pricing.rules import FREE_ROWS, RuleRow, read_rules, to_rule_row
from services.admin.pricing.statements import format_statement_query
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import Parts, Provider
from services.application.billing.currencies import list_currencies
from services.application.billing.customers import (
    Customer,
    CustomerDetails,
    add_customer,
    archive_customer,
    change_customer,
    restore_customer,
)
from services.application.billing.negotiate import Negotiation, add_negotiated_prices, end_negotiated_prices
from services.application.billing.price_books import PriceBook, find_current_book
from services.application.billing.spending import NEAR_LIMIT, list_spent, sort_near_limit
from services.application.billing.statements import build_statements, find_statement
from services.application.billing.usage import Holder, Month, UsageLine
from tradewind.sla.price_rules import PRICED_KINDS
from tradewind.wire.base import Strict
from tradewind.wire.customers import MOST_KEYS
from tradewind.wire.inventory import Key

router = build_page_router("/customers")

HERE = "/admin/customers"
CUSTOMERS_AT_ONCE = 50
MONTHS_LISTED = 12
NEAR_LISTED = 10
"""Customers near their limit, those that have spent most of it."""

USUAL_CURRENCY = "EUR"
NOTHING_NEGOTIATED = Decimal(0)

KeyIds = Annotated[tuple[UUID, ...], Form(max_length=MOST_KEYS)]


class CustomerFilters(Strict):
    """The filters of the list of customers."""

    search: Annotated[Line | None, Empty] = None
    archived: bool = False
    page: Annotated[int, Field(ge=1, le=LAST_PAGE)] = 1


class CustomerRow(NamedTuple):
    """A customer in the list, with what it used this month.

    ``share`` : of its limit that it has spent, with what is reserved for transfers that are not logged yet, as the
    limit counts; ``None`` where it has none.
    """

    customer: Customer
    billed: Sequence[UsageLine]
    share: Decimal | None


@router.get("")
def customers_page(
    request: Request,
    visit: Provider,
    parts: Parts,
    *,
    filters: Annotated[Filters[CustomerFilters], Depends(FiltersOf(CustomerFilters))],
) -> Response:
    """List customers with their revenue of this month; a search looks at names, contacts and notes."""
    month = Month.of(parts.clock.now())
    search, archived, page = filters.values.search or "", filters.values.archived, filters.values.page
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        every = uow.customers.list_all()
        statements = build_statements(uow.usage.list_sums(month), every, month)
        spent = list_spent(month, uow)
        keys, holders = uow.keys.list_all(), uow.customers.list_holders()
        currency = _choose_currency(find_current_book(uow.price_books, parts.clock.now()))
    billed = {each.customer.id: each.billed for each in statements if each.customer is not None}
    near = sort_near_limit(spent.values())
    found = [each for each in every if (each.archived_at is not None) == archived and _matches(each, search)]
    if filters.problem:
        found = []
    first = (page - 1) * CUSTOMERS_AT_ONCE
    return render_page(
        request,
        "customers.html",
        visit,
        month=month,
        near_limit=NEAR_LIMIT,
        near=near[:NEAR_LISTED],
        more_near=len(near[NEAR_LISTED:]),
        rows=[
            CustomerRow(each, billed.get(each.id, ()), spent[each.id].share if each.id in spent else None)
            for each in found[first : first + CUSTOMERS_AT_ONCE]
        ],
        count=len(found),
        any_customer=bool(every),
        page=page,
        pages=max(1, -(-len(found) // CUSTOMERS_AT_ONCE)),
        search=search or filters.typed.get("search", ""),
        archived=archived,
        filters=filters,
        free_keys=_list_free_keys(keys, holders),
        currencies=sorted(list_currencies()),
        currency=currency,
    )


def _matches(customer: Customer, search: str) -> bool:
    details = customer.details
    texts = (details.name, details.contact_name, details.contact_email, details.note)
    return not search.strip() or any(search.strip().lower() in text.lower() for text in texts)


def _list_free_keys(
    keys: Sequence[Key], holders: Mapping[UUID, UUID], customer_id: UUID | None = None
) -> Sequence[Key]:
    """Return keys that may be given to a customer, and those that it holds, by name."""
    shown = [
        key
        for key in keys
        if holders.get(key.id) == customer_id and (key.revoked_at is None or (customer_id and key.id in holders))
    ]
    return sorted(shown, key=lambda key: (key.name.lower(), key.id))


@router.post("")
def create(
    request: Request,
    visit: Provider,
    parts: Parts,
    sent: Sent,
    *,
    key_ids: KeyIds = (),
) -> Response:
    """Create a customer."""
    details = read_details(sent)
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        customer = add_customer(details, key_ids, uow=uow, clock=parts.clock)
    parts.snapshots.forget(visit.visitor.tenant_id)
    return redirect_after_form(request, f"{HERE}/{customer.id}", f"{customer.name} is a customer.")


@router.get("/{customer_id}")
def customer_page(request: Request, customer_id: UUID, visit: Provider, parts: Parts) -> Response:
    """Show one customer: what is stated of it, its keys, negotiated prices and statements."""
    now = parts.clock.now()
    month = Month.of(now)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        customer = uow.customers.get(customer_id)
        keys, holders = uow.keys.list_all(), uow.customers.list_holders()
        negotiated = uow.negotiated_prices.list_of(customer_id)
        statement = find_statement(Holder(customer_id=customer_id), month, uow)
        spent = list_spent(month, uow, customer_id).get(customer_id)
        labels = sorted({label for each in uow.links.list_labels().values() for label in each})
        book = find_current_book(uow.price_books, now)
        issued = uow.issued_statements.list_of(customer_id)
    return render_page(
        request,
        "customer.html",
        visit,
        customer=customer,
        details=customer.details,
        keys=_list_free_keys(keys, holders, customer_id),
        free_keys=_list_free_keys(keys, holders),
        negotiated=negotiated,
        month=month,
        months=_list_months(month),
        issued=issued,
        row=CustomerRow(customer, statement.billed, None if spent is None else spent.share),
        spent=spent,
        near_limit=NEAR_LIMIT,
        statement_query=lambda of_month: format_statement_query(of_month, Holder(customer_id=customer_id)),
        currencies=sorted(list_currencies()),
        currency=_choose_currency(book),
        book=book,
        rows=[RuleRow(None, None)] * FREE_ROWS,
        to_rule_row=to_rule_row,
        labels=labels,
        kinds=PRICED_KINDS,
        parts=PARTS,
    )


def _list_months(current: Month) -> Sequence[Month]:
    months = [current]
    while len(months) < MONTHS_LISTED:
        months.append(months[-1].before)
    return months


def _choose_currency(book: PriceBook | None) -> str:
    return USUAL_CURRENCY if book is None else book.currency


@router.post("/{customer_id}")
def change(
    request: Request,
    customer_id: UUID,
    visit: Provider,
    parts: Parts,
    sent: Sent,
    *,
    version: Version,
    key_ids: KeyIds = (),
) -> Response:
    """Change what is stated of a customer, and its keys."""
    details = read_details(sent)
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        change_customer(customer_id, asdict(details), key_ids, version=version, uow=uow, clock=parts.clock)
    parts.snapshots.forget(visit.visitor.tenant_id)
    return redirect_after_form(request, f"{HERE}/{customer_id}", "The customer is saved.")


@router.post("/{customer_id}/archive")
def archive(request: Request, customer_id: UUID, visit: Provider, parts: Parts, *, version: Version) -> Response:
    """Archive a customer: it holds no key from now on."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        customer = archive_customer(customer_id, version=version, uow=uow, clock=parts.clock)
    parts.snapshots.forget(visit.visitor.tenant_id)
    return redirect_after_form(request, f"{HERE}/{customer_id}", f"{customer.name} is archived.")


@router.post("/{customer_id}/restore")
def restore(
    request: Request,
    customer_id: UUID,
    visit: Provider,
    parts: Parts,
    *,
    without_limit: Annotated[bool, Form()] = False,
) -> Response:
    """Take a customer out of the archive."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        customer = restore_customer(customer_id, without_limit=without_limit, uow=uow)
    message = f"{customer.name} is a customer again; give it its keys."
    return redirect_after_form(request, f"{HERE}/{customer_id}", message)


@router.post("/{customer_id}/prices")
def negotiate(request: Request, customer_id: UUID, visit: Provider, parts: Parts, sent: Sent) -> Response:
    """Negotiate prices with a customer from a time on."""
    percent = sent.get("adjustment", "").strip()
    adjustment = parse_percent("adjustment", percent) if percent else NOTHING_NEGOTIATED
    rules = tuple(read_rules(sent))
    negotiation = Negotiation(
        adjustment=-adjustment if sent.get("direction") == "off" else adjustment,
        rules=rules,
        currency=sent.get("currency") if rules else None,
    )
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        add_negotiated_prices(
            customer_id,
            negotiation,
            starts_at=parse_instant(sent.get("starts_at", ""), "starts_at"),
            ends_at=parse_instant(sent.get("ends_at", ""), "ends_at"),
            uow=uow,
            clock=parts.clock,
        )
    parts.snapshots.forget(visit.visitor.tenant_id)
    return redirect_after_form(request, f"{HERE}/{customer_id}", "The prices are negotiated.")


@router.post("/{customer_id}/prices/end")
def end_prices(
    request: Request, customer_id: UUID, visit: Provider, parts: Parts, *, prices_id: Annotated[UUID, Form()]
) -> Response:
    """End negotiated prices now, or remove those that have not started."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        uow.customers.get(customer_id)
        end_negotiated_prices(prices_id, ends_at=None, uow=uow, clock=parts.clock, customer_id=customer_id)
    parts.snapshots.forget(visit.visitor.tenant_id)
    return redirect_after_form(request, f"{HERE}/{customer_id}", "The prices are ended; the price book counts again.")


def read_details(sent: Mapping[str, str]) -> CustomerDetails:
    """Return what a form states of a customer.

    Raises
    ------
    InvalidValue : a number is none.
    """
    limit, factor = sent.get("spending_limit", "").strip(), sent.get("rate_factor", "").strip()
    return CustomerDetails(
        name=sent.get("name", ""),
        contact_name=sent.get("contact_name", ""),
        contact_email=sent.get("contact_email", ""),
        address=sent.get("address", ""),
        note=sent.get("note", "").replace("\r\n", "\n"),
        spending_limit=parse_number("spending_limit", limit, example="500") if limit else None,
        spending_currency=sent.get("spending_currency") if limit else None,
        rate_factor=float(parse_number("rate_factor", factor, example="2")) if factor else None,
    )
