"""``/v1/logs``: uploads of transfer records, and their receipts."""

from typing import IO, Annotated
from uuid import UUID

from fastapi import Header, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from services.api.dependencies import AgentKey, AnyKey, Parts
from services.api.problems import FieldProblem, make_problem
from services.api.routing import create_v1_router
from services.application.logs.ingest import IngestReceipt
from services.application.logs.lines import Encoding
from services.application.transfers.owners import own_keys
from services.bootstrap import Container
from services.observability.telemetry import Event
from services.upload_storage import Upload
from tradewind.errors import InvalidValue, NotFound
from tradewind.units import format_count
from tradewind.wire.logs import BatchReceipt

router = create_v1_router("/logs", "logs")

_BODY = {
    "requestBody": {
        "required": True,
        "description": "Transfer records, a JSON object a line; units are part of the fields' names.",
        "content": {"application/x-ndjson": {"schema": {"type": "string", "format": "binary"}}},
    }
}
IdempotencyKey = Annotated[
    str | None, Header(max_length=200, description="The same key and content again get the same receipt.")
]
ContentEncoding = Annotated[str | None, Header(description="identity, gzip or zstd")]


@router.post(
    "",
    status_code=201,
    response_model=BatchReceipt,
    openapi_extra=_BODY,
    responses={200: {"model": BatchReceipt, "description": "The key was used before for the same content."}},
)
async def upload_logs(
    request: Request,
    parts: Parts,
    principal: AgentKey,
    idempotency_key: IdempotencyKey = None,
    content_encoding: ContentEncoding = None,
) -> Response:
    """Store transfer records. What is acknowledged is durable; refused rows are listed with the reason.

    The body is first written aside, so that a slow or broken connection holds no transaction and leaves nothing behind.
    """
    encoding = _parse_encoding(content_encoding)
    with parts.spools.open_spool(principal.tenant_id, principal.key_id) as spool:
        try:
            await spool.receive(request.stream())
        except ClientDisconnect:
            raise InvalidValue("body", "was cut off; nothing is stored") from None
        upload = Upload(
            tenant_id=principal.tenant_id,
            actor=principal.actor,
            idempotency_key=idempotency_key,
            encoding=encoding,
            limits=parts.body_limits,
        )
        async with parts.upload_slots.hold(principal.tenant_id, principal.key_id):
            receipt = await run_in_threadpool(_store, spool.file, upload, parts)
    return _answer(receipt)


@router.get("/batches/{batch_id}")
def read_batch(batch_id: UUID, parts: Parts, principal: AnyKey) -> BatchReceipt:
    """Return the receipt of an upload. A customer's key reads those of its own uploads."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        receipt = uow.batches.find(batch_id, brought_by=own_keys(principal, uow.owners))
    if receipt is None:
        raise NotFound("no such batch")
    return _to_wire(receipt)


def _parse_encoding(header: str | None) -> Encoding:
    try:
        return Encoding((header or Encoding.IDENTITY).strip().lower())
    except ValueError:
        raise HTTPException(415, "Content-Encoding must be identity, gzip or zstd") from None


def _store(body: IO[bytes], upload: Upload, parts: Container) -> IngestReceipt:
    receipt = parts.upload_storage.store(body, upload)
    if not receipt.repeated:
        parts.metrics.rows_accepted.inc(receipt.accepted)
        parts.metrics.rows_rejected.inc(receipt.rejected)
        counts = {"accepted": receipt.accepted, "rejected": receipt.rejected}
        parts.log.info(Event.BATCH_STORED, batch_id=str(receipt.batch_id), **counts)
    return receipt


def _to_wire(receipt: IngestReceipt) -> BatchReceipt:
    return BatchReceipt(
        batch_id=receipt.batch_id,
        accepted=receipt.accepted,
        rejected=receipt.rejected,
        rejections=receipt.rejections,
        not_quarantined=receipt.not_quarantined,
        received_at=receipt.received_at,
        duplicate=receipt.repeated,
    )


def _answer(receipt: IngestReceipt) -> Response:
    wire = _to_wire(receipt)
    if receipt.nothing_valid:
        return make_problem(
            422,
            "Nothing valid",
            f"no row is valid; {format_count(receipt.rejected, 'row')} refused",
            fields=tuple(FieldProblem(field=each.field, reason=each.reason) for each in receipt.rejections[:1]),
            **wire.model_dump(mode="json"),
        )
    return Response(wire.model_dump_json(), status_code=200 if receipt.repeated else 201, media_type="application/json")
