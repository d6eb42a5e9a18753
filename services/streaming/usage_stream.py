"""The file of a tenant's usage as the API and the pages hand it out."""

from collections.abc import Callable, Mapping
from uuid import UUID

from starlette.responses import Response

from services.application.billing.usage import Month, UsageFile, usage_file_name
from services.application.shared.unit_of_work import UnitOfWork
from services.streaming.query_slots import QuerySlots
from services.streaming.query_stream import QueryStream
from tradewind.errors import TradewindError


def stream_usage(
    tenant_id: UUID,
    month: Month,
    unit_of_work: UnitOfWork,
    turns: QuerySlots,
    *,
    refused: Callable[[TradewindError], Response],
    headers: Mapping[str, str] | None = None,
) -> QueryStream:
    """The transfers of a month one by one, as CSV; ``headers`` go beside the file's name."""
    return QueryStream(
        UsageFile(tenant_id=tenant_id, month=month, unit_of_work=unit_of_work),
        turns,
        media_type="text/csv",
        headers={**(headers or {}), "Content-Disposition": f"attachment; filename={usage_file_name(month)}"},
        refused=refused,
    )
