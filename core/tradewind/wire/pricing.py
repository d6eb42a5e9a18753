"""SLA tiers and price books. Amounts are decimals in text, exact; a number is read as it is written."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field

from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.sla.pricing import DECIMALS, HIGHEST_CREDIT, HIGHEST_MARGIN, HIGHEST_PRICE, PRICE_PARTS, PriceModel
from tradewind.wire.base import PLAIN_DIGITS, PLAIN_NUMBER, ExactDecimal, Instant, NewName, Open, Strict
from tradewind.wire.records import WireParameters
from tradewind.wire.releases import TierBounds

Amount = Annotated[
    Decimal, Field(ge=0, le=HIGHEST_PRICE, decimal_places=DECIMALS, allow_inf_nan=False), PLAIN_NUMBER, PLAIN_DIGITS
]
Margin = Annotated[
    Decimal, Field(ge=0, le=HIGHEST_MARGIN, decimal_places=DECIMALS, allow_inf_nan=False), PLAIN_NUMBER, PLAIN_DIGITS
]
Credit = Annotated[
    Decimal, Field(ge=0, le=HIGHEST_CREDIT, decimal_places=DECIMALS, allow_inf_nan=False), PLAIN_NUMBER, PLAIN_DIGITS
]
CurrencyCode = Annotated[str, Field(min_length=3, max_length=3, description="ISO 4217, such as EUR.")]


class WirePriceModel(Strict):
    """(base + per_gb · GB + per_kwh · kWh) · (1 + margin), in the main unit of the book's currency.

    ``credit`` : the share of the amount that is given back where the transfer misses its SLA.
    """

    base: Amount = Decimal(0)
    per_gb: Amount = Decimal(0)
    per_kwh: Amount = Decimal(0)
    margin: Margin = Decimal(0)
    credit: Credit = Decimal(0)

    def to_model(self) -> PriceModel:
        return PriceModel(**dict(self))

    @classmethod
    def of(cls, price: PriceModel) -> Self:
        return cls(**{part: getattr(price, part) for part in PRICE_PARTS})


class NewPriceBook(Strict):
    """A draft. With ``copy_of`` it begins with the prices of that book, in its currency."""

    name: NewName
    currency: CurrencyCode | None = None
    energy_basis: EnergyBasis | None = None
    copy_of: UUID | None = None


class PriceBookChange(Strict):
    """What energy costs the provider: a kilowatt-hour, in the book's currency; ``null`` : not known any more."""

    energy_cost_per_kwh: Amount | None


class Publication(Strict):
    """From when on the prices hold; now if absent."""

    effective_from: Instant | None = None


class TierPrice(Open):
    """``margin`` : absent for customers and in adjusted prices: the other parts
    include it.
    """

    tier_id: UUID
    base: ExactDecimal
    per_gb: ExactDecimal
    per_kwh: ExactDecimal
    margin: ExactDecimal | None
    credit: ExactDecimal = Decimal(0)


class WirePriceBook(Open):
    """``state`` is draft, published or superseded. ``version`` rises with each change; it is the ``ETag`` too.

    ``energy_cost_per_kwh`` : what energy costs the provider; absent where not known, and for keys of customers.
    """

    id: UUID
    name: str
    currency: str
    energy_basis: EnergyBasis
    energy_cost_per_kwh: ExactDecimal | None = None
    state: str
    in_force: bool
    version: int
    created_at: datetime
    published_at: datetime | None = None
    effective_from: datetime | None = None
    effective_until: datetime | None = None
    prices: tuple[TierPrice, ...]


class BookEarnings(Open):
    """What a book earns of some requests, in its currency, each amount rounded by itself to six decimals.

    ``credits`` : given back for missed SLAs. ``margin`` is ``revenue`` less ``credits`` and ``energy_cost``; the latter
    and the margin are absent where the provider has not said what a kWh costs.
    ``energy_unknown`` : requests priced whose energy is not known on the book's basis: their cost is missing.
    """

    revenue: ExactDecimal
    energy_charged: ExactDecimal
    mark_up: ExactDecimal
    credits: ExactDecimal = Decimal(0)
    energy_cost: ExactDecimal | None
    margin: ExactDecimal | None
    unpriced: int
    energy_unknown: int


class TierEarnings(Open):
    """Demand of a tier, and what is earned of it; ``name``, ``place`` : absent for one of an earlier release."""

    tier_id: UUID
    name: str | None
    place: str | None
    requests: int
    total_bytes: int
    book: BookEarnings
    in_force: BookEarnings | None


class WireWhatIf(Open):
    """The transfers that were completed since a time, replayed at the prices of a book and of the current one.

    ``requests`` : how many transfers; those count that asked for a recommendation.

    ``energy_source`` : energy is what the models predicted for the requests, on the ``energy_basis`` of each book.
    """

    book_id: UUID
    currency: str
    energy_basis: EnergyBasis
    energy_source: Literal["modelled"] = "modelled"
    energy_cost_per_kwh: ExactDecimal | None
    in_force_book_id: UUID | None
    in_force_currency: str | None
    since: datetime
    requests: int
    book: BookEarnings
    in_force: BookEarnings | None
    tiers: tuple[TierEarnings, ...]


class CurrentTierPrice(Open):
    """A tier's price in the current book; ``margin`` : absent for customers and in adjusted prices: the other parts
    include it.
    """

    book_id: UUID
    currency: str
    energy_basis: EnergyBasis
    base: ExactDecimal
    per_gb: ExactDecimal
    per_kwh: ExactDecimal
    margin: ExactDecimal | None
    credit: ExactDecimal = Decimal(0)


class SlaTier(Open):
    """A partition of what can be promised: targets in [lower, upper), upper included if ``closed``.

    Bounds are in bit/s, joules a byte or watts by ``kind``. ``needs_review`` : they moved with refits since the
    provider has seen them as ``reviewed``.
    """

    tier_id: UUID
    name: str
    link_id: UUID
    cluster_id: UUID
    kind: SlaKind
    confidence: float
    energy_basis: EnergyBasis
    lower: float
    upper: float
    closed: bool
    parameters: WireParameters
    probability: float
    regret: float
    needs_review: bool
    reviewed: TierBounds | None = None
    price: CurrentTierPrice | None = None
