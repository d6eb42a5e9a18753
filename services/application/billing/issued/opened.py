"""A statement as it is shown: the issued one, or a preliminary one of what is logged so far."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from services.application.billing.customers import Customer
from services.application.billing.issued.differences import find_changes, list_open_adjustments
from services.application.billing.issued.values import Adjustment, Change, Due, IssuedStatement, Sums, build_dues
from services.application.billing.statements import Statement, StatementDetail, build_statement, load_statement
from services.application.billing.usage import Billing, Holder, Month, UsageTransfer
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict

MOST_COMPARED = 20_000
"""Transfers of a statement that are compared one by one with what is logged now; of more there are sums alone."""

MOST_CHANGED = 100
"""Changed transfers that are listed."""


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


class ChangedTransfer(NamedTuple):
    """A transfer that is billed otherwise than it was issued.

    ``then`` : on the issued statement; ``None`` : it was logged later. ``now`` : ``None`` : it is not billed any more.
    """

    then: UsageTransfer | None
    now: UsageTransfer | None

    @property
    def started(self) -> UsageTransfer:
        """The transfer as it is now, or as it was."""
        found = self.now or self.then
        assert found is not None, "one of both is known"
        return found


def list_changed_transfers(issued: IssuedStatement, uow: UnitOfWork) -> Sequence[ChangedTransfer] | None:
    """Return the transfers that have changed since a statement was issued, at most `MOST_CHANGED` of each kind.

    ``None`` where they are not compared: there are too many, or their rows are dropped.
    """
    if not issued.has_transfers or sum(due.sums.transfers for due in issued.dues) > MOST_COMPARED:
        return None
    with closing(uow.issued_statements.iterate_transfers(issued.id)) as stored:
        then = {_identify(transfer): transfer for transfer in stored}
    found: list[ChangedTransfer] = []
    try:
        with closing(uow.usage.iterate_transfers(issued.month, Holder(customer_id=issued.customer_id))) as logged:
            for now in logged:
                if now.billing is not Billing.BILLED:
                    continue
                before = then.pop(_identify(now), None)
                if (before is None or _get_amounts(before) != _get_amounts(now)) and len(found) < MOST_CHANGED:
                    found.append(ChangedTransfer(before, now))
    except Conflict:
        return None
    return found + [ChangedTransfer(gone, None) for gone in list(then.values())[:MOST_CHANGED]]


def _identify(transfer: UsageTransfer) -> tuple[object, ...]:
    """Return what a transfer is recognised by; one that the service does not know has no id."""
    if transfer.transfer_id is not None:
        return transfer.transfer_id, transfer.key_id
    return transfer.key_id, transfer.started_at, transfer.ended_at, transfer.source, transfer.destination


def _get_amounts(transfer: UsageTransfer) -> tuple[object, ...]:
    return transfer.currency, transfer.amount, transfer.credit or Decimal(0)
