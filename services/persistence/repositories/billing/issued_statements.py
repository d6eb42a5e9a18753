"""Issued statements of a tenant: added once, and never changed."""

from collections.abc import Collection, Generator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy import ARRAY, ColumnElement, Connection, Row, Select, Uuid, any_, func, insert, literal, select, text

from services.application.billing.customers import CustomerDetails
from services.application.billing.issued.values import (
    TIME_ZONE,
    Adjustment,
    Content,
    Due,
    IssuedStatement,
    NewStatement,
    Sums,
)
from services.application.billing.issuer import Issuer
from services.application.billing.usage import Billing, Month, UsageTransfer
from services.application.shared.audit import Actor, ActorKind
from services.persistence.tables import (
    api_keys,
    issued_adjustments,
    issued_statements,
    issued_sums,
    issued_transfers,
    users,
)
from tradewind.errors import NotFound

ROWS_AT_ONCE = 1_000

_CONTENT = TypeAdapter(Content)
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('issued statements of ' || :tenant, 0))")
_STATEMENT, _SUM, _ADJUSTMENT, _TRANSFER = (
    table.c for table in (issued_statements, issued_sums, issued_adjustments, issued_transfers)
)
_ALL_BUT_CONTENT = [column for column in issued_statements.columns if column.name != "content"]
_NOT_STORED = {"billing", "customer"}
_OF_TRANSFER = tuple(name for name in UsageTransfer.__slots__ if name not in _NOT_STORED)


class IssuedStatements:
    """Issued statements of one tenant; ``actor`` issues them."""

    def __init__(self, connection: Connection, tenant_id: UUID, actor: Actor) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._actor = actor

    def lock(self) -> None:
        """Let no other transaction issue a statement of the tenant until this one ends."""
        self._connection.execute(_LOCK, {"tenant": str(self._tenant_id)})

    def find(self, customer_id: UUID, month: Month) -> IssuedStatement | None:
        """Return the issued statement of a customer's month, if there is one."""
        is_it = (_STATEMENT.customer_id == customer_id, _STATEMENT.month == month.begins_at.date())
        found = self._read(_select().where(*is_it))
        return found[0] if found else None

    def get(self, statement_id: UUID) -> IssuedStatement:
        """Return an issued statement.

        Raises
        ------
        NotFound : the tenant has issued none of this id.
        """
        found = self._read(_select().where(_STATEMENT.id == statement_id))
        if not found:
            raise NotFound("no such issued statement")
        return found[0]

    def list_of(self, customer_id: UUID) -> Sequence[IssuedStatement]:
        """Return all statements of a customer by month."""
        return self._read(_select().where(_STATEMENT.customer_id == customer_id).order_by(_STATEMENT.month))

    def list_of_month(self, month: Month) -> Sequence[IssuedStatement]:
        """Return all statements of a month by number."""
        return self._read(_select().where(_STATEMENT.month == month.begins_at.date()).order_by(_STATEMENT.number))

    def list_before(self, month: Month) -> Sequence[IssuedStatement]:
        """Return all statements of earlier months by month and number."""
        earlier = _select().where(_STATEMENT.month < month.begins_at.date())
        return self._read(earlier.order_by(_STATEMENT.month, _STATEMENT.number))

    def list_page(
        self, *, after: int, limit: int, customer_id: UUID | None = None, month: Month | None = None
    ) -> Sequence[IssuedStatement]:
        """Return so many statements with numbers above one, by number: all, or those of a customer or a month."""
        query = _select().where(_STATEMENT.number > after).order_by(_STATEMENT.number).limit(limit)
        if customer_id is not None:
            query = query.where(_STATEMENT.customer_id == customer_id)
        if month is not None:
            query = query.where(_STATEMENT.month == month.begins_at.date())
        return self._read(query)

    def load_content(self, statement_id: UUID) -> Content:
        """Return what a statement is made of, without its transfers."""
        query = select(_STATEMENT.content).where(_STATEMENT.id == statement_id)
        return _CONTENT.validate_json(self._connection.execute(query).scalar_one())

    def list_transfers(self, statement_id: UUID, *, limit: int, offset: int) -> Sequence[UsageTransfer]:
        """Return so many transfers of a statement from a place on, by their start."""
        query = _select_transfers(statement_id).limit(limit).offset(offset)
        return [_to_transfer(row) for row in self._connection.execute(query)]

    def iterate_transfers(self, statement_id: UUID) -> Generator[UsageTransfer, None, None]:
        """Yield the transfers of a statement by their start, reading as the caller takes them."""
        options = {"yield_per": ROWS_AT_ONCE}
        with self._connection.execute(_select_transfers(statement_id), execution_options=options) as rows:
            yield from map(_to_transfer, rows)

    def sum_adjustments(self, statement_ids: Collection[UUID]) -> Mapping[UUID, Mapping[str, Sums]]:
        """Return what other statements have billed of the differences of these, by statement and currency."""
        sums = (func.sum(column) for column in (_ADJUSTMENT.transfers, _ADJUSTMENT.amount, _ADJUSTMENT.credit))
        query = (
            select(_ADJUSTMENT.corrected_id, _ADJUSTMENT.currency, *sums)
            .where(_is_one_of(_ADJUSTMENT.corrected_id, statement_ids))
            .group_by(_ADJUSTMENT.corrected_id, _ADJUSTMENT.currency)
        )
        found: dict[UUID, dict[str, Sums]] = {}
        for statement_id, currency, transfers, amount, credit in self._connection.execute(query):
            found.setdefault(statement_id, {})[currency] = Sums(int(transfers), amount, credit)
        return found

    def add(self, new: NewStatement) -> IssuedStatement:
        """Store a statement under the next number, while statements are locked."""
        number = self._connection.execute(select(func.coalesce(func.max(_STATEMENT.number), 0) + 1)).scalar_one()
        details = new.customer.details
        statement_id: UUID = self._connection.execute(
            insert(issued_statements)
            .values(
                tenant_id=self._tenant_id,
                number=number,
                month=new.month.begins_at.date(),
                time_zone=TIME_ZONE,
                issued_at=new.issued_at,
                issued_by=self._find_actor(),
                provider=new.issuer.name,
                provider_address=list(new.issuer.address),
                customer_id=new.customer.id,
                customer_number=new.customer.number,
                customer=details.name,
                customer_address=details.address,
                contact_name=details.contact_name,
                contact_email=details.contact_email,
                has_transfers=new.has_transfers,
                content=_CONTENT.dump_json(new.content).decode(),
            )
            .returning(_STATEMENT.id)
        ).scalar_one()
        own: dict[str, Any] = {"tenant_id": self._tenant_id, "statement_id": statement_id}
        self._connection.execute(insert(issued_sums), [own | _to_sum_columns(due) for due in new.dues])
        if new.adjustments:
            rows = [own | _to_adjustment_columns(each) for each in new.adjustments]
            self._connection.execute(insert(issued_adjustments), rows)
        return self.get(statement_id)

    def add_transfers(self, statement_id: UUID, transfers: Sequence[UsageTransfer], *, first: int) -> None:
        """Store billed transfers of a statement that is being issued; ``first`` : place of the first of them."""
        own = {"tenant_id": self._tenant_id, "statement_id": statement_id}
        rows = [
            own | {"ordinal": first + place} | {name: getattr(each, name) for name in _OF_TRANSFER}
            for place, each in enumerate(transfers)
        ]
        self._connection.execute(insert(issued_transfers), rows)

    def _find_actor(self) -> str:
        """Return the login of the user or the name of the key that issues."""
        of_kind = {ActorKind.USER: (users.c.id, users.c.login), ActorKind.KEY: (api_keys.c.id, api_keys.c.name)}
        if self._actor.kind not in of_kind:
            return self._actor.kind.value
        own_id, name = of_kind[self._actor.kind]
        found: str = self._connection.execute(select(name).where(own_id == self._actor.id)).scalar_one()
        return found

    def _read(self, query: Select[Any]) -> Sequence[IssuedStatement]:
        rows = self._connection.execute(query).all()
        ids = [row.id for row in rows]
        dues: dict[UUID, list[Due]] = {}
        adjustments: dict[UUID, list[Adjustment]] = {}
        if ids:
            of_them = select(issued_sums).where(_is_one_of(_SUM.statement_id, ids)).order_by(_SUM.currency)
            for row in self._connection.execute(of_them):
                dues.setdefault(row.statement_id, []).append(_to_due(row))
            for row in self._connection.execute(_select_adjustments(ids)):
                adjustments.setdefault(row.statement_id, []).append(_to_adjustment(row))
        return [_to_statement(row, dues.get(row.id, ()), adjustments.get(row.id, ())) for row in rows]


def _is_one_of(column: ColumnElement[UUID], ids: Collection[UUID]) -> ColumnElement[bool]:
    """Return the condition with all IDs as one parameter: a statement of SQL has at most 65,535."""
    return column == any_(literal(list(ids), ARRAY(Uuid)))


def _select() -> Select[Any]:
    return select(*_ALL_BUT_CONTENT)


def _select_transfers(statement_id: UUID) -> Select[Any]:
    return (
        select(issued_transfers, _STATEMENT.customer)
        .join(issued_statements, _STATEMENT.id == _TRANSFER.statement_id)
        .where(_TRANSFER.statement_id == statement_id)
        .order_by(_TRANSFER.started_at, _TRANSFER.ordinal)
    )


def _select_adjustments(statement_ids: Sequence[UUID]) -> Select[Any]:
    return (
        select(issued_adjustments, _STATEMENT.number, _STATEMENT.month)
        .join(issued_statements, _STATEMENT.id == _ADJUSTMENT.corrected_id)
        .where(_is_one_of(_ADJUSTMENT.statement_id, statement_ids))
        .order_by(_STATEMENT.month, _ADJUSTMENT.currency)
    )


def _to_sum_columns(due: Due) -> dict[str, Any]:
    values = {"currency": due.currency, "adjustment": due.adjustment, "payable": due.payable}
    return due.sums._asdict() | values


def _to_adjustment_columns(each: Adjustment) -> dict[str, Any]:
    return each.sums._asdict() | {"corrected_id": each.corrected_id, "currency": each.currency}


def _to_due(row: Row[Any]) -> Due:
    return Due(currency=row.currency, sums=_to_sums(row), adjustment=row.adjustment, payable=row.payable)


def _to_adjustment(row: Row[Any]) -> Adjustment:
    return Adjustment(
        corrected_id=row.corrected_id,
        number=row.number,
        month=_to_month(row.month),
        currency=row.currency,
        sums=_to_sums(row),
    )


def _to_sums(row: Row[Any]) -> Sums:
    amount: Decimal = row.amount
    return Sums(int(row.transfers), amount, row.credit)


def _to_month(first: date) -> Month:
    return Month.of(datetime(first.year, first.month, 1, tzinfo=UTC))


def _to_statement(row: Row[Any], dues: Sequence[Due], adjustments: Sequence[Adjustment]) -> IssuedStatement:
    return IssuedStatement(
        id=row.id,
        number=row.number,
        month=_to_month(row.month),
        time_zone=row.time_zone,
        issued_at=row.issued_at,
        issued_by=row.issued_by,
        issuer=Issuer(row.provider, tuple(row.provider_address)),
        customer_id=row.customer_id,
        customer_number=row.customer_number,
        customer=CustomerDetails(
            name=row.customer,
            contact_name=row.contact_name,
            contact_email=row.contact_email,
            address=row.customer_address,
        ),
        has_transfers=row.has_transfers,
        dues=dues,
        adjustments=adjustments,
    )


def _to_transfer(row: Row[Any]) -> UsageTransfer:
    return UsageTransfer(
        billing=Billing.BILLED, customer=row.customer, **{name: getattr(row, name) for name in _OF_TRANSFER}
    )
