"""Make prices and quotes of the sample, as if its book had been current and each transfer had asked for its price.

The API neither starts a book in the past nor stores an old request, so this bypasses it and writes to the sample's own
database, through the same use cases. Keys, book and notice say that it is sample data.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import cycle
from typing import Any
from uuid import UUID

from benchmarks.sample.service_parts import OpenParts
from services.api.routes.recommend import to_transfer_request
from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import create_key
from services.application.billing.draft_prices import set_prices
from services.application.billing.price_books import draft_book
from services.application.billing.publish import publish_book
from services.application.billing.quote_consumer import StoredQuote
from services.application.recommend.lookup import answer_request
from services.bootstrap import Container
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, SlaKind
from tradewind.sla.pricing import PriceModel
from tradewind.wire.inventory import NewKey
from tradewind.wire.recommendations import RecommendRequest

BOOK = "Sample prices"
CURRENCY = "EUR"
MOST_TIERS = 5_000


def _build_model(base: str, per_gb: str, per_kwh: str, margin: str) -> PriceModel:
    return PriceModel(base=Decimal(base), per_gb=Decimal(per_gb), per_kwh=Decimal(per_kwh), margin=Decimal(margin))


PRICES = {
    SlaKind.MAX_THROUGHPUT: _build_model("0.01", "0.030", "0.25", "0.30"),
    SlaKind.MIN_ENERGY: _build_model("0", "0.012", "0.25", "0.15"),
}
OTHER_PRICE = _build_model("0.01", "0.020", "0.25", "0.20")

SLAS: Sequence[dict[str, Any]] = (
    {"kind": "max_throughput"},
    {"kind": "min_energy"},
    {"kind": "throughput_at_least", "fraction": 0.6},
    {"kind": "max_throughput"},
    {"kind": "energy_efficiency"},
    {"kind": "throughput_at_least", "fraction": 0.9},
)
"""The SLAs of the transfers, in turn."""


def price_and_quote(behind: OpenParts, logged: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Publish a book that starts with the first of the logged transfers, and quote them; return the tiers priced and
    quotes made.
    """
    with behind() as (parts, tenant_id):
        starts_at = min(datetime.fromisoformat(row["started_at"]) for row in logged)
        priced = _publish_book(parts, tenant_id, FixedClock(starts_at))
        with closing(asyncio.new_event_loop()) as loop:
            quotes = loop.run_until_complete(_make_quotes(parts, tenant_id, logged))
        with parts.store.unit_of_work(tenant_id) as uow:
            uow.quotes.add(quotes)
            uow.commit()
    return priced, len(quotes)


@dataclass(frozen=True)
class FixedClock:
    """A clock that stands still: no book starts in the past, but the sample's was published then."""

    at: datetime

    def now(self) -> datetime:
        return self.at


def _publish_book(parts: Container, tenant_id: UUID, clock: FixedClock) -> int:
    with parts.store.unit_of_work(tenant_id) as uow:
        release = uow.releases.find_current()
        assert release is not None, "it was waited for"
        tiers = uow.sla_tiers.list_page(release, limit=MOST_TIERS)
        book = draft_book(BOOK, currency=CURRENCY, energy_basis=EnergyBasis.TOTAL, copy_of=None, uow=uow, clock=clock)
    prices = {
        each.tier.id: PRICES.get(each.partition.kind, OTHER_PRICE)
        for each in tiers
        if (each.partition.confidence, each.partition.energy_basis) == (DEFAULT_CONFIDENCE, EnergyBasis.TOTAL)
    }
    with parts.store.unit_of_work(tenant_id) as uow:
        set_prices(book.id, prices, version=None, uow=uow)
    with parts.store.unit_of_work(tenant_id) as uow:
        publish_book(book.id, effective_from=None, version=None, uow=uow, clock=clock)
    return len(prices)


async def _make_quotes(parts: Container, tenant_id: UUID, logged: Iterable[dict[str, Any]]) -> Sequence[StoredQuote]:
    """Return a quote for each transfer at the time of its start, by the key of its receiver, where it has a price."""
    keys: dict[str, UUID] = {}
    found = []
    for row, sla in zip(logged, cycle(SLAS), strict=False):
        transfer_id = UUID(row["transfer_id"])
        request = to_transfer_request(_make_request(row, sla))
        recommendation = await answer_request(
            request,
            tenant_id,
            snapshots=parts.snapshots,
            lookups=parts.lookups,
            unknown_path_lock=parts.unknown_path_lock,
            new_transfer_id=lambda each=transfer_id: each,  # type: ignore[misc]
        )
        site = row["destination"]
        keys[site] = keys.get(site) or _make_key(parts, tenant_id, f"mover at {site}")
        quote = StoredQuote.of(recommendation, request, key_id=keys[site], at=datetime.fromisoformat(row["started_at"]))
        if quote is not None and quote.amount is not None:
            found.append(quote)
    return found


def _make_request(row: dict[str, Any], sla: dict[str, Any]) -> RecommendRequest:
    """Return the request that would have come before the transfer of a row."""
    path = {name: row["path"][name] for name in ("bandwidth_bps", "rtt_s") if name in row.get("path", {})}
    dataset = {name: row["dataset"][name] for name in ("file_count", "total_bytes")}
    return RecommendRequest.model_validate(
        {
            "source": row["source"],
            "destination": row["destination"],
            "mover": row["mover"]["name"],
            "dataset": dataset,
            "sla": sla,
            "path": path,
        }
    )


def _make_key(parts: Container, tenant_id: UUID, name: str) -> UUID:
    with parts.store.unit_of_work(tenant_id) as uow:
        return create_key(NewKey(name=name, scopes=(Scope.AGENT,)), make_secret(), uow=uow, clock=parts.clock).id
