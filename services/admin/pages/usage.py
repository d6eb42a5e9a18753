"""*Usage*: what each customer and each key used in a month, and what is to be paid."""

from typing import Annotated

from fastapi import Form, Query, Request, Response

from services.admin.formatting.money import choose_uniform_decimals
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import Parts, Provider
from services.application.billing.currencies import count_minor_digits
from services.application.billing.issued.values import IssuedStatement, Sums, sum_billed
from services.application.billing.issuer import MOST_LINES, find_issuer, set_issuer
from services.application.billing.statements import Statement, add_payable, build_statements
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
        statements = build_statements(uow.usage.list_sums(month), uow.customers.list_all(), month)
        issuer = find_issuer(uow)
        issued = {each.customer_id: each for each in uow.issued_statements.list_of_month(month)}
    payable = add_payable(statements)
    billed = [line for each in statements for line in each.billed]
    currencies = sorted({line.currency for line in billed if line.currency is not None})
    return render_page(
        request,
        "usage.html",
        visit,
        month=month,
        current=current,
        statements=statements,
        issuer=issuer,
        issued=issued,
        has_changed=_has_changed,
        most_lines=MOST_LINES,
        longest_name=LONGEST_NAME,
        billed=billed,
        unbilled=[line for each in statements for line in each.unbilled],
        digits={
            code: choose_uniform_decimals(
                [
                    line.amount
                    for each in statements
                    for key in each.keys
                    for line in key.billed
                    if line.currency == code and line.amount is not None
                ],
                count_minor_digits(code),
            )
            for code in currencies
        },
        totals=[
            (
                code,
                payable[code],
                count_minor_digits(code),
                sum((line.amount or 0) - line.credit for line in billed if line.currency == code),
            )
            for code in currencies
        ],
    )


def _has_changed(issued: IssuedStatement, statement: Statement) -> bool:
    """Return whether the transfers of a statement come to other sums than it was issued with."""
    then = {due.currency: due.sums for due in issued.dues if due.sums != Sums()}
    return then != sum_billed(statement.billed)


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
