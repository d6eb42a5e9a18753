"""What issued statements are made of: sums, what is due, what has changed, and the statement itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple, Self
from uuid import UUID

from services.application.billing.currencies import count_minor_digits
from services.application.billing.customers import Customer, CustomerDetails
from services.application.billing.issuer import Issuer
from services.application.billing.statements import Sheet, add_lines
from services.application.billing.usage import Billing, Month, UsageLine
from tradewind.sla.pricing import add_exactly, round_payable, subtract_exactly

TIME_ZONE = "UTC"
"""In which months begin and end."""


class Sums(NamedTuple):
    """Billed transfers of one currency. Amounts are exact."""

    transfers: int = 0
    amount: Decimal = Decimal(0)
    credit: Decimal = Decimal(0)

    def plus(self, other: "Sums") -> "Sums":
        """Return both together."""
        return Sums(
            self.transfers + other.transfers,
            add_exactly(self.amount, other.amount),
            add_exactly(self.credit, other.credit),
        )

    def minus(self, other: "Sums") -> "Sums":
        """Return the difference; each part may be negative."""
        return Sums(
            self.transfers - other.transfers,
            subtract_exactly(self.amount, other.amount),
            subtract_exactly(self.credit, other.credit),
        )

    @property
    def net(self) -> Decimal:
        """Return the amount less the credit."""
        return subtract_exactly(self.amount, self.credit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What a statement comes to in one currency.

    ``sums`` : of the transfers of its month. ``adjustment`` : of months that were issued before; may be negative.
    ``payable`` : both together, rounded once; negative where the customer gets money back.
    """

    currency: str
    sums: Sums
    adjustment: Decimal
    payable: Decimal

    @classmethod
    def of(cls, currency: str, sums: Sums, adjustment: Decimal) -> Self:
        """Return what is due, rounded to the currency's smallest unit."""
        payable = round_payable(add_exactly(sums.net, adjustment), count_minor_digits(currency))
        return cls(currency=currency, sums=sums, adjustment=adjustment, payable=payable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of an issued month in one currency.

    ``number``, ``month`` : of the issued statement. ``adjusted`` : what later statements have billed of the difference.
    ``now`` : what its transfers come to now.
    """

    statement_id: UUID
    number: int
    month: Month
    currency: str
    issued: Sums
    adjusted: Sums
    now: Sums

    @property
    def difference(self) -> Sums:
        """Return what is not billed yet."""
        return self.now.minus(self.issued).minus(self.adjusted)

    @property
    def is_open(self) -> bool:
        return bool(self.difference.amount or self.difference.credit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """A difference of an earlier issued month that a statement bills; ``number``, ``month`` : of that one."""

    corrected_id: UUID
    number: int
    month: Month
    currency: str
    sums: Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What an issued statement is made of. ``tiers`` : their names when it was issued."""

    sheet: Sheet
    tiers: Mapping[UUID, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStatement:
    """A statement to be issued. ``has_transfers`` : its single transfers are stored too."""

    month: Month
    customer: Customer
    issuer: Issuer
    issued_at: datetime
    dues: Sequence[Due]
    adjustments: Sequence[Adjustment]
    content: Content
    has_transfers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedStatement:
    """A statement that was issued. ``number`` : of the tenant's statements, consecutive from 1.

    ``customer`` : name, contact and address, and ``issuer`` : the provider, both as of then. ``issued_by`` : a login,
    the name of a key, or ``service``.
    """

    id: UUID
    number: int
    month: Month
    time_zone: str
    issued_at: datetime
    issued_by: str
    issuer: Issuer
    customer_id: UUID
    customer_number: int
    customer: CustomerDetails
    has_transfers: bool
    dues: Sequence[Due]
    adjustments: Sequence[Adjustment]


def build_dues(billed: Iterable[UsageLine], adjustments: Iterable[Adjustment]) -> Sequence[Due]:
    """Return what is to be paid by currency: billed transfers and adjustments together, rounded once."""
    sums = sum_billed(billed)
    adjusted: dict[str, Decimal] = {}
    for each in adjustments:
        adjusted[each.currency] = add_exactly(adjusted.get(each.currency, Decimal(0)), each.sums.net)
    return [
        Due.of(currency, sums.get(currency, Sums()), adjusted.get(currency, Decimal(0)))
        for currency in sorted(sums.keys() | adjusted.keys())
    ]


def sum_billed(lines: Iterable[UsageLine]) -> Mapping[str, Sums]:
    """Return the sums of billed lines by currency."""
    billed = add_lines(line for line in lines if line.billing is Billing.BILLED)
    return {
        line.currency: Sums(line.transfers, line.amount or Decimal(0), line.credit)
        for line in billed
        if line.currency is not None
    }
