"""*Usage*: what each customer and each key used in a month, and what is to be paid."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, NamedTuple

from fastapi import Form, Query, Request, Response

from services.admin.formatting.money import choose_uniform_decimals
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import Parts, Provider
from services.application.billing.currencies import count_minor_digits
from services.application.billing.issued.month import (
    IssueOutcome,
    PayableStatement,
    StatementOutcome,
    add_dues,
    issue_month,
    list_payable_statements,
    plan_statements,
)
from services.application.billing.issued.values import IssuedStatement, Sums, sum_billed
from services.application.billing.issuer import MOST_LINES, find_issuer, set_issuer
from services.application.billing.statements import Statement
from services.application.billing.usage import Month
from tradewind.names import LONGEST_NAME

router = build_page_router("/usage")

HERE = "/admin/usage"
MOST_TYPED = 2000
"""Characters of a field that are read; fewer are accepted."""

MonthText = Annotated[str, Query(alias="month", max_length=7)]


@router.get("")
def usage_page(request: Request, visit: Provider, parts: Parts, month_text: MonthText = "") -> Response:
    """Show what was used in one month, by default the current one, by customer with their keys."""
    current = Month.of(parts.clock.now())
    month = Month.parse(month_text) if month_text else current
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        statements = list_payable_statements(month, uow)
        issuer = find_issuer(uow)
    billed = [line for each in statements for line in each.statement.billed]
    return render_page(
        request,
        "usage.html",
        visit,
        month=month,
        current=current,
        statements=statements,
        issuer=issuer,
        has_changed=_has_changed,
        most_lines=MOST_LINES,
        longest_name=LONGEST_NAME,
        billed=billed,
        lists_billed=any(each.dues or each.issued for each in statements),
        unbilled=[line for each in statements for line in each.statement.unbilled],
        digits=_choose_digits(statements),
        totals=_list_totals(statements),
        to_issue=_sum_up_issue(plan_statements(statements)) if month < current else None,
    )


class Total(NamedTuple):
    """What all statements come to in one currency; ``exact`` : before each is rounded."""

    currency: str
    payable: Decimal
    digits: int
    exact: Decimal


class Issuable(NamedTuple):
    """The statements of a month that can be issued, and those that cannot; ``payable`` : by currency, of the first."""

    ready: Sequence[StatementOutcome]
    already: Sequence[StatementOutcome]
    refused: Sequence[StatementOutcome]
    payable: Mapping[str, Decimal]


def _sum_up_issue(planned: Iterable[StatementOutcome]) -> Issuable:
    by_outcome: dict[IssueOutcome, list[StatementOutcome]] = {outcome: [] for outcome in IssueOutcome}
    for each in planned:
        by_outcome[each.outcome].append(each)
    ready = by_outcome[IssueOutcome.TO_ISSUE]
    return Issuable(
        ready=ready,
        already=by_outcome[IssueOutcome.ALREADY_ISSUED],
        refused=by_outcome[IssueOutcome.NOT_ISSUED],
        payable=add_dues(due for each in ready for due in each.dues),
    )


def _choose_digits(statements: Iterable[PayableStatement]) -> Mapping[str, int]:
    """Return the decimals of all amounts of the page by currency."""
    amounts: dict[str, list[Decimal]] = {}
    for each in statements:
        for line in (line for key in each.statement.keys for line in key.billed):
            if line.currency is not None and line.amount is not None:
                amounts.setdefault(line.currency, []).append(line.amount)
        for adjustment in each.adjustments:
            amounts.setdefault(adjustment.currency, []).append(adjustment.sums.net)
    return {code: choose_uniform_decimals(found, count_minor_digits(code)) for code, found in sorted(amounts.items())}


def _list_totals(statements: Iterable[PayableStatement]) -> Sequence[Total]:
    dues = [due for each in statements for due in each.dues]
    return [
        Total(
            currency,
            payable,
            count_minor_digits(currency),
            sum((due.sums.net + due.adjustment for due in dues if due.currency == currency), Decimal(0)),
        )
        for currency, payable in add_dues(dues).items()
    ]


def _has_changed(issued: IssuedStatement, statement: Statement) -> bool:
    """Return whether the transfers of a statement come to other sums than it was issued with."""
    then = {due.currency: due.sums for due in issued.dues if due.sums != Sums()}
    return then != sum_billed(statement.billed)


@router.post("/issue")
def issue_all(
    request: Request, visit: Provider, parts: Parts, *, month_text: Annotated[str, Form(alias="month", max_length=7)]
) -> Response:
    """Issue the statements of all customers for a month that is over."""
    month = Month.parse(month_text)
    outcomes = issue_month(
        month,
        open_unit_of_work=lambda: parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor),
        clock=parts.clock,
    )
    return redirect_after_form(request, f"{HERE}?month={month}", _describe_outcomes(outcomes))


def _describe_outcomes(outcomes: Sequence[StatementOutcome]) -> str:
    """Return how many statements were issued, and the first of those customers that could not be billed."""
    new = [each.issued.number for each in outcomes if each.issued and each.outcome is IssueOutcome.ISSUED]
    failed = [each for each in outcomes if each.outcome is IssueOutcome.NOT_ISSUED and each.customer_id is not None]
    numbers = f", No. {min(new)} to {max(new)}" if len(new) > 1 else f", No. {new[0]}" if new else ""
    message = f"{len(new) or 'No'} statement{'' if len(new) == 1 else 's'} issued{numbers}."
    if failed:
        message += f" Not issued: {len(failed)}. {failed[0].name}: {failed[0].reason}."
    return message


@router.post("/issuer")
def name_issuer(
    request: Request,
    visit: Provider,
    parts: Parts,
    *,
    name: Annotated[str, Form(max_length=MOST_TYPED)],
    address: Annotated[str, Form(max_length=MOST_TYPED)] = "",
) -> Response:
    """Set the provider's name and address as they are on statements."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        issuer = set_issuer(name, address, uow=uow)
    return redirect_after_form(request, HERE, f"Statements are issued by {issuer.name}.")
