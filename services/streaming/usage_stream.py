"""The usage file of a tenant, as the API and the pages return it."""

from collections.abc import Callable, Mapping
from uuid import UUID

from starlette.responses import Response

from services.application.billing.issued.file import IssuedFile
from services.application.billing.issued.values import IssuedStatement
from services.application.billing.issuer import Issuer
from services.application.billing.usage import Holder, Month, UsageFile, format_usage_file_name
from services.application.shared.unit_of_work import UnitOfWork
from services.streaming.query_slots import QuerySlots
from services.streaming.query_stream import QueryStream
from tradewind.errors import TradewindError


def stream_usage(
    tenant_id: UUID,
    month: Month,
    unit_of_work: UnitOfWork,
    slots: QuerySlots,
    *,
    holder: Holder | None = None,
    number: str | None = None,
    issuer: Issuer | None = None,
    issued: IssuedStatement | None = None,
    refused: Callable[[TradewindError], Response],
    headers: Mapping[str, str] | None = None,
) -> QueryStream:
    """Return the transfers of a month one by one, as CSV.

    Parameters
    ----------
    holder, number, issuer : whose transfers, the number of the statement and who issues it; ``None`` : all.
    issued : the statement as it was issued; ``None`` : what is logged now.
    headers : sent together with the file's name.
    """
    name = format_usage_file_name(month, number, None if issued is None else issued.number)
    file: UsageFile | IssuedFile
    if issued is None:
        file = UsageFile(tenant_id=tenant_id, month=month, unit_of_work=unit_of_work, holder=holder, issuer=issuer)
    else:
        file = IssuedFile(tenant_id=tenant_id, issued=issued, unit_of_work=unit_of_work)
    return QueryStream(
        file,
        slots,
        media_type="text/csv",
        headers={
            **(headers or {}),
            "Content-Disposition": f"attachment; filename={name}",
        },
        refused=refused,
    )
