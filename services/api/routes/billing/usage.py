"""``/v1/usage-statements``: what each key used in a month, and what it and its customer pay."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request, Response

from services.api.dependencies import Parts, ProviderKey
from services.api.problems import to_problem
from services.api.routes.billing.customers import to_wire_customer
from services.api.routes.billing.issued_statements import to_head, to_wire_adjustment, to_wire_change, to_wire_due
from services.api.routing import create_v1_router
from services.application.billing.issued.month import PayableStatement, list_payable_statements
from services.application.billing.issued.opened import OpenedStatement, open_statement
from services.application.billing.issuer import find_issuer
from services.application.billing.statements import (
    KeyUsage,
    find_statement,
)
from services.application.billing.usage import Holder, Month, UsageLine
from services.streaming.usage_stream import stream_usage
from tradewind.wire.billing import BilledUsage, UnbilledUsage, UsageStatement
from tradewind.wire.customers import CustomerStatement, StatementKey, StatementTotal

router = create_v1_router("/usage-statements", "prices")
statement_router = create_v1_router("/customers", "customers")

NO_KEY = KeyUsage(key_id=None, key=None, billed=(), unbilled=())
"""Of a customer that used nothing in the month and pays differences of earlier ones."""


class Form(StrEnum):
    JSON = "json"
    CSV = "csv"


OfMonth = Annotated[str, Query(min_length=7, max_length=7, description="`YYYY-MM`, in UTC.")]
OfMonthOrNow = Annotated[
    str | None, Query(min_length=7, max_length=7, description="`YYYY-MM`, in UTC; the current month if absent.")
]
AsForm = Annotated[Form, Query(alias="format", description="`json`: sums by key; `csv`: one line a transfer.")]

_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {}}, "description": "Statements, or their transfers one by one as CSV."}
}


@router.get("", response_model=Sequence[UsageStatement], responses=_CSV)
def list_statements(
    month: OfMonth, request: Request, parts: Parts, principal: ProviderKey, form: AsForm = Form.JSON
) -> Response | Sequence[UsageStatement]:
    """Return what each key used in a month, by customer. A month changes while transfers of it are still logged."""
    requested_month = Month.parse(month)
    if form is Form.CSV:
        tenant_id = principal.tenant_id
        uow, slots = parts.store.unit_of_work(tenant_id), request.app.state.query_slots
        return stream_usage(tenant_id, requested_month, uow, slots, refused=to_problem)
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        found = list_payable_statements(requested_month, uow)
    return [_to_wire(each, key) for each in found for key in each.statement.keys or (NO_KEY,)]


def _to_wire(payable: PayableStatement, key: KeyUsage) -> UsageStatement:
    statement = payable.statement
    month, customer = statement.month, statement.customer
    adjusted = {each.currency for each in payable.adjustments}
    billed = [_to_billed_usage(line, pays=line.currency not in adjusted) for line in statement.billed]
    return UsageStatement(
        month=str(month),
        begins_at=month.begins_at,
        ends_at=month.ends_at,
        customer_id=None if customer is None else customer.id,
        customer=None if customer is None else customer.name,
        key_id=key.key_id,
        key=key.key,
        billed=tuple(_to_billed_usage(line, pays=customer is None) for line in key.billed),
        customer_billed=() if customer is None else tuple(billed),
        customer_to_pay=() if customer is None else tuple(map(to_wire_due, payable.dues)),
        unbilled=tuple(map(_to_unbilled_usage, key.unbilled)),
    )


@statement_router.get("/{customer_id}/statement", response_model=CustomerStatement, responses=_CSV)
def read_statement(
    customer_id: UUID,
    request: Request,
    parts: Parts,
    principal: ProviderKey,
    *,
    month: OfMonthOrNow = None,
    form: AsForm = Form.JSON,
) -> Response | CustomerStatement:
    """Return the statement of a customer over all of its keys: sums, totals by link and tier, or each transfer.

    Once it is issued, that one is returned.
    """
    requested_month = Month.of(parts.clock.now()) if month is None else Month.parse(month)
    tenant_id = principal.tenant_id
    with parts.store.unit_of_work(tenant_id) as uow:
        holder = Holder(customer_id=customer_id)
        if form is Form.JSON:
            opened = open_statement(holder, requested_month, limit=0, offset=0, uow=uow)
        else:
            statement, issuer = find_statement(holder, requested_month, uow), find_issuer(uow)
            issued = uow.issued_statements.find(customer_id, requested_month)
    if form is Form.CSV:
        return stream_usage(
            tenant_id,
            requested_month,
            parts.store.unit_of_work(tenant_id),
            request.app.state.query_slots,
            holder=statement.holder,
            number=statement.number,
            issuer=issuer,
            issued=issued,
            refused=to_problem,
        )
    return _to_customer_statement(opened, requested_month, parts.clock.now())


def _to_customer_statement(opened: OpenedStatement, month: Month, now: datetime) -> CustomerStatement:
    statement, detail = opened.statement, opened.detail
    adjusted = {each.currency for each in opened.adjustments}
    assert statement.customer is not None, "it was looked up by its customer"
    return CustomerStatement(
        number=statement.number,
        final=statement.is_final,
        as_of=now,
        fingerprint=statement.fingerprint,
        issued=None if opened.issued is None else to_head(opened.issued),
        provider=detail.issuer.name,
        provider_address=detail.issuer.address,
        month=str(month),
        begins_at=month.begins_at,
        ends_at=month.ends_at,
        customer=to_wire_customer(statement.customer),
        to_pay=tuple(map(to_wire_due, opened.dues)),
        adjustments=tuple(map(to_wire_adjustment, opened.adjustments)),
        changes=tuple(map(to_wire_change, opened.changes)),
        billed=tuple(_to_billed_usage(line, pays=line.currency not in adjusted) for line in statement.billed),
        unbilled=tuple(map(_to_unbilled_usage, statement.unbilled)),
        keys=tuple(
            StatementKey(
                key_id=key.key_id,
                key=key.key,
                billed=tuple(_to_billed_usage(line, pays=False) for line in key.billed),
            )
            for key in statement.keys
        ),
        totals=tuple(
            StatementTotal(
                source=total.source,
                destination=total.destination,
                tier_id=total.tier_id,
                tier=None if total.tier_id is None else detail.tiers.get(total.tier_id),
                sla=total.sla,
                currency=total.currency,
                transfers=total.transfers,
                bytes_moved=total.bytes_moved,
                amount=total.amount,
                credit=total.credit,
                agreements_kept=total.met,
                agreements_missed=total.missed,
            )
            for total in detail.sheet.totals
        ),
    )


def _to_unbilled_usage(used: UsageLine) -> UnbilledUsage:
    return UnbilledUsage(
        reason=used.billing,
        currency=used.currency,
        transfers=used.transfers,
        bytes_moved=used.bytes_moved,
        agreements_kept=used.met,
        agreements_missed=used.missed,
    )


def _to_billed_usage(used: UsageLine, *, pays: bool = True) -> BilledUsage:
    assert used.currency is not None, "what is billed has an amount, which has a currency"
    assert used.amount is not None
    assert used.payable is not None
    return BilledUsage(
        currency=used.currency,
        transfers=used.transfers,
        bytes_moved=used.bytes_moved,
        amount=used.amount,
        credit=used.credit,
        payable=used.payable if pays else None,
        agreements_kept=used.met,
        agreements_missed=used.missed,
        from_log_alone=used.from_log_alone,
    )
