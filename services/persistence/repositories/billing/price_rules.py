"""Price rules of a tenant's books, the tiers that they can price, and the prices that came from them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, case, delete, insert, or_, select, update

from services.persistence.repositories.links import read_labels
from services.persistence.tables import clusters, price_rules, prices, release_links, sla_partitions
from tradewind.sla.kinds import SlaKind
from tradewind.sla.price_rules import PriceRule, TierToPrice
from tradewind.sla.pricing import PRICE_PARTS, PriceModel

_PROMISE_A_RATE = (SlaKind.THROUGHPUT_AT_LEAST, SlaKind.MAX_THROUGHPUT)
"""Kinds whose bounds are in bit/s."""


class PriceRules:
    """Rules of one tenant's books."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def list_of_book(self, book_id: UUID) -> Sequence[PriceRule]:
        """Return the rules of a book in the order in which they are tried."""
        query = select(price_rules).where(price_rules.c.book_id == book_id).order_by(price_rules.c.ordinal)
        return [build_rule(row) for row in self._connection.execute(query)]

    def replace(self, book_id: UUID, rules: Sequence[PriceRule]) -> None:
        """Store the rules of a book in place of its rules before."""
        self._connection.execute(delete(price_rules).where(price_rules.c.book_id == book_id))
        if rules:
            self._connection.execute(
                insert(price_rules),
                [
                    {"tenant_id": self._tenant_id, "book_id": book_id, "ordinal": place} | to_rule_columns(rule)
                    for place, rule in enumerate(rules)
                ],
            )

    def list_priced(self, book_id: UUID) -> frozenset[UUID]:
        """Return the tiers whose price in a book came from a rule."""
        query = select(prices.c.tier_id).where(prices.c.book_id == book_id, prices.c.by_rule)
        return frozenset(self._connection.execute(query).scalars())

    def mark(self, book_id: UUID, tier_ids: Sequence[UUID]) -> None:
        """Note that the prices of these tiers, and of no others of the book, came from a rule."""
        is_marked = prices.c.tier_id.in_(tier_ids)
        self._connection.execute(
            update(prices)
            .where(prices.c.book_id == book_id, or_(prices.c.by_rule, is_marked))
            .values(by_rule=case((is_marked, True), else_=False))
        )

    def list_tiers(self, release_id: int) -> Mapping[UUID, TierToPrice]:
        """Return what rules look at, of every tier of a release."""
        labels = read_labels(self._connection)
        tier, expected = sla_partitions.c, sla_partitions.c.predicted["log_throughput_mean"].as_float()
        query = (
            select(tier.tier_id, tier.kind, tier.lower, release_links.c.link_id, expected.label("log_expected_bps"))
            .join(clusters, clusters.c.id == sla_partitions.c.cluster_id)
            .join(release_links, release_links.c.link_model_id == clusters.c.link_model_id)
            .where(release_links.c.release_id == release_id)
        )
        return {
            row.tier_id: TierToPrice(
                SlaKind(row.kind),
                row.lower if row.kind in _PROMISE_A_RATE else math.exp(row.log_expected_bps),
                labels.get(row.link_id, ()),
            )
            for row in self._connection.execute(query)
        }


def to_rule_columns(rule: PriceRule) -> dict[str, Any]:
    """Return the conditions and the price of a rule as columns."""
    conditions = {name: getattr(rule, name) for name in ("kind", "label", "from_bps", "to_bps")}
    return conditions | {part: getattr(rule.price, part) for part in PRICE_PARTS}


def build_rule(row: Row[Any]) -> PriceRule:
    """Return the rule of a row that has the columns of `to_rule_columns`."""
    return PriceRule(
        price=PriceModel(**{part: getattr(row, part) for part in PRICE_PARTS}),
        kind=None if row.kind is None else SlaKind(row.kind),
        label=row.label,
        from_bps=row.from_bps,
        to_bps=row.to_bps,
    )
