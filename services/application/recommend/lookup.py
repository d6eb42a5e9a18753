"""An answer to an enquiry from the snapshot in memory, after the look-ups that it needs."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from services.application.recommend.answer import recommend_from_history
from services.application.recommend.model_cache import NotInMemory
from services.application.recommend.request import PricedRecommendation, TransferRequest
from services.application.recommend.served_model import ServedModel
from services.application.recommend.snapshot import Snapshot, Snapshots
from services.application.recommend.unknown_path import recommend_unknown_path
from services.application.shared.single_flight import SingleFlight


async def answer_request(
    enquiry: TransferRequest,
    tenant_id: UUID,
    *,
    snapshots: Snapshots,
    lookups: SingleFlight,
    unknown_path_lock: asyncio.Lock,
    new_transfer_id: Callable[[], UUID],
) -> PricedRecommendation:
    """Recommend, and fetch together all models that are missing, until none is; others are answered meanwhile.

    Two rounds at most for one release: the link's own model, then those of all neighbours. What was fetched stays at
    hand, so that the request ends even where other requests drive its models off the shelf.

    Parameters
    ----------
    unknown_path_lock : lets requests without history of their own be worked out one at a time. Each takes as long as a
        hundred others; between two of them those others have their turn.
    """
    fetched_models: dict[UUID, ServedModel] = {}
    while True:
        snapshot = await get_snapshot(tenant_id, snapshots=snapshots, lookups=lookups)
        if fetched_models:
            snapshot = replace(snapshot, fetched_models=fetched_models)
        try:
            found = recommend_from_history(enquiry, snapshot, new_transfer_id)
            if isinstance(found, PricedRecommendation):
                return found
            async with unknown_path_lock:
                await asyncio.sleep(0)  # with the turn in hand, so that no two follow each other at once
                return recommend_unknown_path(found, snapshot, new_transfer_id)
        except NotInMemory as missing:
            wanted = missing.model_ids
        fetched = await asyncio.gather(
            *(lookups.run(("model", each), partial(snapshots.fetch, tenant_id, each)) for each in wanted)
        )
        fetched_models.update(zip(wanted, fetched, strict=True))


async def get_snapshot(tenant_id: UUID, *, snapshots: Snapshots, lookups: SingleFlight) -> Snapshot:
    """The tenant's snapshot, read anew where none is fresh, and meanwhile where one will not be for long."""
    held = snapshots.held(tenant_id)
    if held is not None:
        if snapshots.is_due(tenant_id):
            lookups.begin(("index", tenant_id), partial(snapshots.load, tenant_id))
        return held
    return await lookups.run(("index", tenant_id), partial(snapshots.load, tenant_id))
