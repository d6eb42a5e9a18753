"""``/v1/transfers``: heartbeats of live transfers."""

from functools import partial
from uuid import UUID

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response

from services.api.dependencies import AgentKey, Parts
from services.api.problems import PROBLEM_RESPONSES
from services.api.recommend import enquiry_of, offer_for, snapshot_for
from services.application.tune_transfer import Answer, Opening
from services.application.tuning_sessions import TransferKey
from services.bootstrap import Container
from tradewind.recommendation import whole_setting
from tradewind.tuning import opened
from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer
from tradewind.wire.recommendations import RecommendRequest, WireTable

router = APIRouter(prefix="/v1/transfers", tags=["transfers"], responses=PROBLEM_RESPONSES)


@router.post("/{transfer_id}/heartbeats", response_model=HeartbeatAnswer)
async def heartbeat(
    transfer_id: UUID, beat: Heartbeat, request: Request, parts: Parts, principal: AgentKey
) -> Response:
    """What to do until the next tick. Sequence 0 precedes the first byte; the same sequence twice changes nothing."""
    snapshot = await snapshot_for(parts, principal.tenant_id)
    answer = await parts.tuner.answer(
        TransferKey(principal.tenant_id, transfer_id),
        beat,
        await request.body(),
        claims=snapshot.claims,
        open_=partial(_opening, parts, principal.tenant_id),
    )
    return Response(_rendered(answer), media_type="application/json")


async def _opening(parts: Container, tenant_id: UUID, asked: RecommendRequest) -> Opening:
    """What the transfer of an enquiry is tuned on: the recommendation as it stands now."""
    enquiry = enquiry_of(asked)
    offer = await offer_for(enquiry, parts, tenant_id)
    tables = {kind: WireTable.model_validate_json(table).to_table() for kind, table in offer.table_json.items()}
    basis = opened(
        sla=enquiry.sla,
        plan=offer.recommendation.plan,
        tables=tables,
        bins=enquiry.bins,
        path=enquiry.path,
        caps=enquiry.caps,
    )
    return Opening(basis=basis, link=enquiry.link, enquiry=asked.model_dump_json(exclude_none=True).encode())


def _rendered(answer: Answer) -> bytes:
    """The answer as JSON, in the form of ``HeartbeatAnswer``."""
    decision = answer.decision
    return orjson.dumps(
        {
            "sequence": answer.sequence,
            "parameters": whole_setting([plan.parameters for plan in decision.chunks]).known(),
            "chunks": [{"chunk": plan.chunk, "parameters": plan.parameters.known()} for plan in decision.chunks],
            "changed": decision.changed,
            "kind": decision.kind,
            "reason": decision.reason,
            "sla_bank": decision.sla_bank,
            "granted": answer.granted,
            "journalled_sequence": answer.journalled_sequence,
            "next_heartbeat_s": answer.next_heartbeat_s,
        }
    )
