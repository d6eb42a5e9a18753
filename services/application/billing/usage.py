"""Monthly usage of each customer key, and what it pays: logged transfers, joined with their quotes."""

import csv
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from io import StringIO
from itertools import islice
from typing import NamedTuple, Self
from uuid import UUID

from services.application.billing.currencies import count_minor_digits
from services.application.billing.issuer import Issuer
from services.application.shared.formulas import mark_formula
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue
from tradewind.sla.pricing import round_payable, subtract_exactly

EARLIEST_YEAR, LATEST_YEAR = 1990, 2099


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A calendar month in UTC, ``2026-11``."""

    year: int
    number: int

    @classmethod
    def of(cls, at: datetime) -> Self:
        utc = at.astimezone(UTC)
        return cls(utc.year, utc.month)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a month of the form ``YYYY-MM``.

        Raises
        ------
        InvalidValue : it is not a month, or too far from now for logs.
        """
        year, dash, number = text.partition("-")
        digits = text.isascii() and year.isdigit() and number.isdigit() and (len(year), len(number)) == (4, 2)
        if not (dash and digits and 1 <= int(number) <= 12 and EARLIEST_YEAR <= int(year) <= LATEST_YEAR):
            raise InvalidValue("month", f"{text[:20]!r} is none; write it like 2026-11")
        return cls(int(year), int(number))

    @property
    def begins_at(self) -> datetime:
        return datetime(self.year, self.number, 1, tzinfo=UTC)

    @property
    def ends_at(self) -> datetime:
        return self.after.begins_at

    @property
    def before(self) -> Self:
        return type(self)(self.year - (self.number == 1), self.number - 1 or 12)

    @property
    def after(self) -> Self:
        return type(self)(self.year + self.number // 12, self.number % 12 + 1)

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"


class Holder(NamedTuple):
    """Whose transfers: a customer's, or those of a key that belonged to none; both ``None`` : an unknown key."""

    customer_id: UUID | None = None
    key_id: UUID | None = None

    def has(self, line: "UsageLine") -> bool:
        """Return whether a line is of these transfers."""
        is_of_key = self.customer_id is not None or line.key_id == self.key_id
        return line.customer_id == self.customer_id and is_of_key


class Spending(NamedTuple):
    """What a customer has spent in a month in one currency.

    ``billed`` : what its statement has so far, less credits. ``reserved`` : quotes whose transfer runs, is not logged
    yet, or may still begin.
    """

    billed: Decimal
    reserved: Decimal

    @property
    def amount(self) -> Decimal:
        return self.billed + self.reserved


class Billing(StrEnum):
    """How a logged transfer is billed."""

    BILLED = "billed"
    NOT_SUCCESSFUL = "not_successful"
    """It was quoted, but failed or was cancelled."""
    NOT_QUOTED = "not_quoted"
    UNKNOWN_QUOTE = "unknown_quote"
    """The quote in its log is not from a price book of the tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLine:
    """Transfers of one key in one currency that are billed in the same way.

    ``key_id`` : the key that was given the quote, else the one that uploaded the log; ``None`` where both are unknown.
    ``amount`` : the exact sum of the quotes, in main units of ``currency``. ``met``, ``missed`` : SLAs met and missed.
    ``credit`` : given back for the missed ones, exact. ``customer_id`` : that the key belonged to then.
    ``from_log_alone`` : transfers without a quote in the journal, so that only their log has it.
    """

    key_id: UUID | None
    key: str | None
    billing: Billing
    currency: str | None
    transfers: int
    bytes_moved: int
    amount: Decimal | None
    met: int
    missed: int
    from_log_alone: int
    credit: Decimal = Decimal(0)
    customer_id: UUID | None = None

    @property
    def payable(self) -> Decimal | None:
        """Return what is to be paid: the amount less the credit, rounded once to the currency's smallest unit.

        ``None`` where nothing is billed.
        """
        if self.billing is not Billing.BILLED or self.amount is None or self.currency is None:
            return None
        return round_payable(subtract_exactly(self.amount, self.credit), count_minor_digits(self.currency))


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTransfer:
    """One logged transfer of a month, a line of the file; ``kept`` : whether its SLA was met, if known.

    ``credit`` : given back of the amount because the SLA was missed. ``target`` : in the unit of the SLA's kind: bit/s,
    s, J or W. ``probability`` : with which the SLA was promised. ``customer`` : that the key belonged to then.
    """

    key_id: UUID | None
    key: str | None
    transfer_id: UUID | None
    started_at: datetime
    ended_at: datetime
    source: str
    destination: str
    mover: str
    tier_id: UUID | None
    sla: str | None
    status: str
    bytes_moved: int
    billing: Billing
    amount: Decimal | None
    currency: str | None
    energy_basis: str | None
    book_id: UUID | None
    kept: bool | None
    credit: Decimal | None
    target: float | None
    probability: float | None
    customer: str | None = None


COLUMNS = UsageTransfer.__slots__
ISSUER_COLUMNS = ("provider", "provider_address")
LINES_AT_ONCE = 1_000


def format_usage_file_name(month: Month, number: str | None = None, issued_number: int | None = None) -> str:
    """Return the name of the file with the transfers of a month, or of a statement.

    Parameters
    ----------
    number, issued_number : of the statement, such as ``2026-11-0003``; and the one that it was issued under.
    """
    if number is None:
        return f"usage-{month}.csv"
    return f"statement-{number}.csv" if issued_number is None else f"statement-{issued_number:06}-{number}.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFile:
    """The transfers of a tenant's month as CSV with a header; it is run like a query, with a slot and limits.

    ``holder`` : whose transfers; ``None`` : all. ``issuer`` : of a statement, in two more columns. Names that a
    spreadsheet would take for a formula are marked as text.
    """

    tenant_id: UUID
    month: Month
    unit_of_work: UnitOfWork
    holder: Holder | None = None
    issuer: Issuer | None = None

    def read_chunks(self) -> Generator[bytes, None, None]:
        """Yield the file piece by piece, read from the store on demand.

        Raises
        ------
        Conflict : the rows of the month are dropped; raised before the first piece.
        Unavailable : the store is unreachable.
        """
        with self.unit_of_work as uow, closing(uow.usage.iterate_transfers(self.month, self.holder)) as transfers:
            issued = () if self.issuer is None else (self.issuer.name, ", ".join(self.issuer.address))
            rows = ([*(getattr(transfer, name) for name in COLUMNS), *issued] for transfer in transfers)
            yield from format_file((*COLUMNS, *ISSUER_COLUMNS[: len(issued)]), rows)

    def cancel(self) -> None:
        """Do nothing: an abandoned statement ends by the store's own time limit."""


def format_file(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Generator[bytes, None, None]:
    """Yield rows as CSV piece by piece: text that a spreadsheet would take for a formula is marked as text."""
    lines = ([_format_cell(value) for value in row] for row in rows)
    first = list(islice(lines, LINES_AT_ONCE))  # errors before the first piece can still be answered
    yield _format_csv([header, *first])
    while more := list(islice(lines, LINES_AT_ONCE)):
        yield _format_csv(more)


def _format_cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "kept" if value else "missed"
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Decimal() | float():
            return f"{value:f}" if isinstance(value, Decimal) else f"{value:.12g}"
        case str():
            return mark_formula(value)
    return str(value)


def _format_csv(rows: Iterable[Sequence[str]]) -> bytes:
    lines = StringIO()
    csv.writer(lines).writerows(rows)
    return lines.getvalue().encode()
