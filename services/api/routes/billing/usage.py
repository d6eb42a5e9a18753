"""``/v1/usage-statements``: what each customer key used in a month, and what it pays."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Query, Request, Response

from services.api.dependencies import Parts, ProviderKey
from services.api.problems import to_problem
from services.api.routing import create_v1_router
from services.application.billing.usage import Month, Statement, UsageLine, build_statements
from services.streaming.usage_stream import stream_usage
from tradewind.wire.billing import BilledUsage, UnbilledUsage, UsageStatement

router = create_v1_router("/usage-statements", "prices")


class Form(StrEnum):
    JSON = "json"
    CSV = "csv"


OfMonth = Annotated[str, Query(min_length=7, max_length=7, description="`YYYY-MM`, in UTC.")]
AsForm = Annotated[Form, Query(alias="format", description="`json`: sums by key; `csv`: one line a transfer.")]

_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {}}, "description": "Statements, or their transfers one by one as CSV."}
}


@router.get("", response_model=Sequence[UsageStatement], responses=_CSV)
def list_statements(
    month: OfMonth, request: Request, parts: Parts, principal: ProviderKey, form: AsForm = Form.JSON
) -> Response | Sequence[UsageStatement]:
    """Return the statements of a month, one a key. A month changes while transfers of it are still logged."""
    requested_month = Month.parse(month)
    if form is Form.CSV:
        tenant_id = principal.tenant_id
        uow, slots = parts.store.unit_of_work(tenant_id), request.app.state.query_slots
        return stream_usage(tenant_id, requested_month, uow, slots, refused=to_problem)
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return [_to_wire(each, requested_month) for each in build_statements(uow.usage.list_sums(requested_month))]


def _to_wire(statement: Statement, month: Month) -> UsageStatement:
    return UsageStatement(
        month=str(month),
        begins_at=month.begins_at,
        ends_at=month.ends_at,
        key_id=statement.key_id,
        key=statement.key,
        billed=tuple(map(_to_billed_usage, statement.billed)),
        unbilled=tuple(
            UnbilledUsage(
                reason=used.billing,
                currency=used.currency,
                transfers=used.transfers,
                bytes_moved=used.bytes_moved,
                agreements_kept=used.met,
                agreements_missed=used.missed,
            )
            for used in statement.unbilled
        ),
    )


def _to_billed_usage(used: UsageLine) -> BilledUsage:
    assert used.currency is not None, "what is billed has an amount, which has a currency"
    assert used.amount is not None
    assert used.payable is not None
    return BilledUsage(
        currency=used.currency,
        transfers=used.transfers,
        bytes_moved=used.bytes_moved,
        amount=used.amount,
        credit=used.credit,
        payable=used.payable,
        agreements_kept=used.met,
        agreements_missed=used.missed,
        from_log_alone=used.from_log_alone,
    )
