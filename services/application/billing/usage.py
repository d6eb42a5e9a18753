"""What each customer key has used in a month, and what it pays: from logged transfers, joined with what was quoted."""

import csv
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from io import StringIO
from itertools import groupby, islice
from typing import Self
from uuid import UUID

from services.application.billing.currencies import minor_digits
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue
from tradewind.sla.pricing import round_payable

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
        """The month of ``YYYY-MM``.

        Raises
        ------
        InvalidValue : it is none, or no month of which there could be logs.
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


class Billing(StrEnum):
    """What becomes of a logged transfer."""

    BILLED = "billed"
    NOT_SUCCESSFUL = "not_successful"
    """It was quoted, but failed or was cancelled."""
    NOT_QUOTED = "not_quoted"
    UNKNOWN_QUOTE = "unknown_quote"
    """Its log carries what is no quote by a book of the tenant's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLine:
    """Transfers of one key in one currency that fare alike.

    ``key_id`` : whom the offer was made to, else who brought the log; ``None`` where neither is known. ``amount`` is
    the exact sum of what was offered, in main units of ``currency``. ``from_log_alone`` : how many have no quote in
    the journal, so that only their log says what was offered.
    """

    key_id: UUID | None
    key: str | None
    billing: Billing
    currency: str | None
    transfers: int
    bytes_moved: int
    amount: Decimal | None
    kept: int
    missed: int
    from_log_alone: int

    @property
    def payable(self) -> Decimal | None:
        """The amount rounded once to the smallest unit of its currency; ``None`` for what is not billed."""
        if self.billing is not Billing.BILLED or self.amount is None or self.currency is None:
            return None
        return round_payable(self.amount, minor_digits(self.currency))


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One customer key: a line of ``billed`` a currency, and apart from them what is not billed, and why."""

    key_id: UUID | None
    key: str | None
    billed: Sequence[UsageLine]
    unbilled: Sequence[UsageLine]


def build_statements(used: Iterable[UsageLine]) -> Sequence[Statement]:
    """By key, in the order of their names; what no key is known of comes last."""
    ordered = sorted(used, key=_order)
    return [
        Statement(
            key_id=key_id,
            key=lines[0].key,
            billed=[each for each in lines if each.billing is Billing.BILLED],
            unbilled=[each for each in lines if each.billing is not Billing.BILLED],
        )
        for key_id, lines in ((key_id, list(of_key)) for key_id, of_key in groupby(ordered, key=lambda one: one.key_id))
    ]


def _order(used: UsageLine) -> tuple[bool, str, str, str, str]:
    return used.key_id is None, used.key or "", str(used.key_id), used.currency or "", used.billing


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTransfer:
    """One logged transfer of a month, as a list of them has it; ``kept`` : whether what was promised was, if known."""

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


COLUMNS = UsageTransfer.__slots__
LINES_AT_ONCE = 1_000

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would take for the beginning of a formula."""


def usage_file_name(month: Month) -> str:
    """What the file with the transfers of a month is called."""
    return f"usage-{month}.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFile:
    """The transfers of a tenant's month as CSV, their header first: a run like a query's, with its turn and limits.

    Names that a spreadsheet would compute are marked as text.
    """

    tenant_id: UUID
    month: Month
    unit_of_work: UnitOfWork

    def chunks(self) -> Generator[bytes, None, None]:
        """The file, piece by piece, read from the store as it is taken.

        Raises
        ------
        Conflict : the rows of the month are dropped; before the first piece.
        Unavailable : the store is away.
        """
        with self.unit_of_work as uow, closing(uow.usage.each(self.month)) as transfers:
            rows = ([_cell(getattr(each, name)) for name in COLUMNS] for each in transfers)
            first = list(islice(rows, LINES_AT_ONCE))  # until then it can be refused
            yield _csv([COLUMNS, *first])
            while more := list(islice(rows, LINES_AT_ONCE)):
                yield _csv(more)

    def cancel(self) -> None:
        """Nothing: a statement that nobody waits for any more ends by the store's own patience."""


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "kept" if value else "missed"
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Decimal():
            return f"{value:f}"
        case str():
            return f"'{value}" if value.startswith(_FORMULA) else value
    return str(value)


def _csv(rows: Iterable[Sequence[str]]) -> bytes:
    lines = StringIO()
    csv.writer(lines).writerows(rows)
    return lines.getvalue().encode()
