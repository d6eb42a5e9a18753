"""Prices that were negotiated with the customers of a tenant, and their rules."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from services.application.billing.negotiate import NegotiatedPrices, Negotiation
from services.persistence.repositories.billing.price_rules import build_rule, to_rule_columns
from services.persistence.tables import negotiated_price_rules, negotiated_prices
from tradewind.sla.price_rules import PriceRule

_PRICES, _RULES = negotiated_prices.c, negotiated_price_rules.c
_NEXT = (
    func.lead(_PRICES.starts_at).over(partition_by=_PRICES.customer_id, order_by=_PRICES.starts_at).label("next_start")
)


class NegotiatedPricesOfTenant:
    """Negotiated prices of one tenant's customers."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def list_all(self) -> Sequence[NegotiatedPrices]:
        """Return those of all customers, the earliest first."""
        rows = self._connection.execute(select(negotiated_prices, _NEXT).order_by(_PRICES.starts_at)).all()
        return self._build(rows)

    def list_of(self, customer_id: UUID) -> Sequence[NegotiatedPrices]:
        """Return those of one customer, the earliest first."""
        query = select(negotiated_prices, _NEXT).where(_PRICES.customer_id == customer_id).order_by(_PRICES.starts_at)
        return self._build(self._connection.execute(query).all())

    def add(
        self,
        customer_id: UUID,
        negotiation: Negotiation,
        *,
        starts_at: datetime,
        ends_at: datetime | None,
        at: datetime,
    ) -> UUID:
        prices_id: UUID = self._connection.execute(
            insert(negotiated_prices)
            .values(
                tenant_id=self._tenant_id,
                customer_id=customer_id,
                adjustment=negotiation.adjustment,
                currency=negotiation.currency if negotiation.rules else None,
                starts_at=starts_at,
                ends_at=ends_at,
                created_at=at,
            )
            .returning(_PRICES.id)
        ).scalar_one()
        if negotiation.rules:
            owned = {"tenant_id": self._tenant_id, "negotiated_id": prices_id}
            rows = [owned | {"ordinal": place} | to_rule_columns(rule) for place, rule in enumerate(negotiation.rules)]
            self._connection.execute(insert(negotiated_price_rules), rows)
        return prices_id

    def end(self, prices_id: UUID, at: datetime) -> None:
        self._connection.execute(update(negotiated_prices).where(_PRICES.id == prices_id).values(ends_at=at))

    def end_all(self, customer_id: UUID, at: datetime) -> None:
        """End a customer's prices at a time, and remove those that begin later."""
        of_customer = _PRICES.customer_id == customer_id
        self._connection.execute(delete(negotiated_prices).where(of_customer, _PRICES.starts_at >= at))
        is_open = _PRICES.ends_at.is_(None) | (_PRICES.ends_at > at)
        self._connection.execute(update(negotiated_prices).where(of_customer, is_open).values(ends_at=at))

    def delete(self, prices_id: UUID) -> None:
        self._connection.execute(delete(negotiated_prices).where(_PRICES.id == prices_id))

    def _build(self, rows: Sequence[Row[Any]]) -> Sequence[NegotiatedPrices]:
        rules = self._read_rules([row.id for row in rows]) if rows else {}
        return [_build_prices(row, rules.get(row.id, ())) for row in rows]

    def _read_rules(self, prices_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[PriceRule]]:
        query = select(negotiated_price_rules).where(_RULES.negotiated_id.in_(prices_ids)).order_by(_RULES.ordinal)
        found: dict[UUID, list[PriceRule]] = defaultdict(list)
        for row in self._connection.execute(query):
            found[row.negotiated_id].append(build_rule(row))
        return found


def _build_prices(row: Row[Any], rules: Sequence[PriceRule]) -> NegotiatedPrices:
    return NegotiatedPrices(
        id=row.id,
        customer_id=row.customer_id,
        negotiation=Negotiation(adjustment=row.adjustment, rules=tuple(rules), currency=row.currency),
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        effective_until=min((end for end in (row.ends_at, row.next_start) if end is not None), default=None),
    )
