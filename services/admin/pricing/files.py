"""Prices of a book as a file, downloaded and read back on the page of the book."""

from typing import Annotated
from uuid import UUID

from fastapi import Form, Request, Response

from services.admin.pages.price_books import HERE, Version
from services.admin.rendering import HEADERS, build_page_router, redirect_after_form
from services.admin.visitors import Parts, Provider
from services.application.billing.draft_prices import set_prices
from services.application.billing.price_file import read_prices, write_prices
from tradewind.units import format_count

router = build_page_router("/price-books")


@router.get("/{book_id}/prices.csv")
def export_file(book_id: UUID, visit: Provider, parts: Parts) -> Response:
    """Return all tiers of the current release with their prices in a book."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        text = write_prices(uow.price_books.get(book_id), uow)
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="prices-{book_id}.csv"'}
    return Response(text, media_type="text/csv", headers=headers)


@router.post("/{book_id}/prices.csv")
def import_file(
    request: Request,
    book_id: UUID,
    visit: Provider,
    parts: Parts,
    *,
    version: Version,
    prices: Annotated[str, Form()] = "",
) -> Response:
    """Set the prices of a draft from a file, all or none."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        before = uow.price_books.get(book_id).prices
        read = read_prices(prices)
        set_prices(book_id, read, version=version, uow=uow)
    changed = sum(before.get(tier_id) != price for tier_id, price in read.items())
    message = f"{format_count(len(read), 'row')} read: {format_count(changed, 'price')} changed."
    return redirect_after_form(request, f"{HERE}/{book_id}", message)
