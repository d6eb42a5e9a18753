"""Logged transfers of a month with their quotes, summed up by key or one by one."""

from collections.abc import Generator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, TextClause, text

from services.application.billing.statements import DayTotal, UsageTotal
from services.application.billing.usage import Billing, Holder, Month, UsageLine, UsageTransfer
from services.persistence.repositories.logs.months_of_logs import MonthSeals
from tradewind.errors import Conflict

QUOTED_BEFORE = timedelta(days=31)
"""Transfers that began within so long after a quote are joined with it."""

LOGGED_BEFORE = timedelta(days=31)
"""A transfer counts for a month unless it was logged as one that began within so long before."""

ROWS_AT_ONCE = 1_000

_QUOTE_FORM = "^[0-9]{1,25}[.][0-9]{6} [A-Z]{3} (total|dynamic) [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""As `tradewind.sla.pricing.Price` formats one."""

# A transfer appears once for each key that logged it, however often: in the month of its earliest record, as the first
# record with a quote states it there, else as the first. The quote in the journal counts, if the key that it was made
# to has uploaded the log, or a key that may upload it for that one; without one, the log must carry the quote of a
# published book. So no key is billed by the statement of another. ``joined`` names the key: the one that the quote was
# made to, else the one that uploaded the log. ``whose`` adds the customer that the key belonged to when the quote was
# made, or, without one, when the transfer began.
_LOGGED = """
    WITH offered AS MATERIALIZED (
        SELECT DISTINCT ON (q.transfer_id) q.transfer_id, q.key_id, q.tier_id, q.book_id, q.amount, q.currency,
               q.energy_basis, q.sla, q.at, q.credit
          FROM quotes q
         WHERE q.at >= :quoted_from AND q.at < :ends_at AND q.amount IS NOT NULL
         ORDER BY q.transfer_id, q.at
    ), brings AS MATERIALIZED (
        SELECT owner.id AS owner, bringer.id AS bringer
          FROM api_keys owner
          JOIN api_keys bringer
            ON bringer.id = owner.id OR NOT bringer.scopes <@ ARRAY['agent']
            OR (owner.revoked_at IS NOT NULL AND owner.name = bringer.name)
    ), held AS MATERIALIZED (
        SELECT key_id, customer_id, from_at,
               lead(from_at, 1, 'infinity') OVER (PARTITION BY key_id ORDER BY from_at) AS until_at
          FROM customer_keys
    ), logged AS NOT MATERIALIZED (
        SELECT l.id, l.transfer_id, l.link_id, l.received_at, l.started_at, l.ended_at, l.status, l.sla, l.quote,
               l.bytes_moved,
               CASE WHEN b.key_id IS NULL OR brings.owner IS NOT NULL THEN o.key_id ELSE b.key_id END AS key_id
          FROM transfer_logs l
          JOIN batches b ON b.id = l.batch_id
          LEFT JOIN offered o ON o.transfer_id = l.transfer_id
          LEFT JOIN brings ON brings.owner = o.key_id AND brings.bringer = b.key_id
         WHERE l.started_at >= :logged_from AND l.started_at < :ends_at AND (l.chunk IS NULL OR l.chunk = 'whole')
    ), earlier AS (
        SELECT transfer_id, key_id FROM logged WHERE started_at < :begins_at AND transfer_id IS NOT NULL
    ), once AS (
        SELECT DISTINCT ON (coalesce(l.transfer_id, l.id), l.key_id) l.transfer_id, l.link_id, l.key_id, l.started_at,
               l.ended_at, l.status, l.sla, l.bytes_moved,
               CASE WHEN l.quote ~ :quote_form THEN string_to_array(l.quote, ' ') END AS stated, l.quote
          FROM logged l
         WHERE l.started_at >= :begins_at
           AND NOT EXISTS (
               SELECT FROM earlier
                WHERE earlier.transfer_id = l.transfer_id AND earlier.key_id IS NOT DISTINCT FROM l.key_id
           )
           AND NOT EXISTS (
               SELECT FROM sealed_transfers sealed
                WHERE sealed.month >= :sealed_from AND sealed.month < :month AND sealed.transfer_id = l.transfer_id
           )
         ORDER BY coalesce(l.transfer_id, l.id), l.key_id, l.quote IS NULL, l.received_at, l.id
    ), joined AS (
        SELECT once.transfer_id, once.started_at, once.ended_at, once.status, once.bytes_moved, once.link_id,
               once.key_id, o.tier_id, coalesce(o.sla, once.sla) AS sla,
               o.transfer_id IS NULL AS from_log_alone, once.quote IS NOT NULL AS carries,
               coalesce(o.amount, published.amount) AS amount, coalesce(o.currency, published.currency) AS currency,
               coalesce(o.energy_basis, published.energy_basis) AS energy_basis,
               coalesce(o.book_id, published.id) AS book_id, o.credit AS negotiated_credit,
               coalesce(o.at, once.started_at) AS held_at,
               CASE WHEN (t.expected ->> 'feasible') IS DISTINCT FROM 'false' THEN t.agreement_kept END AS kept,
               CAST(t.enquiry -> 'sla' ->> 'target' AS double precision) AS target,
               CAST(t.expected ->> 'probability' AS double precision) AS probability
          FROM once
          LEFT JOIN offered o ON o.transfer_id = once.transfer_id AND o.key_id = once.key_id
          LEFT JOIN transfers t ON t.id = once.transfer_id
          LEFT JOIN LATERAL (
              SELECT p.id, p.currency, p.energy_basis, CAST(once.stated[1] AS numeric) AS amount
                FROM price_books p
               WHERE o.transfer_id IS NULL AND p.id = CAST(once.stated[4] AS uuid) AND p.published_at IS NOT NULL
                 AND p.currency = once.stated[2] AND p.energy_basis = once.stated[3]
          ) published ON true
    ), whose AS (
        SELECT joined.*, k.name AS key, held.customer_id,
               CASE WHEN NOT kept AND status = 'succeeded'
                    THEN amount * coalesce(negotiated_credit, price.credit, 0) END AS credit,
               CASE WHEN amount IS NULL THEN CASE WHEN carries THEN 'unknown_quote' ELSE 'not_quoted' END
                    WHEN status <> 'succeeded' THEN 'not_successful' ELSE 'billed' END AS billing
          FROM joined
          LEFT JOIN api_keys k ON k.id = joined.key_id
          LEFT JOIN held ON held.key_id = joined.key_id AND held.from_at <= held_at AND held_at < held.until_at
          LEFT JOIN prices price ON price.book_id = joined.book_id AND price.tier_id = joined.tier_id
    )
"""

_SUMS = text(
    _LOGGED  # noqa: S608 - of constants
    + """
    SELECT key_id, key, customer_id, billing, currency,
           count(*) AS transfers, sum(bytes_moved) AS bytes_moved, sum(amount) AS amount,
           coalesce(sum(credit), 0) AS credit,
           count(*) FILTER (WHERE kept) AS met, count(*) FILTER (WHERE NOT kept) AS missed,
           count(*) FILTER (WHERE from_log_alone AND amount IS NOT NULL) AS from_log_alone
      FROM whose GROUP BY key_id, key, customer_id, billing, currency
    """
)

_OF_HOLDER = """
    customer_id IS NOT DISTINCT FROM CAST(:customer_id AS uuid)
    AND (customer_id IS NOT NULL OR key_id IS NOT DISTINCT FROM CAST(:key_id AS uuid))
"""
_WITH_LINKS = """
    SELECT whose.*, source.name AS source, destination.name AS destination, links.mover, customers.name AS customer
      FROM whose
      JOIN links ON links.id = whose.link_id
      JOIN endpoints source ON source.id = links.source_id
      JOIN endpoints destination ON destination.id = links.destination_id
      LEFT JOIN customers ON customers.id = whose.customer_id
"""

_EACH = text(
    f"""{_LOGGED} {_WITH_LINKS}
     WHERE CAST(:all AS boolean) OR ({_OF_HOLDER})
     ORDER BY key, key_id, started_at, transfer_id
    """
)

_BILLED = text(
    f"""{_LOGGED} {_WITH_LINKS}
     WHERE {_OF_HOLDER} AND billing = 'billed'
     ORDER BY started_at, transfer_id LIMIT :limit OFFSET :offset
    """
)

_TOTALS = text(
    f"""{_LOGGED}, linked AS ({_WITH_LINKS} WHERE {_OF_HOLDER} AND billing = 'billed')
    SELECT source, destination, tier_id, sla, currency, count(*) AS transfers, sum(bytes_moved) AS bytes_moved,
           sum(amount) AS amount, coalesce(sum(credit), 0) AS credit,
           count(*) FILTER (WHERE kept) AS met, count(*) FILTER (WHERE NOT kept) AS missed
      FROM linked GROUP BY source, destination, tier_id, sla, currency
     ORDER BY currency, source, destination, sla, min(target), tier_id
    """  # noqa: S608 - of constants
)

_DAYS = text(
    f"""{_LOGGED}
    SELECT CAST(started_at AT TIME ZONE 'UTC' AS date) AS day, currency, count(*) AS transfers,
           sum(bytes_moved) AS bytes_moved, sum(amount) AS amount, coalesce(sum(credit), 0) AS credit
      FROM whose WHERE {_OF_HOLDER} AND billing = 'billed'
     GROUP BY day, currency ORDER BY day, currency
    """  # noqa: S608 - of constants
)

_SPENT = text(
    f"""{_LOGGED}, running AS (
        SELECT DISTINCT ON (o.transfer_id) o.amount
          FROM transfers t
          JOIN offered o ON o.transfer_id = t.id
          JOIN held ON held.key_id = o.key_id AND held.from_at <= o.at AND o.at < held.until_at
         WHERE t.ended_at IS NULL AND t.silent_at > now() AND held.customer_id = CAST(:customer_id AS uuid)
           AND o.currency = :currency
           AND NOT EXISTS (SELECT FROM whose WHERE whose.transfer_id = t.id AND whose.billing = 'billed')
    )
    SELECT coalesce((SELECT sum(amount - coalesce(credit, 0)) FROM whose
                      WHERE {_OF_HOLDER} AND billing = 'billed' AND currency = :currency), 0)
           + coalesce((SELECT sum(amount) FROM running), 0) AS spent
    """  # noqa: S608 - of constants
)

_ONE_BY_ONE = tuple(name for name in UsageTransfer.__slots__ if name != "billing")


class Usage:
    """Usage of one tenant."""

    def __init__(self, connection: Connection, seals: MonthSeals) -> None:
        self._connection = connection
        self._seals = seals

    def list_sums(self, month: Month) -> Sequence[UsageLine]:
        """Return what began in the month, by key, currency and billing."""
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
            for row in self._connection.execute(_SUMS, _build_bounds(month))
        ]
        # Read last: if the rows were dropped before they were added up, the month is sealed now.
        sealed = self._seals.find_usage(month)
        return made if sealed is None else sealed

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
        bounds = {**_build_bounds(month), **(holder or Holder())._asdict(), "all": holder is None}
        with self._connection.execute(_EACH, bounds, execution_options=as_taken) as rows:
            # Read afterwards, as for the sums: rows that are being read are not dropped until the
            # transaction ends.
            if self._seals.find_usage(month) is not None:
                raise Conflict(f"the logs of {month} are in the exports alone; its sums are kept")
            yield from map(_to_transfer, rows)

    def list_billed(self, month: Month, holder: Holder, *, limit: int, offset: int) -> Sequence[UsageTransfer]:
        """Return billed transfers of a customer or key by their start; none where the rows of the month are dropped."""
        return [_to_transfer(row) for row in self._list_rows(_BILLED, month, holder, limit=limit, offset=offset)]

    def list_totals(self, month: Month, holder: Holder) -> Sequence[UsageTotal]:
        """Return sums of the same by link and tier; none where the rows of the month are dropped."""
        return [
            UsageTotal(**row._asdict() | {"bytes_moved": int(row.bytes_moved)})
            for row in self._list_rows(_TOTALS, month, holder)
        ]

    def list_days(self, month: Month, holder: Holder) -> Sequence[DayTotal]:
        """Return sums of the same by day; none where the rows of the month are dropped."""
        return [
            DayTotal(**row._asdict() | {"bytes_moved": int(row.bytes_moved)})
            for row in self._list_rows(_DAYS, month, holder)
        ]

    def sum_spent(self, month: Month, customer_id: UUID, currency: str) -> Decimal:
        """Return what a customer's transfers of a month cost so far, less credits, with those that run now."""
        holder = Holder(customer_id=customer_id)._asdict()
        spent = self._connection.execute(_SPENT, {**_build_bounds(month), **holder, "currency": currency}).scalar_one()
        return Decimal(spent)

    def _list_rows(self, query: TextClause, month: Month, holder: Holder, **bounds: int) -> Sequence[Row[Any]]:
        found = self._connection.execute(query, {**_build_bounds(month), **holder._asdict(), **bounds}).all()
        return [] if self._seals.find_usage(month) is not None else found


def _to_transfer(row: Row[Any]) -> UsageTransfer:
    return UsageTransfer(billing=Billing(row.billing), **{name: getattr(row, name) for name in _ONE_BY_ONE})


def _build_bounds(month: Month) -> Mapping[str, Any]:
    begins_at = month.begins_at
    return {
        "begins_at": begins_at,
        "ends_at": month.ends_at,
        "quoted_from": begins_at - QUOTED_BEFORE,
        "logged_from": begins_at - LOGGED_BEFORE,
        "sealed_from": (begins_at - LOGGED_BEFORE).replace(day=1).date(),
        "month": begins_at.date(),
        "quote_form": _QUOTE_FORM,
    }
