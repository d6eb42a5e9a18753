"""Price books of a tenant, and the prices in them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, delete, func, insert, literal, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert as insert_or_replace

from services.application.billing.price_books import ListedBook, PriceBook
from services.application.billing.price_list import PriceList, PublishedBook
from services.persistence.tables import clusters, price_books, prices, release_links, sla_partitions
from tradewind.errors import NotFound
from tradewind.sla.kinds import EnergyBasis
from tradewind.sla.pricing import PRICE_PARTS, PriceModel

_UNTIL = (
    func.lead(price_books.c.effective_from)
    # drafts, without a date, come last
    .over(partition_by=price_books.c.tenant_id, order_by=price_books.c.effective_from)
    .label("effective_until")
)
_HEAD = (*(column for column in price_books.columns if column is not price_books.c.published_changes), _UNTIL)
"""Of a book; the differences that it was published with are large, and read on their own."""


class PriceBooks:
    """Books of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def list_all(self) -> Sequence[PriceBook]:
        """Return every book, the newest first."""
        rows = self._connection.execute(select(*_HEAD)).all()
        held = self._read_prices([row.id for row in rows])
        return [_build_book(row, held[row.id]) for row in sorted(rows, key=lambda row: row.id, reverse=True)]

    def list_without_prices(self) -> Sequence[ListedBook]:
        """Return every book, the newest first, with the number of its prices."""
        priced = select(func.count()).where(prices.c.book_id == price_books.c.id).scalar_subquery().label("priced")
        rows = self._connection.execute(select(*(*_HEAD, priced)).order_by(price_books.c.id.desc()))
        return [ListedBook(**_read_head(row), priced=row.priced) for row in rows]

    def get(self, book_id: UUID) -> PriceBook:
        """Return one book.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        numbered = select(*_HEAD).subquery()
        row = self._connection.execute(select(numbered).where(numbered.c.id == book_id)).one_or_none()
        if row is None:
            raise NotFound("no such price book")
        return _build_book(row, self._read_prices([book_id])[book_id])

    def lock_names(self) -> None:
        lock = func.pg_advisory_xact_lock(func.hashtext(f"price book names {self._tenant_id}"))
        self._connection.execute(select(lock))

    def claim(self, book_id: UUID) -> PriceBook:
        """Return one book, locked until the transaction ends; a rival's change is waited for."""
        self._connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(str(book_id), 0))))
        return self.get(book_id)

    def load_price_list(self) -> PriceList:
        """Return the current book by the database's clock, and those to come."""
        rows = self._connection.execute(
            select(*_HEAD, func.now().label("read_at")).where(price_books.c.published_at.is_not(None))
        ).all()
        standing = sorted(
            (row for row in rows if row.effective_until is None or row.effective_until > row.read_at),
            key=lambda row: row.effective_from,
        )
        if not standing:
            return PriceList()
        held = self._read_prices([row.id for row in standing])
        books = tuple(
            PublishedBook(
                id=row.id,
                currency=row.currency,
                energy_basis=EnergyBasis(row.energy_basis),
                effective_from=row.effective_from,
                prices=held[row.id],
            )
            for row in standing
        )
        return PriceList(books, standing[0].read_at)

    def add(self, name: str, currency: str, energy_basis: EnergyBasis, at: datetime) -> UUID:
        book_id: UUID = self._connection.execute(
            insert(price_books)
            .values(
                tenant_id=self._tenant_id,
                name=name,
                currency=currency,
                energy_basis=energy_basis.value,
                created_at=at,
            )
            .returning(price_books.c.id)
        ).scalar_one()
        return book_id

    def knows_tiers(self, tier_ids: Sequence[UUID]) -> bool:
        """Return whether all of these are tiers of the tenant's models."""
        found = self._connection.execute(
            select(func.count(sla_partitions.c.tier_id.distinct())).where(sla_partitions.c.tier_id.in_(tier_ids))
        ).scalar_one()
        return found == len(set(tier_ids))

    def put(self, book_id: UUID, changed: Mapping[UUID, PriceModel | None]) -> None:
        """Set these prices, or remove those that are ``None``; the book's version rises."""
        removed = [tier_id for tier_id, price in changed.items() if price is None]
        values = [
            {"tenant_id": self._tenant_id, "book_id": book_id, "tier_id": tier_id}
            | {part: getattr(price, part) for part in PRICE_PARTS}
            for tier_id, price in changed.items()
            if price is not None
        ]
        if removed:
            gone = [(book_id, tier_id) for tier_id in removed]
            self._connection.execute(delete(prices).where(tuple_(prices.c.book_id, prices.c.tier_id).in_(gone)))
        if values:
            given = insert_or_replace(prices)
            parts = {part: given.excluded[part] for part in PRICE_PARTS} | {"by_rule": False}
            self._connection.execute(
                given.on_conflict_do_update(index_elements=["book_id", "tier_id"], set_=parts), values
            )
        self._connection.execute(
            update(price_books).where(price_books.c.id == book_id).values(version=price_books.c.version + 1)
        )

    def count_not_offered(self, book_id: UUID, release_id: int) -> int:
        """Return how many tiers have a price in a book, but are in no model of a release."""
        offered = (
            select(sla_partitions.c.tier_id)
            .join(clusters, clusters.c.id == sla_partitions.c.cluster_id)
            .join(release_links, release_links.c.link_model_id == clusters.c.link_model_id)
            .where(release_links.c.release_id == release_id, sla_partitions.c.tier_id == prices.c.tier_id)
        )
        count = select(func.count()).where(prices.c.book_id == book_id, ~offered.exists())
        return int(self._connection.execute(count).scalar_one())

    def inherit(self, origins: Mapping[UUID, UUID]) -> None:
        """Give each tier the price of the one that it was split from, in every book that prices that one."""
        for tier_id, origin in origins.items():
            columns = ("tenant_id", "book_id", *PRICE_PARTS, "by_rule")
            priced = select(*(prices.c[name] for name in columns), literal(tier_id), literal(origin))
            self._connection.execute(
                insert_or_replace(prices)
                .from_select([*columns, "tier_id", "inherited_from"], priced.where(prices.c.tier_id == origin))
                .on_conflict_do_nothing()
            )

    def set_energy_cost(self, book_id: UUID, per_kwh: Decimal | None) -> None:
        """Store what a kilowatt-hour costs the provider; the book's version rises."""
        self._connection.execute(
            update(price_books)
            .where(price_books.c.id == book_id)
            .values(version=price_books.c.version + 1, energy_cost_per_kwh=per_kwh)
        )

    def publish(
        self, book_id: UUID, *, effective_from: datetime, at: datetime, changes: Sequence[Mapping[str, Any]]
    ) -> None:
        changed = {"published_at": at, "effective_from": effective_from, "published_changes": list(changes)}
        self._connection.execute(
            update(price_books).where(price_books.c.id == book_id).values(version=price_books.c.version + 1, **changed)
        )

    def find_published_changes(self, book_id: UUID) -> Sequence[Mapping[str, Any]] | None:
        """Return the differences that a book was published with; ``None`` where none were stored."""
        return self._connection.execute(
            select(price_books.c.published_changes).where(price_books.c.id == book_id)
        ).scalar_one_or_none()

    def withdraw(self, book_id: UUID) -> None:
        """Turn the book into a draft; the database refuses it once the book is current."""
        self._connection.execute(
            update(price_books)
            .where(price_books.c.id == book_id)
            .values(version=price_books.c.version + 1, published_at=None, effective_from=None, published_changes=None)
        )

    def delete(self, book_id: UUID) -> None:
        """Remove a draft with its prices."""
        self._connection.execute(delete(price_books).where(price_books.c.id == book_id))

    def starts_at(self, at: datetime) -> bool:
        """Return whether a published book begins at exactly this time."""
        found = self._connection.execute(select(price_books.c.id).where(price_books.c.effective_from == at))
        return found.first() is not None

    def find_prices(self, book_id: UUID, tier_ids: Sequence[UUID]) -> Mapping[UUID, PriceModel]:
        """Return the prices of these tiers in a book, of those that have one."""
        chosen = select(prices).where(prices.c.book_id == book_id, prices.c.tier_id.in_(tier_ids))
        return {row.tier_id: _build_price(row) for row in self._connection.execute(chosen)}

    def _read_prices(self, book_ids: Sequence[UUID]) -> Mapping[UUID, Mapping[UUID, PriceModel]]:
        """Return the prices of books by tier; tiers at one price share it, so that it is checked once."""
        found: dict[UUID, dict[UUID, PriceModel]] = defaultdict(dict)
        build = cache(lambda *parts: PriceModel(**dict(zip(PRICE_PARTS, parts, strict=True))))
        columns = (prices.c.book_id, prices.c.tier_id, *(prices.c[part] for part in PRICE_PARTS))
        chosen = select(*columns).where(prices.c.book_id.in_(book_ids))
        for book_id, tier_id, *parts in self._connection.execute(chosen):
            found[book_id][tier_id] = build(*parts)
        return found


def _build_price(row: Row[Any]) -> PriceModel:
    return PriceModel(**{part: getattr(row, part) for part in PRICE_PARTS})


def _build_book(row: Row[Any], held: Mapping[UUID, PriceModel]) -> PriceBook:
    return PriceBook(**_read_head(row), prices=held)


def _read_head(row: Row[Any]) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "currency": row.currency,
        "energy_basis": EnergyBasis(row.energy_basis),
        "energy_cost_per_kwh": row.energy_cost_per_kwh,
        "version": row.version,
        "created_at": row.created_at,
        "published_at": row.published_at,
        "effective_from": row.effective_from,
        "effective_until": row.effective_until if row.effective_from is not None else None,
    }
