"""An answer to an enquiry from the snapshot in memory, after the look-ups that it needs."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from services.application.recommend.answer import recommend_seen
from services.application.recommend.model_cache import NotInMemory
from services.application.recommend.request import Enquiry, Offer
from services.application.recommend.served_model import ServedModel
from services.application.recommend.snapshot import Snapshot, Snapshots
from services.application.recommend.unknown_path import recommend_unseen
from services.application.shared.single_flight import SingleFlight


async def answer(
    enquiry: Enquiry,
    tenant_id: UUID,
    *,
    snapshots: Snapshots,
    lookups: SingleFlight,
    unseen_turns: asyncio.Lock,
    new_transfer_id: Callable[[], UUID],
) -> Offer:
    """Recommend, and fetch together all models that are missing, until none is; others are answered meanwhile.

    Two rounds at most for one release: the link's own model, then those of all neighbours. What was fetched stays at
    hand, so that the request ends even where other requests drive its models off the shelf.

    Parameters
    ----------
    unseen_turns : lets requests without history of their own be worked out one at a time. Each takes as long as a
        hundred others; between two of them those others have their turn.
    """
    at_hand: dict[UUID, ServedModel] = {}
    while True:
        snapshot = await snapshot_of(tenant_id, snapshots=snapshots, lookups=lookups)
        if at_hand:
            snapshot = replace(snapshot, at_hand=at_hand)
        try:
            found = recommend_seen(enquiry, snapshot, new_transfer_id)
            if isinstance(found, Offer):
                return found
            async with unseen_turns:
                await asyncio.sleep(0)  # with the turn in hand, so that no two follow each other at once
                return recommend_unseen(found, snapshot, new_transfer_id)
        except NotInMemory as missing:
            wanted = missing.model_ids
        fetched = await asyncio.gather(
            *(lookups.run(("model", each), partial(snapshots.fetch, tenant_id, each)) for each in wanted)
        )
        at_hand.update(zip(wanted, fetched, strict=True))


async def snapshot_of(tenant_id: UUID, *, snapshots: Snapshots, lookups: SingleFlight) -> Snapshot:
    """The tenant's snapshot, read anew where none is fresh, and meanwhile where one will not be for long."""
    held = snapshots.held(tenant_id)
    if held is not None:
        if snapshots.is_due(tenant_id):
            lookups.begin(("index", tenant_id), partial(snapshots.load, tenant_id))
        return held
    return await lookups.run(("index", tenant_id), partial(snapshots.load, tenant_id))
