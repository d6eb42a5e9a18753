"""Issued statements: what a customer was billed for a month, with a number, for good.

What is logged or corrected later changes no issued statement: see `differences`.
"""

from contextlib import closing
from datetime import datetime
from decimal import Decimal
from itertools import islice
from uuid import UUID

from services.application.billing.customers import Customer
from services.application.billing.issued.differences import list_open_adjustments
from services.application.billing.issued.values import Content, IssuedStatement, NewStatement, Sums, build_dues
from services.application.billing.statements import load_statement
from services.application.billing.usage import Billing, Holder, Month, UsageTransfer
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict

TRANSFERS_AT_ONCE = 1_000


def issue_statement(customer_id: UUID, month: Month, *, uow: UnitOfWork, clock: Clock) -> tuple[IssuedStatement, bool]:
    """Issue the statement of a customer for a month that is over, once.

    Returns
    -------
    The statement, and whether this call issued it: one that was issued before is returned as it is.

    Raises
    ------
    NotFound : the tenant has no such customer.
    Conflict : the month is not over, nothing is to be paid, or logs of the month are stored meanwhile.
    """
    uow.issued_statements.lock()
    customer = uow.customers.get(customer_id)
    if (found := uow.issued_statements.find(customer_id, month)) is not None:
        return found, False
    now = clock.now()
    refuse_running_month(month, now)
    issued = uow.issued_statements.add(_build_statement(customer, month, now, uow))
    if issued.has_transfers:
        _store_transfers(issued, uow)
    uow.audit.note(
        "statements.issued",
        customer.name,
        id=str(customer_id),
        number=issued.number,
        month=str(month),
        payable=", ".join(f"{due.payable:f} {due.currency}" for due in issued.dues),
    )
    uow.commit()
    return issued, True


def refuse_running_month(month: Month, now: datetime) -> None:
    """Raise a Conflict if a month is not over."""
    if now < month.ends_at:
        raise Conflict(f"{month} is not over; its statement can be issued from {month.after}-01 on (UTC)")


def _build_statement(customer: Customer, month: Month, now: datetime, uow: UnitOfWork) -> NewStatement:
    """Return what a customer is billed for a month, with the differences of earlier months."""
    statement, detail = load_statement(Holder(customer_id=customer.id), month, limit=0, offset=0, uow=uow)
    adjustments = list_open_adjustments(customer.id, month, uow)
    dues = build_dues(statement.billed, adjustments)
    if not dues:
        raise Conflict(f"nothing is billed to {customer.name} for {month}")
    return NewStatement(
        month=month,
        customer=customer,
        issuer=detail.issuer,
        issued_at=now,
        dues=dues,
        adjustments=adjustments,
        content=Content(sheet=detail.sheet, tiers=detail.tiers),
        # There are no totals where the rows are dropped.
        has_transfers=not statement.billed or bool(detail.sheet.totals),
    )


def _store_transfers(issued: IssuedStatement, uow: UnitOfWork) -> None:
    """Store the billed transfers of a statement, which have to add up to it."""
    stored: dict[str, Sums] = {}
    holder = Holder(customer_id=issued.customer_id)
    with closing(uow.usage.iterate_transfers(issued.month, holder)) as transfers:
        billed = (each for each in transfers if each.billing is Billing.BILLED)
        ordinal = 0
        while block := list(islice(billed, TRANSFERS_AT_ONCE)):
            uow.issued_statements.add_transfers(issued.id, block, first=ordinal)
            ordinal += len(block)
            for each in block:
                _add_transfer(stored, each)
    expected = {due.currency: due.sums for due in issued.dues if due.sums != Sums()}
    if stored != expected:
        raise Conflict(f"logs of {issued.month} are being stored; nothing was issued, try again in a minute")


def _add_transfer(sums: dict[str, Sums], transfer: UsageTransfer) -> None:
    assert transfer.currency is not None, "what is billed has an amount, which has a currency"
    assert transfer.amount is not None
    own = Sums(1, transfer.amount, transfer.credit or Decimal(0))
    sums[transfer.currency] = sums.get(transfer.currency, Sums()).plus(own)
