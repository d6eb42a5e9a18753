"""Store what was expected of the sample's tuned transfers: as if their first heartbeats had come to this service.

Only their ends are reported, which carry nothing of it, so this bypasses the API and writes to the sample's own
database.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from benchmarks.sample.service_parts import OpenParts
from services.application.transfers.journal import TransferNews, TransferStart, Workload
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.transfers import ExpectedOutcome


class AnsweredRequest(NamedTuple):
    """A request, and the recommendation that answered it, as JSON."""

    enquiry: dict[str, Any]
    answer: dict[str, Any]


def store_expectations(behind: OpenParts, offers: Sequence[AnsweredRequest]) -> None:
    """Store each recommendation with the transfer of its id, which is known already."""
    with behind() as (parts, tenant_id), parts.store.unit_of_work(tenant_id) as uow:
        uow.journal.note([_make_news(each, parts.clock.now()) for each in offers])
        uow.commit()


def _make_news(offer: AnsweredRequest, now: datetime) -> TransferNews:
    return TransferNews(
        transfer_id=UUID(offer.answer["transfer_id"]),
        workload=Workload.from_request(RecommendRequest.model_validate(offer.enquiry)),
        started_at=now,
        heard_at=None,
        silent_at=None,
        beats={},
        start=TransferStart(
            expected=ExpectedOutcome.model_validate({**offer.answer, "probability": offer.answer["sla"]["probability"]})
        ),
    )
