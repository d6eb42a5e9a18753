"""Price books: drafted, edited, published from a date on. A published book never changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from services.application.billing.currencies import check_currency
from services.application.billing.ports import PriceBookRepository
from services.application.models.sla_tiers import format_named_tiers, list_named_tiers
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, InvalidValue
from tradewind.names import require_free_name
from tradewind.sla.kinds import EnergyBasis
from tradewind.sla.pricing import PRICE_PARTS, PriceModel, check_energy_cost

ENERGY_COST_SET = "price_book.energy_cost_set"
"""The audit entry with the provider's energy cost, which only providers and operators may see."""


class BookState(StrEnum):
    DRAFT = "draft"
    PUBLISHED = "published"
    SUPERSEDED = "superseded"
    """A later book is current."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BookHead:
    """A price book without its prices, in one currency on one energy basis.

    ``version`` : rises with each change. ``effective_until`` : when the next published book starts.
    ``energy_cost_per_kwh`` : the provider's cost of energy, in the book's currency; customers never see it.
    """

    id: UUID
    name: str
    currency: str
    energy_basis: EnergyBasis
    version: int
    created_at: datetime
    published_at: datetime | None
    effective_from: datetime | None
    effective_until: datetime | None
    energy_cost_per_kwh: Decimal | None = None

    def state(self, now: datetime) -> BookState:
        if self.published_at is None:
            return BookState.DRAFT
        is_over = self.effective_until is not None and self.effective_until <= now
        return BookState.SUPERSEDED if is_over else BookState.PUBLISHED

    def is_current(self, now: datetime) -> bool:
        has_started = self.effective_from is not None and self.effective_from <= now
        return has_started and self.state(now) is BookState.PUBLISHED

    def starts_after(self, now: datetime) -> bool:
        """Return whether it is published and waits for its date."""
        return self.effective_from is not None and self.effective_from > now


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBook(BookHead):
    """A price book with its prices by tier."""

    prices: Mapping[UUID, PriceModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBook(BookHead):
    """A price book as a list shows it; ``priced`` : the number of its prices."""

    priced: int


def draft_book(
    name: str,
    *,
    currency: str | None,
    energy_basis: EnergyBasis | None,
    copy_of: UUID | None,
    uow: UnitOfWork,
    clock: Clock,
) -> PriceBook:
    """Create a draft, empty or with the prices and rules of another book.

    Without an energy basis it takes that of the copied book, or else the default by the power policies of all
    endpoints.

    Raises
    ------
    InvalidValue : the currency is not in use, or differs from that of the copied book.
    NotFound : the tenant has no book to copy.
    NameTaken : another book has this name.
    """
    uow.price_books.lock_names()
    taken = [book.name for book in uow.price_books.list_without_prices()]
    require_free_name(name, taken, kind="a price book that is called")
    origin = None if copy_of is None else uow.price_books.get(copy_of)
    if origin is not None:
        if currency not in (None, origin.currency):
            raise InvalidValue("currency", f"is {currency}, but the prices to copy are in {origin.currency}")
        currency = origin.currency
        energy_basis = energy_basis or origin.energy_basis
    if currency is None:
        raise InvalidValue("currency", "is missing; write its ISO 4217 code, such as EUR")
    basis = energy_basis or uow.endpoints.choose_energy_basis()
    book_id = uow.price_books.add(name, check_currency(currency), basis, clock.now())
    if origin is not None:
        uow.price_books.put(book_id, origin.prices)
        uow.price_rules.replace(book_id, uow.price_rules.list_of_book(origin.id))
        uow.price_rules.mark(book_id, list(uow.price_rules.list_priced(origin.id)))
        if origin.energy_cost_per_kwh is not None:
            uow.price_books.set_energy_cost(book_id, origin.energy_cost_per_kwh)
    uow.audit.note(
        "price_book.drafted",
        name,
        id=str(book_id),
        currency=currency,
        energy_basis=basis.value,
        copy_of=None if origin is None else origin.name,
    )
    book = uow.price_books.get(book_id)
    uow.commit()
    return book


def note_prices(book: PriceBook, changed: Mapping[UUID, PriceModel | None], uow: UnitOfWork) -> None:
    """Add one audit entry for all tiers with the same change of price."""
    tiers_by_change: dict[tuple[PriceModel | None, PriceModel | None], list[UUID]] = {}
    for tier_id, price in changed.items():
        tiers_by_change.setdefault((book.prices.get(tier_id), price), []).append(tier_id)
    for (before, after), tier_ids in tiers_by_change.items():
        uow.audit.note(
            "price.removed" if after is None else "price.set",
            book.name,
            book=str(book.id),
            tiers=format_named_tiers(list_named_tiers(tier_ids, uow)),
            count=len(tier_ids),
            tier_ids=[str(tier_id) for tier_id in tier_ids],
            before=format_price(before),
            after=format_price(after),
        )


def set_energy_cost(book_id: UUID, per_kwh: Decimal | None, *, version: int | None, uow: UnitOfWork) -> PriceBook:
    """Set or remove a draft's cost of a kilowatt-hour for the provider, from which margins are computed.

    Parameters
    ----------
    per_kwh : in the main unit of the book's currency.
    version : as for `set_prices`.

    Raises
    ------
    NotFound : the tenant has no such book.
    InvalidValue : it is not a valid cost.
    Conflict : the book is published, or it was changed meanwhile.
    """
    book = claim_draft(book_id, version, uow)
    if per_kwh == book.energy_cost_per_kwh:
        return book
    uow.price_books.set_energy_cost(book_id, None if per_kwh is None else check_energy_cost(per_kwh))
    uow.audit.note(
        ENERGY_COST_SET,
        book.name,
        id=str(book_id),
        before=_format_cost(book.energy_cost_per_kwh, book.currency),
        after=_format_cost(per_kwh, book.currency),
    )
    after = uow.price_books.get(book_id)
    uow.commit()
    return after


def _format_cost(per_kwh: Decimal | None, currency: str) -> str:
    return "not known" if per_kwh is None else f"{per_kwh:f} {currency}/kWh"


def find_current_book(books: PriceBookRepository, now: datetime) -> PriceBook | None:
    """Return the current book, from which quotes are made."""
    current = next((book for book in books.list_without_prices() if book.is_current(now)), None)
    return None if current is None else books.get(current.id)


def claim_draft(book_id: UUID, version: int | None, uow: UnitOfWork) -> PriceBook:
    """Return the draft, locked until the transaction ends.

    Raises
    ------
    NotFound : the tenant has no such book.
    Conflict : it is published, or has another version by now.
    """
    book = uow.price_books.claim(book_id)
    if book.published_at is not None:
        raise Conflict("the book is published and never changes; draft a copy of it")
    check_version(book, version)
    return book


def check_version(book: PriceBook, version: int | None) -> None:
    """Raise ``Conflict`` where a change is based on another version; ``None`` accepts any."""
    if version is not None and version != book.version:
        raise Conflict(
            f"somebody changed the book meanwhile: it is at version {book.version}, not {version}; load it again, "
            "and copy what you typed before"
        )


def format_price(price: PriceModel | None) -> Mapping[str, str] | None:
    """Return a price for an audit entry."""
    return None if price is None else serialize_price(price)


def serialize_price(price: PriceModel) -> Mapping[str, str]:
    """Return the parts of a price as exact text."""
    return {name: f"{getattr(price, name):f}" for name in PRICE_PARTS}


def parse_stored_price(stored: Mapping[str, str] | None) -> PriceModel | None:
    """Return the price that `format_price` wrote."""
    return None if stored is None else PriceModel(**{name: Decimal(value) for name, value in stored.items()})
