"""An enquiry of a learned link, and what answers it."""

from dataclasses import replace
from uuid import uuid4

from services.application.recommend.answer import recommend_from_history
from services.application.recommend.request import PricedRecommendation, TransferRequest
from services.application.recommend.unknown_path import recommend_unknown_path
from tests.unit.application.recommend.models import LINK, leaf_model, snapshot
from tradewind.dataset import DataSet, SizeBin
from tradewind.sla.kinds import Sla, SlaKind

HTML = leaf_model(300, 100_000)
VIDEO = leaf_model(4, 40_000_000, tier=1)
LEARNED = snapshot(HTML, VIDEO)


def recommend(request: TransferRequest, snapshot, *, new_transfer_id) -> PricedRecommendation:
    """Answer as `answer_request` does, without fetching anything."""
    result = recommend_from_history(request, snapshot, new_transfer_id)
    if isinstance(result, PricedRecommendation):
        return result
    return recommend_unknown_path(result, snapshot, new_transfer_id)


def enquiry(count=300, mean=100_000, kind=SlaKind.MAX_THROUGHPUT, **changes) -> TransferRequest:
    sla_fields = {
        name: changes.pop(name) for name in ("target", "fraction", "confidence", "energy_basis") if name in changes
    }
    asked = TransferRequest(
        link=LINK,
        dataset=DataSet(file_count=count, total_bytes=count * mean),
        bins=(SizeBin(mean, count, count * mean),),
        sla=Sla(kind=kind, **sla_fields),
    )
    return replace(asked, **changes)


def answer(asked: TransferRequest, learned=LEARNED):
    return recommend(asked, learned, new_transfer_id=uuid4)
