"""The entry: answer a request from the snapshot in memory, after fetching what is missing from the store."""

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from uuid import UUID

from services.application.limits.live_shares import LiveUsage
from services.application.models.learned_model import StoredModel
from services.application.recommend.answer import recommend_from_history
from services.application.recommend.model_cache import MAX_LEAVES, ModelCache, NotInMemory
from services.application.recommend.request import PricedRecommendation, TransferRequest
from services.application.recommend.served_model import ServedModel
from services.application.recommend.snapshot import Index, Snapshot
from services.application.recommend.unknown_path import recommend_unknown_path
from services.application.shared.single_flight import SingleFlight
from tradewind.errors import Unavailable
from tradewind.transfer import LinkKey

MAX_PREFETCHED = 200
"""Models that are fetched before a new release serves; those of rarely used links are fetched on demand."""

RENEW_BEFORE_S = 3.0
"""A snapshot in use is read again this long before it expires, while requests still use the old one."""


class _Entry(NamedTuple):
    """``read_s`` : when the index was read. ``until_s`` : until when it serves."""

    snapshot: Snapshot
    read_s: float
    until_s: float


class Snapshots:
    """The snapshot of each tenant, read again when its release changes, and regularly.

    Parameters
    ----------
    load_index : reads the index of a tenant from the store.
    load_model : reads one model of a tenant from the store.
    monotonic : returns seconds of a clock that never goes back.
    capacity : leaves of models in memory, of all tenants together.
    """

    def __init__(
        self,
        load_index: Callable[[UUID], Index],
        load_model: Callable[[UUID, UUID], StoredModel],
        monotonic: Callable[[], float],
        *,
        fresh_for_s: float = 30.0,
        capacity: int = MAX_LEAVES,
    ) -> None:
        self._load_index = load_index
        self._load_model = load_model
        self._monotonic = monotonic
        self._fresh_for_s = fresh_for_s
        self._model_cache = ModelCache(capacity)
        self._entries: dict[UUID, _Entry] = {}
        self._invalidations = 0

    def get_fresh(self, tenant_id: UUID) -> Snapshot | None:
        """Return the tenant's snapshot if there is a fresh one; do not query the database."""
        found = self._entries.get(tenant_id)
        if found is None or found.until_s < self._monotonic():
            return None
        return found.snapshot

    def is_due(self, tenant_id: UUID) -> bool:
        """Return whether the index should be read again now, so that no request will have to wait for it."""
        found = self._entries.get(tenant_id)
        return found is not None and found.read_s + self._fresh_for_s - RENEW_BEFORE_S <= self._monotonic()

    def renew(self, tenant_id: UUID) -> None:
        """Read a new release; the one before serves until the models of the links in use are fetched.

        Where no link is in use, as before the first release, the next request reads it.
        """
        before = self._entries.get(tenant_id)
        used = self._model_cache.list_recently_used(MAX_PREFETCHED)
        in_use = (
            () if before is None else [key for key, model in before.snapshot.index.models.items() if model.id in used]
        )
        if not in_use:
            self.forget(tenant_id)
            return
        self._invalidations += 1  # a read that started before this must not be stored after it
        renewed = self.load(tenant_id, in_use=in_use)
        if self.get_fresh(tenant_id) is not renewed:  # something else changed meanwhile
            self.forget(tenant_id)

    def load(self, tenant_id: UUID, *, in_use: Iterable[LinkKey] = ()) -> Snapshot:
        """Read the index and return its snapshot; this also happens regularly, because notices may be lost.

        While the store is unreachable the previous snapshot serves on: the learned models are still valid. Models of
        links ``in_use`` are fetched before the new index is stored.
        """
        invalidations, requested_s = self._invalidations, self._monotonic()
        try:
            index = self._load_index(tenant_id)
        except Unavailable:
            before = self._entries.get(tenant_id)
            if before is None:
                raise
            return self._store(tenant_id, before.snapshot, self._monotonic())
        schedule = index.prices.schedule(self._monotonic())
        index.prepare()
        for model in (index.models[key] for key in in_use if key in index.models):
            if not self._model_cache.has(model.id):
                self.fetch(tenant_id, model.id)
        before = self._entries.get(tenant_id)
        is_recent = before is not None and requested_s - before.until_s < self._fresh_for_s
        held = before.snapshot.held if before and is_recent else LiveUsage()
        snapshot = Snapshot(index, self._model_cache, held=held, schedule=schedule)
        if self._invalidations != invalidations:  # a release changed meanwhile, perhaps this tenant's
            return snapshot.at(self._monotonic())
        return self._store(tenant_id, snapshot, requested_s)

    def _store(self, tenant_id: UUID, snapshot: Snapshot, read_s: float) -> Snapshot:
        """Store the snapshot with current prices until it expires or prices change."""
        now_s = self._monotonic()
        priced = snapshot.at(now_s)
        until_s = min(read_s + self._fresh_for_s, snapshot.schedule.get_next_start_s(now_s))
        before = self._entries.get(tenant_id)
        self._entries[tenant_id] = _Entry(priced, read_s, until_s)
        if before is not None and before.snapshot.release != priced.release:
            self._model_cache.evict(before.snapshot.index.model_ids - priced.index.model_ids)
        return priced

    def list_capped_scopes(self) -> Mapping[UUID, tuple[Sequence[str], LiveUsage]]:
        """Return the scopes with caps of each tenant in memory, and where to note what live transfers use of them."""
        now_s, entries = self._monotonic(), list(self._entries.items())
        return {
            tenant_id: (entry.snapshot.index.limits.scopes, entry.snapshot.held)
            for tenant_id, entry in entries
            if entry.snapshot.index.limits and now_s <= entry.until_s
        }

    def fetch(self, tenant_id: UUID, model_id: UUID) -> ServedModel:
        """Fetch a model into the cache, and return it, because the cache may evict it before it is used."""
        model = ServedModel.of(self._load_model(tenant_id, model_id))
        self._model_cache.put(model_id, model)
        return model

    def forget(self, tenant_id: UUID) -> None:
        """Read the tenant's index again before it serves next, as after another release or changed names."""
        self._invalidations += 1
        if (before := self._entries.get(tenant_id)) is not None:
            self._entries[tenant_id] = before._replace(until_s=-math.inf)

    def forget_all(self) -> None:
        """Read the index of every tenant again, as after notices may have been missed."""
        self._invalidations += 1
        for tenant_id in list(self._entries):
            self.forget(tenant_id)


async def answer_request(
    request: TransferRequest,
    tenant_id: UUID,
    *,
    snapshots: Snapshots,
    lookups: SingleFlight,
    unknown_path_lock: asyncio.Lock,
    new_transfer_id: Callable[[], UUID],
) -> PricedRecommendation:
    """Recommend, fetching all missing models together until none is missing; other requests are answered meanwhile.

    There are at most two rounds for one release: the link's own model, then those of all neighbours. The request holds
    what it fetched, so that it ends even where other requests evict its models from the cache.

    Parameters
    ----------
    unknown_path_lock : lets one request without history of its own be computed at a time. Each takes as long as a
        hundred others, which are answered between two of them.
    """
    fetched_models: dict[UUID, ServedModel] = {}
    while True:
        snapshot = await get_snapshot(tenant_id, snapshots=snapshots, lookups=lookups)
        if fetched_models:
            snapshot = replace(snapshot, fetched_models=fetched_models)
        try:
            result = recommend_from_history(request, snapshot, new_transfer_id)
            if isinstance(result, PricedRecommendation):
                return result
            async with unknown_path_lock:
                await asyncio.sleep(0)  # while it holds the lock, so that no two follow each other at once
                return recommend_unknown_path(result, snapshot, new_transfer_id)
        except NotInMemory as missing:
            model_ids = missing.model_ids
        fetched = await asyncio.gather(
            *(lookups.run(("model", model_id), partial(snapshots.fetch, tenant_id, model_id)) for model_id in model_ids)
        )
        fetched_models.update(zip(model_ids, fetched, strict=True))


async def get_snapshot(tenant_id: UUID, *, snapshots: Snapshots, lookups: SingleFlight) -> Snapshot:
    """Return the tenant's snapshot; read it again where none is fresh, or in the background where it soon is not."""
    fresh = snapshots.get_fresh(tenant_id)
    if fresh is not None:
        if snapshots.is_due(tenant_id):
            lookups.start(("index", tenant_id), partial(snapshots.load, tenant_id))
        return fresh
    return await lookups.run(("index", tenant_id), partial(snapshots.load, tenant_id))
