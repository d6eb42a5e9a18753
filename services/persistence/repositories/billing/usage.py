"""Logged transfers of a month with their quotes, summed up by key or one by one."""

from collections.abc import Collection, Generator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, select, text

from services.application.billing.spending import RESERVED_FOR
from services.application.billing.statements import Sheet
from services.application.billing.usage import Billing, Holder, Month, Spending, UsageLine, UsageTransfer
from services.persistence.repositories.billing.usage_rules_sql import QUOTE_FORM
from services.persistence.repositories.billing.usage_sql import EACH, SHEET, SPENT, SUMS
from services.persistence.repositories.logs.months_of_logs import MonthSeals
from services.persistence.tables import customer_keys
from tradewind.errors import Conflict

QUOTED_BEFORE = timedelta(days=31)
"""Transfers that began within so long after a quote are joined with it."""

QUOTED_AFTER = timedelta(days=1)
"""A quote counts for a month until so long after it: the clock of the transfer's host may be behind the service's."""

LOGGED_BEFORE = timedelta(days=31)
"""A transfer counts for a month unless it was logged as one that began within so long before."""

ROWS_AT_ONCE = 1_000

_ONE_BY_ONE = tuple(name for name in UsageTransfer.__slots__ if name != "billing")
_SHEET = TypeAdapter(Sheet)
_SORT_IN_MEMORY = text("SET LOCAL work_mem = '32MB'")


class Usage:
    """Usage of one tenant."""

    def __init__(self, connection: Connection, seals: MonthSeals) -> None:
        self._connection = connection
        self._seals = seals

    def list_sums(self, month: Month, holder: Holder | None = None) -> Sequence[UsageLine]:
        """Return what began in the month, by key, currency and billing.

        Parameters
        ----------
        holder : whose transfers; ``None`` : all.
        """
        made = [
            UsageLine(
                key_id=row.key_id,
                key=row.key,
                billing=Billing(row.billing),
                currency=row.currency,
                transfers=row.transfers,
                bytes_moved=int(row.bytes_moved),
                amount=row.amount,
                met=row.met,
                missed=row.missed,
                from_log_alone=row.from_log_alone,
                credit=row.credit,
                customer_id=row.customer_id,
            )
            for row in self._connection.execute(SUMS, self._build_bounds(month, holder))
        ]
        # Read last: if the rows were dropped before they were added up, the month is sealed now.
        sealed = self._seals.find_usage(month)
        lines = made if sealed is None else sealed
        return lines if holder is None else [line for line in lines if holder.has(line)]

    def iterate_transfers(self, month: Month, holder: Holder | None = None) -> Generator[UsageTransfer, None, None]:
        """Yield the same transfers one by one, by key and in the order of their start, reading as the caller takes
        them.

        Parameters
        ----------
        holder : whose transfers; ``None`` : all.

        Raises
        ------
        Conflict : the rows of the month are dropped; raised before the first of them.
        """
        as_taken = {"yield_per": ROWS_AT_ONCE}
        bounds = self._build_bounds(month, holder) | {"all": holder is None}
        with self._connection.execute(EACH, bounds, execution_options=as_taken) as rows:
            # Read afterwards, as for the sums: rows that are being read are not dropped until the
            # transaction ends.
            if self._seals.find_usage(month) is not None:
                raise Conflict(f"the logs of {month} are in the exports alone; its sums are kept")
            yield from map(_to_transfer, rows)

    def load_sheet(self, month: Month, holder: Holder, *, limit: int, offset: int) -> Sheet:
        """Return sums of a customer's or key's transfers, and so many of them from a place on, as of one moment.

        Of a month whose rows are dropped there are sums alone.
        """
        bounds = self._build_bounds(month, holder) | {"limit": limit, "offset": offset}
        sheet = _SHEET.validate_json(self._connection.execute(SHEET, bounds).scalar_one())
        sealed = self._seals.find_usage(month)
        return sheet if sealed is None else Sheet(sums=[line for line in sealed if holder.has(line)])

    def list_spent(
        self, month: Month, *, customer_id: UUID | None = None, without: Collection[UUID] = ()
    ) -> Mapping[tuple[UUID, str], Spending]:
        """Return what customers have spent in a month, by customer and currency.

        Parameters
        ----------
        customer_id : of the one that matters; ``None`` : all.
        without : transfers that are not counted.
        """
        bounds = self._build_bounds(month, None if customer_id is None else Holder(customer_id=customer_id))
        bounds |= {"without": list(without), "reserved_for": RESERVED_FOR}
        return {
            (row.customer_id, row.currency): Spending(row.billed, row.reserved)
            for row in self._connection.execute(SPENT, bounds)
            if customer_id in (None, row.customer_id)
        }

    def _build_bounds(self, month: Month, holder: Holder | None) -> dict[str, Any]:
        """Return the parameters of a query: the month, and a holder with the keys that it ever had.

        The transaction sorts and joins in memory from now on, within bounds.
        """
        self._connection.execute(_SORT_IN_MEMORY)
        keys = None
        if holder is not None and holder.customer_id is not None:
            of_customer = select(customer_keys.c.key_id).where(customer_keys.c.customer_id == holder.customer_id)
            keys = list(self._connection.execute(of_customer.distinct()).scalars())
        elif holder is not None and holder.key_id is not None:
            keys = [holder.key_id]
        return {**build_times(month), **(holder or Holder())._asdict(), "keys": keys}


def _to_transfer(row: Row[Any]) -> UsageTransfer:
    return UsageTransfer(billing=Billing(row.billing), **{name: getattr(row, name) for name in _ONE_BY_ONE})


def build_times(month: Month) -> Mapping[str, Any]:
    """Return the parameters by which rows count for a month."""
    begins_at = month.begins_at
    return {
        "begins_at": begins_at,
        "ends_at": month.ends_at,
        "quoted_from": begins_at - QUOTED_BEFORE,
        "quoted_until": month.ends_at + QUOTED_AFTER,
        "logged_from": begins_at - LOGGED_BEFORE,
        "sealed_from": (begins_at - LOGGED_BEFORE).replace(day=1).date(),
        "month": begins_at.date(),
        "quote_form": QUOTE_FORM,
    }
