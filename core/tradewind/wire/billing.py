"""Statements of what customers used. Amounts are decimals in text, exact."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tradewind.wire.base import ExactDecimal, Open, Strict

MonthText = Annotated[str, Field(min_length=7, max_length=7, description="`YYYY-MM`, in UTC.")]


class BilledUsage(Open):
    """Transfers that succeeded and were quoted, in one currency.

    ``amount`` is the exact sum of their quotes, ``credit`` what is given back of it for missed SLAs, and
    ``payable`` the difference, rounded once to the currency's smallest unit; absent for a key of a customer, which pays
    for all of its keys together.
    ``from_log_alone`` : transfers whose quote is in their log and not in the service's own journal.
    """

    currency: str
    transfers: int
    bytes_moved: int
    amount: ExactDecimal
    credit: ExactDecimal = Decimal(0)
    payable: ExactDecimal | None
    agreements_kept: int
    agreements_missed: int
    from_log_alone: int


class UnbilledUsage(Open):
    """Transfers that nobody pays for: ``not_quoted``, ``not_successful`` or ``unknown_quote``."""

    reason: str
    currency: str | None = None
    transfers: int
    bytes_moved: int
    agreements_kept: int
    agreements_missed: int


class StatementDue(Open):
    """What a statement comes to in one currency.

    ``transfers``, ``amount``, ``credit`` : of the month's transfers, exact. ``adjustment`` : of months that were issued
    before, exact. ``payable`` : amount - credit + adjustment, rounded once; negative where the customer gets money
    back.
    """

    currency: str
    transfers: int
    amount: ExactDecimal
    credit: ExactDecimal
    adjustment: ExactDecimal
    payable: ExactDecimal


class StatementAdjustment(Open):
    """A difference of an earlier issued statement, billed by a later one; each is billed once.

    ``number``, ``month`` : of the earlier statement. ``amount``, ``credit`` : more than it had, or less (negative).
    """

    number: int
    month: str
    currency: str
    transfers: int
    amount: ExactDecimal
    credit: ExactDecimal


class UsageStatement(Open):
    """What one key used in a month in UTC, by the begin of its transfers.

    ``key_id`` : the key that was quoted, else the one that brought the log; absent where neither is known, and for a
    customer that pays differences of earlier months alone.
    ``customer_id``, ``customer`` : that the key belonged to then, which pays for all of its keys together.
    ``customer_billed`` : what it is billed, and ``customer_to_pay`` : what it pays, with differences of earlier issued
    months. Both have a line a currency, the same for each of its keys. A line of ``customer_billed`` has no ``payable``
    where there are differences.
    """

    month: str
    begins_at: datetime
    ends_at: datetime
    customer_id: UUID | None = None
    customer: str | None = None
    key_id: UUID | None = None
    key: str | None = None
    billed: tuple[BilledUsage, ...]
    customer_billed: tuple[BilledUsage, ...] = ()
    customer_to_pay: tuple[StatementDue, ...] = ()
    unbilled: tuple[UnbilledUsage, ...]


class StatementsToIssue(Strict):
    """The statements of all customers for a month that is over. ``dry_run`` : say what would be issued, issue none."""

    month: MonthText
    dry_run: bool = False


class StatementOutcome(Open):
    """What became of one statement.

    ``outcome`` : ``issued``, ``already_issued`` by an earlier call, ``not_issued`` for a ``reason``, or ``to_issue`` in
    a dry run. ``number``, ``statement_id`` : of an issued one. ``name`` : of the customer, or of a key without one,
    which has no ``customer_id``. ``to_pay`` : a line a currency, of one that is not issued as far as it is logged now.
    """

    customer_id: UUID | None = None
    name: str
    outcome: Literal["issued", "already_issued", "to_issue", "not_issued"]
    reason: str | None = None
    number: int | None = None
    statement_id: UUID | None = None
    to_pay: tuple[StatementDue, ...]


class IssuedMonth(Open):
    """What became of all statements of a month. ``statements`` : customers by name, then keys without one."""

    month: str
    dry_run: bool
    statements: tuple[StatementOutcome, ...]
