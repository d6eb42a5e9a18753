"""``/v1/price-books/{id}/prices.csv``: all prices of a book as a file for a spreadsheet, and back."""

from typing import Any
from uuid import UUID

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from services.api.dependencies import Parts, ProviderKey
from services.api.routes.billing.price_books import IfMatch, parse_version
from services.api.routing import create_v1_router
from services.application.access.authenticate import Principal
from services.application.billing.draft_prices import set_prices
from services.application.billing.price_file import read_prices, write_prices
from services.bootstrap import Container
from tradewind.errors import InvalidValue
from tradewind.wire.price_rules import ImportedPrices

router = create_v1_router("/price-books", "prices")

_CSV: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {}}, "description": "A line for each tier."}}
_BODY = {
    "requestBody": {
        "required": True,
        "description": "CSV with a header. `tier_id` names the tier; a row without a price removes that of its tier.",
        "content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("/{book_id}/prices.csv", response_class=Response, responses=_CSV)
def export_prices(book_id: UUID, parts: Parts, principal: ProviderKey) -> Response:
    """Return all tiers of the current release with their prices in a book."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        book = uow.price_books.get(book_id)
        text = write_prices(book, uow)
    headers = {"ETag": f'"{book.version}"', "Content-Disposition": f'attachment; filename="prices-{book.id}.csv"'}
    return Response(text, media_type="text/csv", headers=headers)


@router.put("/{book_id}/prices.csv", response_model=ImportedPrices, openapi_extra=_BODY)
async def import_prices(
    book_id: UUID, request: Request, parts: Parts, principal: ProviderKey, *, if_match: IfMatch = None
) -> ImportedPrices:
    """Set the prices of a draft from a file, all or none; tiers that the file does not have keep their price.

    422 names the first wrong rows, numbered as in the file.
    """
    version = parse_version(if_match)
    try:
        text = (await request.body()).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidValue("prices", "are not in UTF-8") from None
    except ClientDisconnect:
        raise InvalidValue("prices", "were cut off; nothing is changed") from None
    return await run_in_threadpool(_import_prices, book_id, text, version, parts, principal)


def _import_prices(
    book_id: UUID, text: str, version: int | None, parts: Container, principal: Principal
) -> ImportedPrices:
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        uow.price_books.get(book_id)  # another's book is not there, whatever the file holds
        prices = read_prices(text)
        book = set_prices(book_id, prices, version=version, uow=uow)
    priced = sum(price is not None for price in prices.values())
    return ImportedPrices(book_id=book.id, version=book.version, priced=priced, removed=len(prices) - priced)
