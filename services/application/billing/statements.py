"""Statements of a month: one for each customer over all of its keys, and one for each key without a customer."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from services.application.billing.customers import Customer
from services.application.billing.issuer import Issuer, find_issuer
from services.application.billing.usage import Billing, Holder, Month, UsageLine, UsageTransfer
from services.application.models.sla_tiers import list_distinct_names
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import NotFound
from tradewind.sla.pricing import add_exactly


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUsage:
    """What one key used: a ``billed`` line for each currency, and unbilled lines by reason."""

    key_id: UUID | None
    key: str | None
    billed: Sequence[UsageLine]
    unbilled: Sequence[UsageLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a customer, or a key without one, used in a month, and what it pays.

    ``billed`` : a line a currency over all keys, rounded once. ``unbilled`` : lines by reason over all keys.
    ``is_final`` : its month is closed. It is provisional until then: transfers that are logged late change it.
    """

    number: str
    month: Month
    customer: Customer | None
    keys: Sequence[KeyUsage]
    billed: Sequence[UsageLine]
    unbilled: Sequence[UsageLine]
    is_final: bool = False

    @property
    def fingerprint(self) -> str:
        """A code of its content: two statements with the same number and other content have different ones."""
        lines = sorted(_format_content(line) for key in self.keys for line in (*key.billed, *key.unbilled))
        return sha256("\n".join(lines).encode()).hexdigest()[:FINGERPRINT_DIGITS]

    @property
    def holder(self) -> Holder:
        if self.customer is not None:
            return Holder(customer_id=self.customer.id)
        return Holder(key_id=self.keys[0].key_id if self.keys else None)

    @property
    def name(self) -> str:
        """The customer, or the key."""
        if self.customer is not None:
            return self.customer.name
        return (self.keys[0].key if self.keys else None) or "key not known"


FINGERPRINT_DIGITS = 8


def _format_content(line: UsageLine) -> str:
    amounts = ("" if amount is None else f"{amount.normalize():f}" for amount in (line.amount, line.credit))
    counts = (line.transfers, line.bytes_moved, line.met, line.missed)
    return " ".join(map(str, (line.key_id, line.billing, line.currency, *counts, *amounts)))


class UsageTotal(NamedTuple):
    """Billed transfers of one link and tier in one currency; ``sla`` : its kind."""

    source: str
    destination: str
    tier_id: UUID | None
    sla: str | None
    currency: str
    transfers: int
    bytes_moved: int
    amount: Decimal
    credit: Decimal
    met: int
    missed: int


class DayTotal(NamedTuple):
    """Billed transfers that began on one day (UTC), in one currency."""

    day: date
    currency: str
    transfers: int
    bytes_moved: int
    amount: Decimal
    credit: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Sums of the transfers of a customer or key, and a page of them, all as of one moment.

    All but ``sums`` is empty where the rows of the month are dropped. ``transfers`` : a page of the billed ones by
    their start.
    """

    sums: Sequence[UsageLine]
    totals: Sequence[UsageTotal] = ()
    days: Sequence[DayTotal] = ()
    transfers: Sequence[UsageTransfer] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementDetail:
    """What a statement is made of. ``tiers`` : names in the current release."""

    issuer: Issuer
    sheet: Sheet
    tiers: Mapping[UUID, str]


def build_statements(
    lines: Iterable[UsageLine], customers: Iterable[Customer], month: Month, *, always: Collection[UUID] = ()
) -> Sequence[Statement]:
    """Return statements: customers by name, then keys without one by name; lines without a known key come last.

    Parameters
    ----------
    always : customers that have a statement also without transfers.
    """
    known = {customer.id: customer for customer in customers}
    grouped: dict[Holder, list[UsageLine]] = {Holder(customer_id=each): [] for each in known if each in always}
    for line in lines:
        customer = known.get(line.customer_id) if line.customer_id is not None else None
        holder = Holder(key_id=line.key_id) if customer is None else Holder(customer_id=customer.id)
        grouped.setdefault(holder, []).append(line)
    found = [
        build_statement(month, of_holder, known.get(holder.customer_id) if holder.customer_id is not None else None)
        for holder, of_holder in grouped.items()
    ]
    return sorted(found, key=_order_statement)


def add_payable(statements: Iterable[Statement]) -> Mapping[str, Decimal]:
    """Return what statements come to by currency: the sum of what each comes to, which is rounded once."""
    payable: dict[str, Decimal] = {}
    for line in (line for statement in statements for line in statement.billed):
        if line.currency is not None and line.payable is not None:
            payable[line.currency] = add_exactly(payable.get(line.currency, Decimal(0)), line.payable)
    return payable


def build_statement(
    month: Month, lines: Sequence[UsageLine], customer: Customer | None, *, is_final: bool = False
) -> Statement:
    """Return the statement of one customer or key."""
    by_key: dict[UUID | None, list[UsageLine]] = {}
    for line in sorted(lines, key=_order_line):
        by_key.setdefault(line.key_id, []).append(line)
    keys = [
        KeyUsage(
            key_id=key_id,
            key=of_key[0].key,
            billed=[line for line in of_key if line.billing is Billing.BILLED],
            unbilled=[line for line in of_key if line.billing is not Billing.BILLED],
        )
        for key_id, of_key in by_key.items()
    ]
    return Statement(
        number=format_number(month, customer, keys[0].key_id if keys else None),
        month=month,
        customer=customer,
        keys=keys,
        billed=add_lines(line for key in keys for line in key.billed),
        unbilled=add_lines(line for key in keys for line in key.unbilled),
        is_final=is_final,
    )


def format_number(month: Month, customer: Customer | None, key_id: UUID | None) -> str:
    """Return the number of a statement, such as ``2026-11-0003``, which never changes."""
    if customer is not None:
        return format_reference(month, customer.number)
    return f"{month}-K{key_id.hex[-8:].upper()}" if key_id is not None else f"{month}-K0"


def format_reference(month: Month, customer_number: int) -> str:
    """Return the number of a customer's statement of a month."""
    return f"{month}-{customer_number:04}"


def add_lines(lines: Iterable[UsageLine]) -> Sequence[UsageLine]:
    """Return one line, of no key, for each currency and kind of billing."""
    grouped: dict[tuple[str, str], list[UsageLine]] = {}
    for line in lines:
        grouped.setdefault((line.currency or "", line.billing), []).append(line)
    return [_add(grouped[group]) for group in sorted(grouped)]


def _add(lines: Sequence[UsageLine]) -> UsageLine:
    amounts = [line.amount for line in lines if line.amount is not None]
    return UsageLine(
        key_id=None,
        key=None,
        customer_id=lines[0].customer_id,
        billing=lines[0].billing,
        currency=lines[0].currency,
        transfers=sum(line.transfers for line in lines),
        bytes_moved=sum(line.bytes_moved for line in lines),
        amount=add_exactly(*amounts) if amounts else None,
        credit=add_exactly(*(line.credit for line in lines)),
        met=sum(line.met for line in lines),
        missed=sum(line.missed for line in lines),
        from_log_alone=sum(line.from_log_alone for line in lines),
    )


def _order_statement(statement: Statement) -> tuple[bool, bool, str, str]:
    is_key = statement.customer is None
    is_unknown = is_key and statement.keys[0].key_id is None
    return is_key, is_unknown, statement.name.lower(), statement.number


def _order_line(line: UsageLine) -> tuple[bool, str, str, str, str]:
    return line.key_id is None, line.key or "", str(line.key_id), line.currency or "", line.billing


def find_statement(holder: Holder, month: Month, uow: UnitOfWork) -> Statement:
    """Return the statement of a customer or key.

    A customer without transfers has an empty one.

    Raises
    ------
    NotFound : the tenant has no such customer, or nothing of the key is logged in the month.
    """
    customer = None if holder.customer_id is None else uow.customers.get(holder.customer_id)
    is_final = uow.month_seals.is_closed(month)  # read first: nothing changes the sums of a month that was closed
    return _build_found(month, uow.usage.list_sums(month, holder), customer, is_final=is_final)


def load_statement(
    holder: Holder, month: Month, *, limit: int, offset: int, uow: UnitOfWork
) -> tuple[Statement, StatementDetail]:
    """Return the statement of a customer or key with its totals and a page of its transfers, which add up to it.

    Raises
    ------
    NotFound : the tenant has no such customer, or nothing of the key is logged in the month.
    """
    customer = None if holder.customer_id is None else uow.customers.get(holder.customer_id)
    is_final = uow.month_seals.is_closed(month)  # read first: nothing changes the sums of a month that was closed
    sheet = uow.usage.load_sheet(month, holder, limit=limit, offset=offset)
    tier_ids = {tier_id for tier_id in _list_tier_ids(sheet.totals, sheet.transfers) if tier_id is not None}
    detail = StatementDetail(
        issuer=find_issuer(uow), sheet=sheet, tiers=list_distinct_names(tier_ids, uow) if tier_ids else {}
    )
    return _build_found(month, sheet.sums, customer, is_final=is_final), detail


def _build_found(month: Month, lines: Sequence[UsageLine], customer: Customer | None, *, is_final: bool) -> Statement:
    if customer is None and not lines:
        raise NotFound(f"no transfers of this key are logged in {month}")
    return build_statement(month, lines, customer, is_final=is_final)


def _list_tier_ids(totals: Iterable[UsageTotal], transfers: Iterable[UsageTransfer]) -> Iterator[UUID | None]:
    yield from (total.tier_id for total in totals)
    yield from (transfer.tier_id for transfer in transfers)
