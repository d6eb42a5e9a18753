"""Statements of what customers used. Amounts are decimals in text, exact."""

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from tradewind.wire.base import Open


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
    amount: Decimal
    credit: Decimal = Decimal(0)
    payable: Decimal | None
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


class UsageStatement(Open):
    """What one key used in a month in UTC, by the begin of its transfers.

    ``key_id`` : the key that was quoted, else the one that brought the log; absent where neither is known.
    ``customer_id``, ``customer`` : that the key belonged to then, which pays ``customer_billed`` for all of its keys
    together: a line a currency, the same for each of its keys.
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
    unbilled: tuple[UnbilledUsage, ...]
