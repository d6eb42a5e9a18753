"""Issued statements: what a customer was billed for a month, with a number, for good.

What is logged or corrected later changes no issued statement. The difference is an adjustment of a later one, so that
it is billed once: what the month comes to now, less what was issued of it and less what was adjusted so far.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import NamedTuple, Self
from uuid import UUID

from services.application.billing.currencies import count_minor_digits
from services.application.billing.customers import Customer, CustomerDetails
from services.application.billing.issuer import Issuer
from services.application.billing.statements import Sheet, add_lines, load_statement
from services.application.billing.usage import (
    Billing,
    Holder,
    Month,
    UsageLine,
    UsageTransfer,
)
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict
from tradewind.sla.pricing import round_payable

TIME_ZONE = "UTC"
"""In which months begin and end."""

TRANSFERS_AT_ONCE = 1_000


class Sums(NamedTuple):
    """Billed transfers of one currency. Amounts are exact."""

    transfers: int = 0
    amount: Decimal = Decimal(0)
    credit: Decimal = Decimal(0)

    def plus(self, other: "Sums") -> "Sums":
        """Return both together."""
        return Sums(self.transfers + other.transfers, self.amount + other.amount, self.credit + other.credit)

    def minus(self, other: "Sums") -> "Sums":
        """Return the difference; each part may be negative."""
        return Sums(self.transfers - other.transfers, self.amount - other.amount, self.credit - other.credit)

    @property
    def net(self) -> Decimal:
        """Return the amount less the credit."""
        return self.amount - self.credit


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
        payable = round_payable(sums.net + adjustment, count_minor_digits(currency))
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


def issue_statement(customer_id: UUID, month: Month, *, uow: UnitOfWork, clock: Clock) -> tuple[IssuedStatement, bool]:
    """Issue the statement of a customer for a month that is over, once.

    Returns
    -------
    The statement, and whether this call issued it: one that was issued before is returned as it is.

    Raises
    ------
    NotFound : the tenant has no such customer.
    Conflict : the month is not over, nothing is to be paid, or logs of the month are stored meanwhile.
    """
    uow.issued_statements.lock()
    customer = uow.customers.get(customer_id)
    if (found := uow.issued_statements.find(customer_id, month)) is not None:
        return found, False
    now = clock.now()
    if now < month.ends_at:
        raise Conflict(f"{month} is not over; its statement can be issued from {month.after}-01 on (UTC)")
    statement, detail = load_statement(Holder(customer_id=customer_id), month, limit=0, offset=0, uow=uow)
    adjustments = list_open_adjustments(customer_id, month, uow)
    dues = build_dues(statement.billed, adjustments)
    if not dues:
        raise Conflict(f"nothing is billed to {customer.name} for {month}")
    has_transfers = not statement.billed or bool(detail.sheet.totals)  # there are none where the rows are dropped
    issued = uow.issued_statements.add(
        NewStatement(
            month=month,
            customer=customer,
            issuer=detail.issuer,
            issued_at=now,
            dues=dues,
            adjustments=adjustments,
            content=Content(sheet=detail.sheet, tiers=detail.tiers),
            has_transfers=has_transfers,
        )
    )
    if has_transfers:
        _store_transfers(issued, uow)
    uow.audit.note(
        "statements.issued",
        customer.name,
        id=str(customer_id),
        number=issued.number,
        month=str(month),
        payable=", ".join(f"{due.payable:f} {due.currency}" for due in dues),
    )
    uow.commit()
    return issued, True


def _store_transfers(issued: IssuedStatement, uow: UnitOfWork) -> None:
    """Store the billed transfers of a statement, which have to add up to it."""
    stored: dict[str, Sums] = {}
    holder = Holder(customer_id=issued.customer_id)
    with closing(uow.usage.iterate_transfers(issued.month, holder)) as transfers:
        billed = (each for each in transfers if each.billing is Billing.BILLED)
        ordinal = 0
        while block := list(islice(billed, TRANSFERS_AT_ONCE)):
            uow.issued_statements.add_transfers(issued.id, block, first=ordinal)
            ordinal += len(block)
            for each in block:
                _add_transfer(stored, each)
    expected = {due.currency: due.sums for due in issued.dues if due.sums != Sums()}
    if stored != expected:
        raise Conflict(f"logs of {issued.month} are being stored; nothing was issued, try again in a minute")


def _add_transfer(sums: dict[str, Sums], transfer: UsageTransfer) -> None:
    assert transfer.currency is not None, "what is billed has an amount, which has a currency"
    assert transfer.amount is not None
    own = Sums(1, transfer.amount, transfer.credit or Decimal(0))
    sums[transfer.currency] = sums.get(transfer.currency, Sums()).plus(own)


def build_dues(billed: Iterable[UsageLine], adjustments: Iterable[Adjustment]) -> Sequence[Due]:
    """Return what is to be paid by currency: billed transfers and adjustments together, rounded once."""
    sums = sum_billed(billed)
    adjusted: dict[str, Decimal] = {}
    for each in adjustments:
        adjusted[each.currency] = adjusted.get(each.currency, Decimal(0)) + each.sums.net
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


def list_open_adjustments(customer_id: UUID, month: Month, uow: UnitOfWork) -> Sequence[Adjustment]:
    """Return the differences of earlier issued months that no statement has billed yet.

    While issued statements are locked, the statement of this month bills them, and no other one does.
    """
    earlier = [each for each in uow.issued_statements.list_of(customer_id) if each.month < month]
    return [
        Adjustment(
            corrected_id=change.statement_id,
            number=change.number,
            month=change.month,
            currency=change.currency,
            sums=change.difference,
        )
        for change in find_changes(earlier, uow)
        if change.is_open
    ]


def find_changes(statements: Iterable[IssuedStatement], uow: UnitOfWork) -> Iterator[Change]:
    """Yield what became of issued statements by currency, also where nothing has changed."""
    for each in statements:
        now = sum_billed(uow.usage.list_sums(each.month, Holder(customer_id=each.customer_id)))
        adjusted = uow.issued_statements.sum_adjustments(each.id)
        issued = {due.currency: due.sums for due in each.dues}
        for currency in sorted(now.keys() | adjusted.keys() | issued.keys()):
            yield Change(
                statement_id=each.id,
                number=each.number,
                month=each.month,
                currency=currency,
                issued=issued.get(currency, Sums()),
                adjusted=adjusted.get(currency, Sums()),
                now=now.get(currency, Sums()),
            )
