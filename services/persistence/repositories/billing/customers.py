"""Customers of a tenant, and which of them a key belonged to at which time."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.dialects.postgresql import insert as insert_or_replace

from services.application.billing.customers import Customer, CustomerDetails
from services.application.billing.price_list import SpendingLimit
from services.persistence.tables import customer_keys, customers
from tradewind.errors import NotFound
from tradewind.wire.base import EARLIEST_INSTANT

_DETAILS = CustomerDetails.__slots__
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('customers of ' || :tenant, 0))")
NEWEST_HOLDERS = (
    select(customer_keys.c.key_id, customer_keys.c.customer_id)
    .ext(distinct_on(customer_keys.c.key_id))
    .order_by(customer_keys.c.key_id, customer_keys.c.from_at.desc())
    .subquery()
)
"""The customer of each key that ever had one; NULL where it belongs to none any more."""


class Customers:
    """Customers of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def lock(self) -> None:
        """Let no other transaction change customers of the tenant until this one ends."""
        self._connection.execute(_LOCK, {"tenant": str(self._tenant_id)})

    def list_all(self) -> Sequence[Customer]:
        """Return every customer by name, also archived ones."""
        rows = self._connection.execute(select(customers).order_by(func.lower(customers.c.name), customers.c.id)).all()
        held: dict[UUID, list[UUID]] = {}
        for key_id, customer_id in self.list_holders().items():
            held.setdefault(customer_id, []).append(key_id)
        return [_build_customer(row, held.get(row.id, ())) for row in rows]

    def get(self, customer_id: UUID) -> Customer:
        """Return one customer.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        row = self._connection.execute(select(customers).where(customers.c.id == customer_id)).one_or_none()
        if row is None:
            raise NotFound("no such customer")
        return _build_customer(row, [key for key, holder in self.list_holders().items() if holder == customer_id])

    def list_limits(self) -> Sequence[SpendingLimit]:
        """Return the spending limits of customers that are not archived."""
        query = select(customers).where(customers.c.spending_limit.is_not(None), customers.c.archived_at.is_(None))
        return [
            SpendingLimit(row.id, row.name, row.spending_limit, row.spending_currency)
            for row in self._connection.execute(query)
        ]

    def list_holders(self) -> Mapping[UUID, UUID]:
        """Return the customer of each key that belongs to one now."""
        newest = NEWEST_HOLDERS.c
        query = select(newest.key_id, newest.customer_id).where(newest.customer_id.is_not(None)).order_by(newest.key_id)
        return {row.key_id: row.customer_id for row in self._connection.execute(query)}

    def add(self, details: CustomerDetails, at: datetime) -> UUID:
        number = self._connection.execute(select(func.coalesce(func.max(customers.c.number), 0) + 1)).scalar_one()
        customer_id: UUID = self._connection.execute(
            insert(customers)
            .values(tenant_id=self._tenant_id, number=number, created_at=at, **_to_columns(details))
            .returning(customers.c.id)
        ).scalar_one()
        return customer_id

    def change(self, customer_id: UUID, details: CustomerDetails) -> None:
        self._update(customer_id, **_to_columns(details))

    def set_archived(self, customer_id: UUID, at: datetime | None) -> None:
        self._update(customer_id, archived_at=at)

    def raise_version(self, customer_id: UUID) -> None:
        self._update(customer_id)

    def assign(self, key_ids: Collection[UUID], customer_id: UUID | None, at: datetime) -> None:
        """Let keys belong to a customer, or to none, from a time on; a key's first customer has it from the beginning.

        Parameters
        ----------
        key_ids : of the tenant, which the caller has checked.
        """
        if not key_ids:
            return
        known = select(customer_keys.c.key_id).distinct().where(customer_keys.c.key_id.in_(list(key_ids)))
        has_history = set(self._connection.execute(known).scalars())
        row = {"tenant_id": self._tenant_id, "customer_id": customer_id}
        values = [
            row | {"key_id": key_id, "from_at": at if key_id in has_history else EARLIEST_INSTANT} for key_id in key_ids
        ]
        given = insert_or_replace(customer_keys)
        self._connection.execute(
            given.on_conflict_do_update(
                index_elements=["key_id", "from_at"], set_={"customer_id": given.excluded.customer_id}
            ),
            values,
        )

    def _update(self, customer_id: UUID, **values: object) -> None:
        changed = {"version": customers.c.version + 1, **values}
        self._connection.execute(update(customers).where(customers.c.id == customer_id).values(**changed))


def _to_columns(details: CustomerDetails) -> Mapping[str, Any]:
    return {name: getattr(details, name) for name in _DETAILS}


def _build_customer(row: Row[Any], key_ids: Sequence[UUID]) -> Customer:
    return Customer(
        id=row.id,
        number=row.number,
        details=CustomerDetails(**{name: getattr(row, name) for name in _DETAILS}),
        version=row.version,
        created_at=row.created_at,
        archived_at=row.archived_at,
        key_ids=tuple(key_ids),
    )
