"""A statement as it is shown: the issued one, or a preliminary one of what is logged so far."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.application.billing.customers import Customer
from services.application.billing.issued.issue import (
    Adjustment,
    Change,
    Due,
    IssuedStatement,
    Sums,
    build_dues,
    find_changes,
    list_open_adjustments,
)
from services.application.billing.statements import Statement, StatementDetail, build_statement, load_statement
from services.application.billing.usage import Holder, Month
from services.application.shared.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedStatement:
    """A statement with a page of its transfers; ``issued`` : absent for a preliminary one.

    ``dues``, ``adjustments`` : of a preliminary one, those that it would have if it were issued now.
    ``changes`` : since it was issued, by currency.
    """

    statement: Statement
    detail: StatementDetail
    issued: IssuedStatement | None
    dues: Sequence[Due]
    adjustments: Sequence[Adjustment]
    changes: Sequence[Change] = ()


def open_statement(holder: Holder, month: Month, *, limit: int, offset: int, uow: UnitOfWork) -> OpenedStatement:
    """Return the statement of a customer or key with a page of its transfers.

    Raises
    ------
    NotFound : the tenant has no such customer, or nothing of the key is logged in the month.
    """
    customer_id = holder.customer_id
    issued = None if customer_id is None else uow.issued_statements.find(customer_id, month)
    if issued is not None:
        return _open_issued(issued, limit=limit, offset=offset, uow=uow)
    statement, detail = load_statement(holder, month, limit=limit, offset=offset, uow=uow)
    adjustments = () if customer_id is None else list_open_adjustments(customer_id, month, uow)
    return OpenedStatement(
        statement=statement,
        detail=detail,
        issued=None,
        dues=build_dues(statement.billed, adjustments),
        adjustments=adjustments,
    )


def _open_issued(issued: IssuedStatement, *, limit: int, offset: int, uow: UnitOfWork) -> OpenedStatement:
    content = uow.issued_statements.load_content(issued.id)
    transfers = uow.issued_statements.list_transfers(issued.id, limit=limit, offset=offset)
    detail = StatementDetail(
        issuer=issued.issuer, sheet=replace(content.sheet, transfers=transfers), tiers=content.tiers
    )
    customer = name_as_issued(uow.customers.get(issued.customer_id), issued)
    return OpenedStatement(
        statement=build_statement(issued.month, content.sheet.sums, customer, is_final=True),
        detail=detail,
        issued=issued,
        dues=issued.dues,
        adjustments=issued.adjustments,
        changes=[change for change in find_changes([issued], uow) if change.is_open or change.adjusted != Sums()],
    )


def name_as_issued(customer: Customer, issued: IssuedStatement) -> Customer:
    """Return a customer with the name, the contact and the address that its issued statement has."""
    then = issued.customer
    details = replace(
        customer.details,
        name=then.name,
        address=then.address,
        contact_name=then.contact_name,
        contact_email=then.contact_email,
    )
    return replace(customer, number=issued.customer_number, details=details)
