"""What was expected of the sample's tuned transfers: as if the first heartbeat of each had come to this service.

They are told by their ends alone, which carry nothing of it, so this goes past the API into the sample's own database.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from benchmarks.sample.behind import Behind
from services.application.transfers.journal import TransferNews, TransferStart, Workload
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.transfers import ExpectedOutcome


class Offered(NamedTuple):
    """An enquiry, and the recommendation that answered it, as JSON."""

    enquiry: dict[str, Any]
    answer: dict[str, Any]


def tell_expectations(behind: Behind, offers: Sequence[Offered]) -> None:
    """Keep each offer beside the transfer of its id, which is known already."""
    with behind() as (parts, tenant_id), parts.store.unit_of_work(tenant_id) as uow:
        uow.journal.note([_news(each, parts.clock.now()) for each in offers])
        uow.commit()


def _news(offer: Offered, now: datetime) -> TransferNews:
    return TransferNews(
        transfer_id=UUID(offer.answer["transfer_id"]),
        workload=Workload.asked(RecommendRequest.model_validate(offer.enquiry)),
        started_at=now,
        heard_at=None,
        silent_at=None,
        beats={},
        begun=TransferStart(
            expected=ExpectedOutcome.model_validate({**offer.answer, "probability": offer.answer["sla"]["probability"]})
        ),
    )
