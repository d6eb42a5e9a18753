"""*Price books*: draft, edit in a table, compare with the current one, publish."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

from fastapi import Depends, Form, Query, Request, Response

from services.admin.formatting.form_numbers import parse_number
from services.admin.formatting.price_forms import PARTS, list_priced_tiers, parse_instant, parse_price
from services.admin.lists import Filters, FiltersOf, ListColumn, ListFilters, show_list
from services.admin.pages.tiers import LinkId, find_link_basis, find_shown_link
from services.admin.pages.what_ifs import compare_books as what_if_shown
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import LONGEST_FORM_FIELDS, Parts, Provider, Signed
from services.application.access.authenticate import Scope
from services.application.billing.currencies import list_currencies
from services.application.billing.draft_prices import set_prices
from services.application.billing.price_books import (
    ENERGY_COST_SET,
    BookState,
    ListedBook,
    PriceBook,
    draft_book,
    find_current_book,
    set_energy_cost,
)
from services.application.billing.price_changes import list_price_changes
from services.application.billing.publish import count_coverage, publish_book, read_published_changes
from services.application.billing.what_if import REPLAYED_PERIOD, replay_demand
from services.application.billing.withdraw import delete_draft, withdraw_book
from services.application.models.sla_tiers import group_by_cluster, list_link_tiers, list_tier_names
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue
from tradewind.names import check_name, find_free_name
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, SlaKind
from tradewind.units import format_count
from tradewind.wire.base import BIGINT_MAX, Name

router = build_page_router("/price-books")

HERE = "/admin/price-books"
HISTORY = 20
"""Changes of a book that its page lists at once."""

_NOT_TRIED: Mapping[str, Any] = MappingProxyType({"tried": None, "coverage": None})
"""What a page shows of a book that is no draft, or to somebody who may not see its margins."""

USUAL_CURRENCY = "EUR"
"""Currency of a new draft where there is no current book."""

BOOK_COLUMNS: Mapping[str, ListColumn[ListedBook]] = MappingProxyType(
    {
        "name": ListColumn("Book", lambda book: book.name),
        "state": ListColumn("State"),
        "currency": ListColumn("Currency", lambda book: book.currency),
        "energy": ListColumn("Energy", lambda book: book.energy_basis),
        "priced": ListColumn("Tiers priced", lambda book: book.priced, is_number=True),
        "since": ListColumn("From (UTC)", lambda book: book.effective_from, is_number=True),
        "until": ListColumn("Until (UTC)", lambda book: book.effective_until, is_number=True),
    }
)

Version = Annotated[int, Form(ge=1)]


async def _read_form(request: Request) -> Mapping[str, str]:
    form = await request.form(max_files=0, max_fields=LONGEST_FORM_FIELDS)
    return {name: value for name, value in form.items() if isinstance(value, str)}


Sent = Annotated[Mapping[str, str], Depends(_read_form)]


@router.get("")
def books_page(
    request: Request,
    visit: Signed,
    parts: Parts,
    filters: Annotated[Filters[ListFilters], Depends(FiltersOf(ListFilters))],
) -> Response:
    """List books with their states and dates."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        books = uow.price_books.list_without_prices()
        usual_basis = uow.endpoints.choose_energy_basis()
    now = parts.clock.now()
    current_book = next((book for book in books if book.is_current(now)), None)
    return render_page(
        request,
        "price_books.html",
        visit,
        books=show_list(
            books,
            BOOK_COLUMNS,
            filters,
            text_of=lambda book: (book.name, book.currency, "current" if book.is_current(now) else book.state(now)),
        ),
        may_change=visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR),
        currencies=sorted(list_currencies()),
        currency=USUAL_CURRENCY if current_book is None else current_book.currency,
        bases=tuple(EnergyBasis),
        basis=usual_basis if current_book is None else current_book.energy_basis,
    )


@router.post("")
def draft(
    request: Request,
    visit: Provider,
    parts: Parts,
    *,
    name: Annotated[Name, Form()],
    currency: Annotated[str, Form()] = "",
    energy_basis: Annotated[EnergyBasis | None, Form()] = None,
    copy_of: Annotated[UUID | None, Form()] = None,
) -> Response:
    """Make a new draft, empty or a copy of another book."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        if copy_of is not None:  # its button names the copy by itself
            name = find_free_name(name, [each.name for each in uow.price_books.list_without_prices()])
        book = draft_book(
            check_name(name),
            currency=currency or None,
            energy_basis=energy_basis,
            copy_of=copy_of,
            uow=uow,
            clock=parts.clock,
        )
    return redirect_after_form(
        request, f"{HERE}/{book.id}", "The draft is made; nobody is quoted from it before it is published."
    )


@router.get("/{book_id}")
def book_page(
    request: Request,
    book_id: UUID,
    visit: Signed,
    parts: Parts,
    *,
    link: LinkId = "",
    confidence: Annotated[float, Query(ge=0, le=1)] = DEFAULT_CONFIDENCE,
    basis: EnergyBasis | None = None,
    older: Annotated[int | None, Query(ge=1, le=BIGINT_MAX)] = None,
) -> Response:
    """Show one book: its prices by link and cluster, and what it changes."""
    now = parts.clock.now()
    may_change = visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        book = uow.price_books.get(book_id)
        current_book = book if book.is_current(now) else find_current_book(uow.price_books, now)
        is_draft = book.state(now) is BookState.DRAFT
        table = _read_tier_table(link, confidence, basis, uow)
        changes = list_price_changes(book, current_book, uow) if is_draft else []
        # Energy costs and margins concern the provider only, as in the API.
        trial = _try_draft(book, current_book, now, uow) if is_draft and may_change else _NOT_TRIED
        history = uow.audit.of_book(
            book_id, limit=HISTORY + 1, before=older, but=() if may_change else (ENERGY_COST_SET,)
        )
        published_changes = read_published_changes(book, uow)
        by_rule = uow.price_rules.list_priced(book_id)
        rules = uow.price_rules.list_of_book(book_id)
    return render_page(
        request,
        "price_book.html",
        visit,
        book=book,
        state=book.state(now),
        editable=may_change and is_draft,
        waiting=may_change and book.starts_after(now),
        current_book=current_book,
        **table,
        changes=changes,
        changed_prices=sum(len(tiers.names) for change in changes for tiers in change.tiers),
        **trial,
        tried_days=REPLAYED_PERIOD.days,
        published_changes=published_changes,
        may_change=may_change,
        by_rule=by_rule,
        rules=rules,
        history=history[:HISTORY],
        older=older,
        earlier=history[HISTORY - 1].id if len(history) > HISTORY else None,
        parts=PARTS,
    )


def _read_tier_table(link: str, confidence: float, basis: EnergyBasis | None, uow: UnitOfWork) -> Mapping[str, Any]:
    """Return what the template shows of the tiers of a link, and what else can be chosen."""
    links = uow.links.list_all()
    release = uow.releases.find_current()
    learned = set() if release is None else set(uow.models.list_overviews(release))
    shown = find_shown_link(links, link, learned)
    basis = basis or find_link_basis(shown, uow)
    tiers = [] if shown is None else list_link_tiers(shown.id, uow)
    return {
        "links": links,
        "learned": learned,
        "shown": shown,
        "clusters": group_by_cluster(
            [each for each in tiers if (each.partition.confidence, each.partition.energy_basis) == (confidence, basis)]
        ),
        "tiers_of_link": len(tiers),
        "confidence": confidence,
        "confidences": sorted({each.partition.confidence for each in tiers}),
        "basis": basis,
        "bases": tuple(EnergyBasis),
        "kinds": sorted({each.partition.kind for each in tiers}),
    }


def _try_draft(book: PriceBook, current_book: PriceBook | None, now: datetime, uow: UnitOfWork) -> Mapping[str, Any]:
    """Return what the draft would have made of the last month's transfers, and how many tiers it prices."""
    tried = replay_demand(book, current_book, now=now, uow=uow)
    return {
        "tried": what_if_shown(tried, book, current_book),
        "coverage": count_coverage(book, uow),
    }


@router.post("/{book_id}/prices")
def price_tiers(
    request: Request, book_id: UUID, visit: Provider, parts: Parts, sent: Sent, *, version: Version
) -> Response:
    """Set the prices of a table; an empty row has no price."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        names = list_tier_names(list_priced_tiers(sent), uow)
        prices = {
            tier_id: parse_price(sent, names.get(tier_id, str(tier_id)), suffix=f".{tier_id}")
            for tier_id in list_priced_tiers(sent)
        }
        set_prices(book_id, prices, version=version, uow=uow)
    return redirect_after_form(request, _format_book_as_shown(book_id, sent), "The prices are set.")


@router.post("/{book_id}/together")
def price_together(
    request: Request,
    book_id: UUID,
    visit: Provider,
    parts: Parts,
    sent: Sent,
    *,
    version: Version,
    link: Annotated[UUID, Form()],
    kind: Annotated[SlaKind | None, Form()] = None,
) -> Response:
    """Set one price for all tiers of a link, or those of one kind."""
    price = parse_price(sent, "the price")
    if price is None:
        raise InvalidValue("the price", "is empty; remove prices one by one in the table of a cluster")
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        chosen = {each.tier.id: price for each in list_link_tiers(link, uow) if kind in (None, each.partition.kind)}
        set_prices(book_id, chosen, version=version, uow=uow)
    return redirect_after_form(
        request, _format_book_as_shown(book_id, sent), f"The price of {format_count(len(chosen), 'tier')} is set."
    )


@router.post("/{book_id}/energy-cost")
def cost_energy(
    request: Request,
    book_id: UUID,
    visit: Provider,
    parts: Parts,
    sent: Sent,
    *,
    version: Version,
    energy_cost_per_kwh: Annotated[str, Form()] = "",
) -> Response:
    """Store what a kilowatt-hour costs the provider; an empty field means that it is not known."""
    typed = energy_cost_per_kwh.strip()
    per_kwh: Decimal | None = parse_number("energy_cost_per_kwh", typed, example="0.25") if typed else None
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        book = set_energy_cost(book_id, per_kwh, version=version, uow=uow)
    # The version makes the address a new one: for a place on the present page a browser only scrolls.
    return redirect_after_form(
        request, f"{_format_book_as_shown(book_id, sent, book.version)}#what-if", "The cost of energy is saved."
    )


def _format_book_as_shown(book_id: UUID, sent: Mapping[str, str], version: int | None = None) -> str:
    """Return the address of the book's page with the link, the confidence and the energy chosen on it."""
    query_parts = [quote(sent.get("shown", ""), safe="=&"), "" if version is None else f"version={version}"]
    query = "&".join(each for each in query_parts if each)
    return f"{HERE}/{book_id}" + (f"?{query}" if query else "")


@router.post("/{book_id}/publish")
def publish(
    request: Request,
    book_id: UUID,
    visit: Provider,
    parts: Parts,
    *,
    version: Version,
    effective_from: Annotated[str, Form()] = "",
) -> Response:
    """Publish a draft from a date on, or from now."""
    begins_at = parse_instant(effective_from)
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        publish_book(book_id, effective_from=begins_at, version=version, uow=uow, clock=parts.clock)
    parts.snapshots.forget(visit.visitor.tenant_id)
    return redirect_after_form(request, HERE, "The book is published; from its date on every recommendation quotes it.")


@router.post("/{book_id}/withdraw")
def withdraw(request: Request, book_id: UUID, visit: Provider, parts: Parts, *, version: Version) -> Response:
    """Turn a book whose date has not come back into a draft."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        withdraw_book(book_id, version=version, uow=uow, clock=parts.clock)
    parts.snapshots.forget(visit.visitor.tenant_id)
    return redirect_after_form(request, f"{HERE}/{book_id}", "The book is withdrawn: it is a draft again.")


@router.post("/{book_id}/delete")
def delete(request: Request, book_id: UUID, visit: Provider, parts: Parts, *, version: Version) -> Response:
    """Delete a draft with its prices."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        delete_draft(book_id, version=version, uow=uow)
    return redirect_after_form(request, HERE, "The draft is deleted.")
