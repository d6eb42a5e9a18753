"""``/v1/issued-statements``: statements that were issued, each once and for good; and who issues them."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from services.api.dependencies import Parts, ProviderKey
from services.api.routing import OnceRoute, create_v1_router
from services.application.billing.issued.issue import issue_statement
from services.application.billing.issued.month import StatementOutcome, issue_month, plan_issue
from services.application.billing.issued.values import Adjustment, Change, Due, IssuedStatement
from services.application.billing.issuer import find_issuer, set_issuer
from services.application.billing.statements import format_reference
from services.application.billing.usage import Month
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.wire.billing import IssuedMonth, StatementAdjustment, StatementDue, StatementsToIssue
from tradewind.wire.billing import StatementOutcome as WireStatementOutcome
from tradewind.wire.customers import (
    IssuedStatementHead,
    StatementChange,
    StatementIssuer,
    StatementToIssue,
    WireStatementIssuer,
)

router = create_v1_router("/issued-statements", "customers", OnceRoute)
issuer_router = create_v1_router("/statement-issuer", "customers")

MOST_AT_ONCE = 200

After = Annotated[int, Query(ge=0, le=2**31 - 1, description="Statements with higher numbers than this one.")]
Limit = Annotated[int, Query(ge=1, le=MOST_AT_ONCE)]
OfCustomer = Annotated[UUID | None, Query(description="Of one customer.")]
OfMonth = Annotated[str | None, Query(min_length=7, max_length=7, description="Of one month, `YYYY-MM` in UTC.")]


@router.get("")
def list_issued(
    parts: Parts,
    principal: ProviderKey,
    *,
    customer_id: OfCustomer = None,
    month: OfMonth = None,
    after: After = 0,
    limit: Limit = MOST_AT_ONCE,
) -> Sequence[IssuedStatementHead]:
    """List issued statements by number: all, or those of a customer, of a month, or both."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        found = uow.issued_statements.list_page(
            after=after,
            limit=limit,
            customer_id=customer_id,
            month=None if month is None else Month.parse(month),
        )
    return [to_head(each) for each in found]


@router.post("", status_code=201)
def issue(new: StatementToIssue, parts: Parts, principal: ProviderKey, response: Response) -> IssuedStatementHead:
    """Issue the statement of a customer for a month that is over, once: if it is issued, it is returned (200)."""
    month = Month.parse(new.month)
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        issued, is_new = issue_statement(new.customer_id, month, uow=uow, clock=parts.clock)
    if not is_new:
        response.status_code = 200
    return to_head(issued)


@router.post("/months")
def issue_all(new: StatementsToIssue, parts: Parts, principal: ProviderKey) -> IssuedMonth:
    """Issue the statements of all customers for a month that is over, each once; report what became of each.

    One that cannot be issued stops no other. The same call again issues what is left.
    """
    month = Month.parse(new.month)

    def open_unit_of_work() -> UnitOfWork:
        return parts.store.unit_of_work(principal.tenant_id, principal.actor)

    if new.dry_run:
        with open_unit_of_work() as uow:
            outcomes = plan_issue(month, uow=uow, clock=parts.clock)
    else:
        outcomes = issue_month(month, open_unit_of_work=open_unit_of_work, clock=parts.clock)
    return IssuedMonth(month=str(month), dry_run=new.dry_run, statements=tuple(map(_to_wire_outcome, outcomes)))


def _to_wire_outcome(outcome: StatementOutcome) -> WireStatementOutcome:
    issued = outcome.issued
    return WireStatementOutcome(
        customer_id=outcome.customer_id,
        name=outcome.name,
        outcome=outcome.outcome.value,
        reason=outcome.reason or None,
        number=None if issued is None else issued.number,
        statement_id=None if issued is None else issued.id,
        to_pay=tuple(map(to_wire_due, outcome.dues)),
    )


@router.get("/{statement_id}")
def read_issued(statement_id: UUID, parts: Parts, principal: ProviderKey) -> IssuedStatementHead:
    """Return an issued statement."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return to_head(uow.issued_statements.get(statement_id))


@issuer_router.get("")
def read_issuer(parts: Parts, principal: ProviderKey) -> WireStatementIssuer:
    """Return the provider's name and address as new statements have them."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        issuer = find_issuer(uow)
    return WireStatementIssuer(name=issuer.name, address=issuer.address)


@issuer_router.put("")
def put_issuer(new: StatementIssuer, parts: Parts, principal: ProviderKey) -> WireStatementIssuer:
    """Set the provider's name and address. Statements that are issued already keep what they have."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        issuer = set_issuer(new.name, "\n".join(new.address), uow=uow)
    return WireStatementIssuer(name=issuer.name, address=issuer.address)


def to_head(issued: IssuedStatement) -> IssuedStatementHead:
    """Return an issued statement for the wire."""
    month, customer = issued.month, issued.customer
    return IssuedStatementHead(
        id=issued.id,
        number=issued.number,
        reference=format_reference(month, issued.customer_number),
        month=str(month),
        begins_at=month.begins_at,
        ends_at=month.ends_at,
        time_zone=issued.time_zone,
        issued_at=issued.issued_at,
        issued_by=issued.issued_by,
        provider=issued.issuer.name,
        provider_address=issued.issuer.address,
        customer_id=issued.customer_id,
        customer=customer.name,
        customer_address=customer.address,
        contact_name=customer.contact_name,
        contact_email=customer.contact_email,
        to_pay=tuple(map(to_wire_due, issued.dues)),
        adjustments=tuple(map(to_wire_adjustment, issued.adjustments)),
    )


def to_wire_due(due: Due) -> StatementDue:
    """Return what is paid in a currency for the wire."""
    return StatementDue(currency=due.currency, **due.sums._asdict(), adjustment=due.adjustment, payable=due.payable)


def to_wire_adjustment(adjustment: Adjustment) -> StatementAdjustment:
    """Return an adjustment for the wire."""
    return StatementAdjustment(
        number=adjustment.number,
        month=str(adjustment.month),
        currency=adjustment.currency,
        **adjustment.sums._asdict(),
    )


def to_wire_change(change: Change) -> StatementChange:
    """Return what has changed since a statement was issued for the wire."""
    return StatementChange(
        currency=change.currency,
        **change.difference._asdict(),
        adjusted_amount=change.adjusted.amount,
        adjusted_credit=change.adjusted.credit,
    )
