"""SDK: price books, and what they would have earned. The key needs the scope provider; reading books, any."""

from decimal import Decimal
from uuid import UUID

from pydantic import TypeAdapter

from tradewind.wire.pricing import NewPriceBook, PriceBookChange, WirePriceBook, WirePriceModel, WireWhatIf
from tradewind_agent.service.calls import Calls

PATH = "/v1/price-books"

_BOOK = TypeAdapter(WirePriceBook)


class Prices:
    """Price books of the key's tenant. Amounts are exact decimals in the main unit of a book's currency."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def books(self) -> tuple[WirePriceBook, ...]:
        """Return all books, the newest first."""
        return self._calls.call("GET", PATH, TypeAdapter(tuple[WirePriceBook, ...]))

    def draft(self, book: NewPriceBook) -> WirePriceBook:
        """Create a draft, empty or with the prices of another book."""
        return self._calls.call("POST", PATH, _BOOK, body=book, repeatable=False)

    def set_price(self, book_id: UUID, tier_id: UUID, price: WirePriceModel) -> WirePriceBook:
        """Set the price of a tier in a draft."""
        return self._calls.call("PUT", f"{PATH}/{book_id}/tiers/{tier_id}", _BOOK, body=price)

    def set_energy_cost(self, book_id: UUID, per_kwh: Decimal | None) -> WirePriceBook:
        """Store with a draft what a kilowatt-hour costs the provider; margins are computed from it."""
        change = PriceBookChange(energy_cost_per_kwh=per_kwh)
        return self._calls.call("PATCH", f"{PATH}/{book_id}", _BOOK, body=change)

    def what_if(self, book_id: UUID) -> WireWhatIf:
        """Return what a book would have earned from the requests of the last thirty days, next to the current one."""
        return self._calls.call("GET", f"{PATH}/{book_id}/what-if", TypeAdapter(WireWhatIf))

    def delete(self, book_id: UUID) -> None:
        """Delete a draft with its prices."""
        self._calls.send("DELETE", f"{PATH}/{book_id}", repeatable=False)
