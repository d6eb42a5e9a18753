"""Ports to the repositories of billing: price books, quotes and usage: one protocol a repository.

The application may not import `services.persistence`, which implements them; `services.application.shared.unit_of_work`
gives access to them in one transaction of one tenant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence
    from datetime import datetime
    from decimal import Decimal
    from uuid import UUID

    from services.application.billing.customers import Customer, CustomerDetails
    from services.application.billing.issued.values import Content, IssuedStatement, NewStatement, Sums
    from services.application.billing.negotiate import NegotiatedPrices, Negotiation
    from services.application.billing.price_books import ListedBook, PriceBook
    from services.application.billing.price_list import PriceList, SpendingLimit
    from services.application.billing.quote_consumer import StoredQuote
    from services.application.billing.statements import Sheet
    from services.application.billing.usage import Holder, Month, Spending, UsageLine, UsageTransfer
    from services.application.billing.what_if import Demand
    from tradewind.sla.kinds import EnergyBasis
    from tradewind.sla.price_rules import PriceRule, TierToPrice
    from tradewind.sla.pricing import PriceModel


class PriceBookRepository(Protocol):
    """Price books of one tenant; a port because the application may not import persistence."""

    def lock_names(self) -> None:
        """Let no other transaction name a book until this one ends."""

    def add(self, name: str, currency: str, energy_basis: EnergyBasis, at: datetime) -> UUID: ...
    def list_all(self) -> Sequence[PriceBook]: ...
    def list_without_prices(self) -> Sequence[ListedBook]: ...
    def count_not_offered(self, book_id: UUID, release_id: int) -> int: ...
    def get(self, book_id: UUID) -> PriceBook: ...
    def claim(self, book_id: UUID) -> PriceBook:
        """Return the book and lock it until the end of the transaction."""

    def load_price_list(self) -> PriceList: ...
    def knows_tiers(self, tier_ids: Sequence[UUID]) -> bool: ...
    def inherit(self, origins: Mapping[UUID, UUID]) -> None:
        """Give each new tier the prices of the tier that it was split from."""

    def put(self, book_id: UUID, prices: Mapping[UUID, PriceModel | None]) -> None: ...
    def set_energy_cost(self, book_id: UUID, per_kwh: Decimal | None) -> None: ...
    def publish(
        self, book_id: UUID, *, effective_from: datetime, at: datetime, changes: Sequence[Mapping[str, Any]]
    ) -> None: ...
    def find_published_changes(self, book_id: UUID) -> Sequence[Mapping[str, Any]] | None:
        """Return the differences that a book was published with."""

    def withdraw(self, book_id: UUID) -> None: ...
    def delete(self, book_id: UUID) -> None: ...
    def starts_at(self, at: datetime) -> bool:
        """Return whether a book starts at exactly this time."""


class PriceRuleRepository(Protocol):
    """Price rules of one tenant's books; a port because the application may not import persistence."""

    def list_of_book(self, book_id: UUID) -> Sequence[PriceRule]: ...
    def replace(self, book_id: UUID, rules: Sequence[PriceRule]) -> None: ...
    def list_priced(self, book_id: UUID) -> frozenset[UUID]:
        """Return the tiers whose price came from a rule."""

    def mark(self, book_id: UUID, tier_ids: Sequence[UUID]) -> None:
        """Note that the prices of these tiers, and of no others of the book, came from a rule."""

    def list_tiers(self, release_id: int) -> Mapping[UUID, TierToPrice]: ...


class CustomerRepository(Protocol):
    """Customers of one tenant; a port because the application may not import persistence."""

    def lock(self) -> None:
        """Let no other transaction change customers of the tenant until this one ends."""

    def list_all(self) -> Sequence[Customer]: ...
    def get(self, customer_id: UUID) -> Customer: ...
    def list_limits(self) -> Sequence[SpendingLimit]:
        """Return the spending limits of customers that are not archived."""

    def list_holders(self) -> Mapping[UUID, UUID]:
        """Return the customer of each key that belongs to one now."""

    def add(self, details: CustomerDetails, at: datetime) -> UUID: ...
    def change(self, customer_id: UUID, details: CustomerDetails) -> None: ...
    def set_archived(self, customer_id: UUID, at: datetime | None) -> None: ...
    def raise_version(self, customer_id: UUID) -> None: ...
    def assign(self, key_ids: Collection[UUID], customer_id: UUID | None, at: datetime) -> None:
        """Let keys belong to a customer, or to none, from a time on."""


class IssuedStatementRepository(Protocol):
    """Issued statements of one tenant; a port because the application may not import persistence."""

    def lock(self) -> None:
        """Let no other transaction issue a statement of the tenant until this one ends."""

    def find(self, customer_id: UUID, month: Month) -> IssuedStatement | None: ...
    def get(self, statement_id: UUID) -> IssuedStatement: ...
    def list_of(self, customer_id: UUID) -> Sequence[IssuedStatement]: ...
    def list_of_month(self, month: Month) -> Sequence[IssuedStatement]: ...
    def list_before(self, month: Month) -> Sequence[IssuedStatement]:
        """Return all statements of earlier months by month and number."""

    def list_page(
        self, *, after: int, limit: int, customer_id: UUID | None = None, month: Month | None = None
    ) -> Sequence[IssuedStatement]:
        """Return so many statements with numbers above one, by number."""

    def load_content(self, statement_id: UUID) -> Content: ...
    def list_transfers(self, statement_id: UUID, *, limit: int, offset: int) -> Sequence[UsageTransfer]: ...
    def iterate_transfers(self, statement_id: UUID) -> Generator[UsageTransfer, None, None]: ...
    def sum_adjustments(self, statement_ids: Collection[UUID]) -> Mapping[UUID, Mapping[str, Sums]]:
        """Return what other statements have billed of the differences of these, by statement and currency."""

    def add(self, new: NewStatement) -> IssuedStatement:
        """Store a statement under the next number, while statements are locked."""

    def add_transfers(self, statement_id: UUID, transfers: Sequence[UsageTransfer], *, first: int) -> None: ...


class NegotiatedPriceRepository(Protocol):
    """Prices negotiated with customers of one tenant; a port because the application may not import persistence."""

    def list_all(self) -> Sequence[NegotiatedPrices]: ...
    def list_of(self, customer_id: UUID) -> Sequence[NegotiatedPrices]: ...
    def add(
        self,
        customer_id: UUID,
        negotiation: Negotiation,
        *,
        starts_at: datetime,
        ends_at: datetime | None,
        at: datetime,
    ) -> UUID: ...
    def end(self, prices_id: UUID, at: datetime) -> None: ...
    def end_all(self, customer_id: UUID, at: datetime) -> None:
        """End a customer's prices at a time, and remove those that begin later."""

    def delete(self, prices_id: UUID) -> None: ...


class QuoteRepository(Protocol):
    """Quotes given to customers of one tenant; a port because the application may not import persistence."""

    def add(self, quotes: Collection[StoredQuote]) -> None:
        """Store the quotes that are not stored yet."""

    def find_stored(self, transfer_ids: Collection[UUID]) -> Collection[UUID]:
        """Return those of some transfers whose quote is stored; each was given within the last day."""

    def sum_demand(self, since: datetime) -> Sequence[Demand]:
        """Return the transfers that succeeded since a time, summed by tier, energy basis and outcome."""


class UsageRefreshRepository(Protocol):
    """What is stored of one tenant's usage; a port because the application may not import persistence."""

    def refresh(self, most: int) -> int:
        """Compute at most ``most`` changed transfers again; return how many."""


class UsageRepository(Protocol):
    """Logged transfers of one tenant by month; a port because the application may not import persistence."""

    def iterate_transfers(self, month: Month, holder: Holder | None = None) -> Generator[UsageTransfer, None, None]: ...
    def load_sheet(self, month: Month, holder: Holder, *, limit: int, offset: int) -> Sheet:
        """Return sums of a customer's or key's transfers, and a page of them, as of one moment."""

    def list_spent(
        self, month: Month, *, customer_id: UUID | None = None, without: Collection[UUID] = ()
    ) -> Mapping[tuple[UUID, str], Spending]:
        """Return what customers, or one, have spent in a month by currency; ``without`` : transfers not counted."""

    def list_sums(self, month: Month, holder: Holder | None = None) -> Sequence[UsageLine]: ...
