"""Delete drafts of price books, and withdraw published books whose date has not come."""

from datetime import timedelta
from uuid import UUID

from services.application.billing.price_books import PriceBook, check_version, claim_draft
from services.application.shared.jobs import PricesChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict
from tradewind.units import format_count

WITHDRAWAL_LIMIT = timedelta(minutes=1)
"""A book is withdrawn this long before its date at the latest: until then every process has read prices again."""


def delete_draft(book_id: UUID, *, version: int | None, uow: UnitOfWork) -> None:
    """Delete a draft with its prices.

    Parameters
    ----------
    version : that the decision is based on; ``None`` accepts any.

    Raises
    ------
    NotFound : the tenant has no such book.
    Conflict : the book is published, or it was changed meanwhile.
    """
    book = claim_draft(book_id, version, uow)
    uow.price_books.delete(book_id)
    uow.audit.note(
        "price_book.deleted",
        book.name,
        id=str(book_id),
        currency=book.currency,
        prices=format_count(len(book.prices), "tier"),
    )
    uow.commit()


def withdraw_book(book_id: UUID, *, version: int | None, uow: UnitOfWork, clock: Clock) -> PriceBook:
    """Turn a published book whose date has not come into a draft again; the current one continues.

    Parameters
    ----------
    version : as for `delete_draft`.

    Raises
    ------
    NotFound : the tenant has no such book.
    Conflict : it is a draft, its date has come or is near, or it was changed meanwhile.
    """
    book = uow.price_books.claim(book_id)
    if book.effective_from is None:
        raise Conflict("the book is a draft; there is nothing to withdraw")
    check_version(book, version)
    if book.effective_from - clock.now() < WITHDRAWAL_LIMIT:
        raise Conflict("the book is current, was, or is within a minute; publish another one that ends it")
    uow.price_books.withdraw(book_id)
    uow.audit.note("price_book.withdrawn", book.name, id=str(book_id), effective_from=book.effective_from.isoformat())
    draft = uow.price_books.get(book_id)
    uow.publish(PricesChanged(uow.tenant_id))
    uow.commit()
    return draft
