"""The release in force as the API holds it: an index of all links, and the models of those that were asked for.

Models never change once stored, so one shelf of them serves every release; what is not on it is fetched when a
recommendation first needs it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from services.application.billing.price_list import NO_PRICES, NO_SCHEDULE, PriceList, PublishedBook, Schedule
from services.application.limits.caps import NO_LIMITS, Limits, Permitted
from services.application.limits.live_shares import LiveUsage
from services.application.models.learned_model import IndexedModel, StoredModel
from services.application.recommend.model_cache import MAX_LEAVES, ModelCache, NotInMemory
from services.application.recommend.neighbours import Neighbourhood, group_by_mover
from services.application.recommend.served_model import ServedModel
from services.application.transfers.sessions import Claim
from tradewind.errors import Unavailable
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.transfer import LinkKey


@dataclass(frozen=True)
class Index:
    """The release in force without its lattices, as the store has it.

    ``aliases`` lead from any other name of an endpoint to its own; ``known_paths`` is what the owners of endpoints say
    of the paths between two, by their own names.
    """

    release: int | None
    models: Mapping[LinkKey, IndexedModel]
    aliases: Mapping[str, str]
    known_paths: Mapping[tuple[str, str], Path] = field(default_factory=dict)
    limits: Limits = NO_LIMITS
    prices: PriceList = NO_PRICES
    tier_names: Mapping[UUID, str] = field(default_factory=dict)

    @cached_property
    def model_ids(self) -> frozenset[UUID]:
        return frozenset(each.id for each in self.models.values())

    def prepare(self) -> None:
        """Make now what searches over all links need, rather than while a request waits for it."""
        _ = self.neighbourhoods, self.by_path

    @cached_property
    def neighbourhoods(self) -> Mapping[str, Neighbourhood]:
        """Leaves to search for neighbours, by mover."""
        return group_by_mover(self.models)

    @cached_property
    def by_path(self) -> Mapping[tuple[str, str, str | None], Sequence[LinkKey]]:
        """The links between two endpoints on a network, in the order of their movers."""
        grouped: dict[tuple[str, str, str | None], list[LinkKey]] = {}
        for key in sorted(self.models, key=attrgetter("mover")):
            grouped.setdefault((key.source, key.destination, key.network), []).append(key)
        return grouped


@dataclass(frozen=True)
class Snapshot:
    """Everything one tenant's recommendations need.

    ``fetched_models`` : models fetched for this request; they count as in memory even after the cache evicts them.
    ``book`` : the current price book; ``schedule`` says when the next one starts.
    ``held`` : what live transfers hold of caps, updated each second, for this snapshot and its successors.
    """

    index: Index
    model_cache: ModelCache = field(default_factory=ModelCache)
    held: LiveUsage = field(default_factory=LiveUsage)
    fetched_models: Mapping[UUID, ServedModel] = field(default_factory=dict)
    schedule: Schedule = NO_SCHEDULE
    book: PublishedBook | None = None

    @property
    def release(self) -> int | None:
        return self.index.release

    def indexed(self, asked: LinkKey) -> IndexedModel | None:
        """The link between two endpoints under any of their names, if it has a model."""
        models = self.index.models
        return models.get(asked) or models.get(LinkKey(*self._own_names(asked), asked.network, asked.mover))

    def models_of_other_movers(self, asked: LinkKey) -> Mapping[LinkKey, IndexedModel]:
        """Models of the same path with other movers than the one asked with, in the order of their names."""
        links = self.index.by_path.get((*self._own_names(asked), asked.network), ())
        return {each: self.index.models[each] for each in links if each.mover != asked.mover}

    def known_path(self, asked: LinkKey) -> Path:
        """What the owner of the source says of the path to the destination."""
        return self.index.known_paths.get(self._own_names(asked), UNKNOWN_PATH)

    def bandwidth(self, asked: LinkKey) -> Path:
        """The path of a link with its bandwidth alone, as the owner of the source or else its logs tell it."""
        told = self.known_path(asked).bandwidth_bps
        if told is None and (indexed := self.indexed(asked)) is not None:
            told = indexed.path.bandwidth_bps
        return UNKNOWN_PATH if told is None else Path(bandwidth_bps=told)

    def permitted(self, asked: LinkKey, weight: float) -> Permitted | None:
        """What the limits leave a transfer between two endpoints, beside those that live; ``None`` without limits."""
        limits = self.index.limits
        return limits.permitted(*self._own_names(asked), held=self.held.now, weight=weight) if limits else None

    def claims(self, asked: LinkKey) -> tuple[Claim, ...]:
        """What a live transfer has to claim its share of."""
        limits = self.index.limits
        return limits.claims(*self._own_names(asked)) if limits else ()

    def _own_names(self, asked: LinkKey) -> tuple[str, str]:
        aliases = self.index.aliases
        return aliases.get(asked.source, asked.source), aliases.get(asked.destination, asked.destination)

    def model(self, indexed: IndexedModel) -> ServedModel:
        """The link's model; raises ``NotInMemory``."""
        return self.fetched_models.get(indexed.id) or self.model_cache.get(indexed.id)

    def require(self, indexed: Iterable[IndexedModel]) -> Mapping[UUID, ServedModel]:
        """All these models by their ids; raises ``NotInMemory`` of all that are missing."""
        models, missing = {}, []
        for model_id in dict.fromkeys(each.id for each in indexed):
            try:
                models[model_id] = self.fetched_models.get(model_id) or self.model_cache.get(model_id)
            except NotInMemory:
                missing.append(model_id)
        if missing:
            raise NotInMemory(missing)
        return models


MOST_AHEAD = 200
"""Models that are fetched before a release serves; those of links that are asked for more rarely come when they are."""

AHEAD_S = 3.0
"""So long before a snapshot has to be read anew it is, if it is used, while those who use it go on."""


class _Held(NamedTuple):
    """``read_s`` : when the index was read; ``until_s`` : until when it serves."""

    snapshot: Snapshot
    read_s: float
    until_s: float


class Snapshots:
    """The snapshot of each tenant, made anew when its release changes or after a while, once the store can tell.

    Parameters
    ----------
    load_index : of a tenant, from the store.
    load_model : one model of a tenant, from the store.
    monotonic : seconds of a clock that never goes back.
    capacity : leaves of models kept in memory, of all tenants together.
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
        self._held: dict[UUID, _Held] = {}
        self._forgotten = 0

    def held(self, tenant_id: UUID) -> Snapshot | None:
        """The tenant's snapshot if there is a fresh one; asks no database."""
        found = self._held.get(tenant_id)
        if found is None or found.until_s < self._monotonic():
            return None
        return found.snapshot

    def is_due(self, tenant_id: UUID) -> bool:
        """Whether the index should be read again, so that nobody will have to wait for it."""
        found = self._held.get(tenant_id)
        return found is not None and found.read_s + self._fresh_for_s - AHEAD_S <= self._monotonic()

    def renew(self, tenant_id: UUID) -> None:
        """Another release is in force: until the models of the links in use are there, the one before serves on.

        Where nothing is in use, as before the first release, it is read when somebody asks.
        """
        before = self._held.get(tenant_id)
        used = self._model_cache.used(MOST_AHEAD)
        in_use = (
            () if before is None else [key for key, each in before.snapshot.index.models.items() if each.id in used]
        )
        if not in_use:
            self.forget(tenant_id)
            return
        self._forgotten += 1  # what somebody else began to read before is not to be held after this
        renewed = self.load(tenant_id, in_use=in_use)
        if self.held(tenant_id) is not renewed:  # something else changed meanwhile
            self.forget(tenant_id)

    def load(self, tenant_id: UUID, *, in_use: Iterable[LinkKey] = ()) -> Snapshot:
        """Read the index again; notices may be lost, so this also happens after a while.

        While the store is away the snapshot from before serves on: what was learned is no worse for it. Models of links
        ``in_use`` are fetched before the index is held.
        """
        forgotten, asked_at = self._forgotten, self._monotonic()
        try:
            index = self._load_index(tenant_id)
        except Unavailable:
            before = self._held.get(tenant_id)
            if before is None:
                raise
            return self._hold(tenant_id, before.snapshot, self._monotonic())
        schedule = index.prices.schedule(self._monotonic())
        index.prepare()
        for model in (index.models[key] for key in in_use if key in index.models):
            if not self._model_cache.has(model.id):
                self.fetch(tenant_id, model.id)
        before = self._held.get(tenant_id)
        is_recent = before is not None and asked_at - before.until_s < self._fresh_for_s
        held = before.snapshot.held if before and is_recent else LiveUsage()
        snapshot = Snapshot(index, self._model_cache, held=held, schedule=schedule)
        if self._forgotten != forgotten:  # another release came into force meanwhile, perhaps of this tenant
            return replace(snapshot, book=schedule.at(self._monotonic()))
        return self._hold(tenant_id, snapshot, asked_at)

    def _hold(self, tenant_id: UUID, snapshot: Snapshot, read_s: float) -> Snapshot:
        """Keep it with the book in force for a while, and no longer than that book is in force."""
        now_s = self._monotonic()
        priced = replace(snapshot, book=snapshot.schedule.at(now_s))
        until_s = min(read_s + self._fresh_for_s, snapshot.schedule.next_s(now_s))
        before = self._held.get(tenant_id)
        self._held[tenant_id] = _Held(priced, read_s, until_s)
        if before is not None and before.snapshot.release != priced.release:
            self._model_cache.give_up(before.snapshot.index.model_ids - priced.index.model_ids)
        return priced

    def capped(self) -> Mapping[UUID, tuple[Sequence[str], LiveUsage]]:
        """Scopes with caps of the tenants at hand, and where to note what live transfers hold of them."""
        now_s, held = self._monotonic(), list(self._held.items())
        return {
            tenant_id: (each.snapshot.index.limits.scopes, each.snapshot.held)
            for tenant_id, each in held
            if each.snapshot.index.limits and now_s <= each.until_s
        }

    def fetch(self, tenant_id: UUID, model_id: UUID) -> ServedModel:
        """Put a model on the shelf, and return it, because the shelf may give it up before it is asked for."""
        model = ServedModel.of(self._load_model(tenant_id, model_id))
        self._model_cache.put(model_id, model)
        return model

    def forget(self, tenant_id: UUID) -> None:
        """Another release is in force, or names have changed: what is held is read again before it serves."""
        self._forgotten += 1
        if (before := self._held.get(tenant_id)) is not None:
            self._held[tenant_id] = before._replace(until_s=-math.inf)

    def forget_all(self) -> None:
        """The same of all tenants, as after notices may have been missed."""
        self._forgotten += 1
        for tenant_id in list(self._held):
            self.forget(tenant_id)
