"""Store what was expected of the sample's tuned transfers: as if their first heartbeats had come to this service.

Only their ends are reported, which carry nothing of it, so this bypasses the API and writes to the sample's own
database.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from benchmarks.sample.service_parts import OpenParts
from services.application.transfers.repository import TransferNews, TransferStart, Workload
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.transfers import ExpectedOutcome


class AnsweredRequest(NamedTuple):
    """A request, and the recommendation that answered it, as JSON."""

    request: dict[str, Any]
    answer: dict[str, Any]


def store_expectations(behind: OpenParts, answered_requests: Sequence[AnsweredRequest]) -> None:
    """Store each recommendation with the transfer of its id, which is known already."""
    with behind() as (parts, tenant_id), parts.store.unit_of_work(tenant_id) as uow:
        uow.journal.note([_make_news(answered, parts.clock.now()) for answered in answered_requests])
        uow.commit()


def _make_news(answered: AnsweredRequest, now: datetime) -> TransferNews:
    return TransferNews(
        transfer_id=UUID(answered.answer["transfer_id"]),
        workload=Workload.from_request(RecommendRequest.model_validate(answered.request)),
        started_at=now,
        heard_at=None,
        silent_at=None,
        beats={},
        start=TransferStart(
            expected=ExpectedOutcome.model_validate(
                {**answered.answer, "probability": answered.answer["sla"]["probability"]}
            )
        ),
    )
