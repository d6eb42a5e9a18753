"""All statements of a month with what each comes to, and the issue of all of them at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from services.application.billing.issued.differences import list_open_adjustments_of_all
from services.application.billing.issued.issue import issue_statement, refuse_running_month
from services.application.billing.issued.values import Adjustment, Due, IssuedStatement, build_dues
from services.application.billing.statements import Statement, build_statements
from services.application.billing.usage import Month
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, TradewindError
from tradewind.sla.pricing import add_exactly

NO_CUSTOMER = "the key belongs to no customer; statements are issued to customers"


@dataclass(frozen=True, slots=True, kw_only=True)
class PayableStatement:
    """A statement as it is logged now, with what it comes to.

    ``adjustments`` : of earlier issued months, those that it bills. ``issued`` : the issued statement of the month; its
    own sums may differ.
    """

    statement: Statement
    dues: Sequence[Due]
    adjustments: Sequence[Adjustment]
    issued: IssuedStatement | None


def list_payable_statements(month: Month, uow: UnitOfWork) -> Sequence[PayableStatement]:
    """Return the statements of a month, also those of customers that pay adjustments of earlier months alone."""
    issued = {each.customer_id: each for each in uow.issued_statements.list_of_month(month)}
    adjustments = {**list_open_adjustments_of_all(month, uow), **{key: one.adjustments for key, one in issued.items()}}
    found = build_statements(
        uow.usage.list_sums(month), uow.customers.list_all(), month, always=adjustments.keys() | issued.keys()
    )
    return [_add_dues(each, adjustments, issued) for each in found]


def _add_dues(
    statement: Statement, adjustments: Mapping[UUID, Sequence[Adjustment]], issued: Mapping[UUID, IssuedStatement]
) -> PayableStatement:
    customer_id = statement.holder.customer_id
    own = () if customer_id is None else adjustments.get(customer_id, ())
    return PayableStatement(
        statement=statement,
        dues=build_dues(statement.billed, own),
        adjustments=own,
        issued=None if customer_id is None else issued.get(customer_id),
    )


def add_dues(dues: Iterable[Due]) -> Mapping[str, Decimal]:
    """Return what is to be paid by currency: the sum of what each comes to, which is rounded once."""
    payable: dict[str, Decimal] = {}
    for due in dues:
        payable[due.currency] = add_exactly(payable.get(due.currency, Decimal(0)), due.payable)
    return dict(sorted(payable.items()))


class IssueOutcome(StrEnum):
    """What became of the statement of a customer when all were issued."""

    ISSUED = "issued"
    ALREADY_ISSUED = "already_issued"
    TO_ISSUE = "to_issue"
    """In a dry run: it would be issued."""
    NOT_ISSUED = "not_issued"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementOutcome:
    """What became of one statement; ``reason`` : why it is not issued, as a sentence.

    ``customer_id`` : ``None`` for a key without a customer, whose name is ``name``.
    """

    customer_id: UUID | None
    name: str
    outcome: IssueOutcome
    dues: Sequence[Due]
    issued: IssuedStatement | None = None
    reason: str = ""


def plan_issue(month: Month, *, uow: UnitOfWork, clock: Clock) -> Sequence[StatementOutcome]:
    """Return what would become of each statement of a month if all were issued now, by name.

    Raises
    ------
    Conflict : the month is not over, or nothing of it is to be paid or issued.
    """
    refuse_running_month(month, clock.now())
    planned = list(plan_statements(list_payable_statements(month, uow)))
    if not planned:
        raise Conflict(f"nothing is billed for {month}")
    return planned


def plan_statements(statements: Iterable[PayableStatement]) -> Iterator[StatementOutcome]:
    """Yield what would become of statements; those without anything to be paid are left out."""
    for each in statements:
        holder, name = each.statement.holder, each.statement.name
        if each.issued is not None:
            yield _report_issued(each.issued, IssueOutcome.ALREADY_ISSUED)
        elif each.dues and holder.customer_id is None:
            yield StatementOutcome(
                customer_id=None, name=name, outcome=IssueOutcome.NOT_ISSUED, dues=each.dues, reason=NO_CUSTOMER
            )
        elif each.dues:
            yield StatementOutcome(
                customer_id=holder.customer_id, name=name, outcome=IssueOutcome.TO_ISSUE, dues=each.dues
            )


def issue_month(
    month: Month, *, open_unit_of_work: Callable[[], UnitOfWork], clock: Clock
) -> Sequence[StatementOutcome]:
    """Issue the statements of all customers for a month that is over, each in a transaction of its own.

    What cannot be issued is reported with its reason, and the others are issued. A second call issues what is left.

    Raises
    ------
    Conflict : the month is not over, or nothing of it is to be paid or issued.
    Unavailable : the store is unreachable before the first statement.
    """
    with open_unit_of_work() as uow:
        planned = plan_issue(month, uow=uow, clock=clock)
    return [
        _issue(each, month, open_unit_of_work, clock) if each.outcome is IssueOutcome.TO_ISSUE else each
        for each in planned
    ]


def _issue(
    planned: StatementOutcome, month: Month, open_unit_of_work: Callable[[], UnitOfWork], clock: Clock
) -> StatementOutcome:
    assert planned.customer_id is not None, "only customers have statements that can be issued"
    try:
        with open_unit_of_work() as uow:
            issued, is_new = issue_statement(planned.customer_id, month, uow=uow, clock=clock)
    except TradewindError as error:
        return StatementOutcome(
            customer_id=planned.customer_id,
            name=planned.name,
            outcome=IssueOutcome.NOT_ISSUED,
            dues=planned.dues,
            reason=str(error),
        )
    return _report_issued(issued, IssueOutcome.ISSUED if is_new else IssueOutcome.ALREADY_ISSUED)


def _report_issued(issued: IssuedStatement, outcome: IssueOutcome) -> StatementOutcome:
    return StatementOutcome(
        customer_id=issued.customer_id, name=issued.customer.name, outcome=outcome, dues=issued.dues, issued=issued
    )
