"""The current release in memory: an index of all links, and a cache of the models in use.

Models never change once stored, so one cache serves every release; `lookup` fetches a missing model when a
recommendation first needs it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Self
from uuid import UUID

from services.application.billing.price_list import (
    NO_PRICES,
    NO_SCHEDULE,
    CustomerPrices,
    PriceList,
    PublishedBook,
    Schedule,
)
from services.application.limits.caps import NO_LIMITS, EffectiveCaps, Limits
from services.application.limits.learned_caps import NOTHING_LEARNED, LearnedCaps
from services.application.limits.live_shares import LiveUsage
from services.application.models.learned_model import IndexedModel
from services.application.recommend.model_cache import ModelCache, NotInMemory
from services.application.recommend.neighbours import Neighbourhood, group_by_mover
from services.application.recommend.served_model import ServedModel
from services.application.transfers.sessions import CapClaim
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.sla.kinds import EnergyBasis, Sla
from tradewind.sla.power_policy import PowerPolicy, choose_energy_basis
from tradewind.tiers.setting_table import SettingTable
from tradewind.transfer import LinkKey


@dataclass(frozen=True)
class Index:
    """The current release without its lattices, as read from the store.

    ``aliases`` : from any other name of an endpoint to its own. ``known_paths`` : what the owners of endpoints declare
    of the path between two endpoints, by their own names. ``power_policies``, ``regions`` : of endpoints that have one.
    ``logged_paths`` : what the newest log of a link without a model states of its path.
    """

    release: int | None
    models: Mapping[LinkKey, IndexedModel]
    aliases: Mapping[str, str]
    known_paths: Mapping[tuple[str, str], Path] = field(default_factory=dict)
    limits: Limits = NO_LIMITS
    prices: PriceList = NO_PRICES
    tier_names: Mapping[UUID, str] = field(default_factory=dict)
    learned_caps: LearnedCaps = NOTHING_LEARNED
    power_policies: Mapping[str, PowerPolicy] = field(default_factory=dict)
    regions: Mapping[str, str] = field(default_factory=dict)
    logged_paths: Mapping[LinkKey, Path] = field(default_factory=dict)

    @cached_property
    def model_ids(self) -> frozenset[UUID]:
        return frozenset(model.id for model in self.models.values())

    def prepare(self) -> None:
        """Build what searches over all links need now, rather than while a request waits for it."""
        _ = self.neighbourhoods, self.by_path

    @cached_property
    def neighbourhoods(self) -> Mapping[str, Neighbourhood]:
        """Leaves to search for neighbours, by mover."""
        return group_by_mover(self.models)

    @cached_property
    def by_path(self) -> Mapping[tuple[str, str, str | None], Sequence[LinkKey]]:
        """The links between two endpoints on a network, sorted by mover."""
        grouped: dict[tuple[str, str, str | None], list[LinkKey]] = {}
        for key in sorted(self.models, key=attrgetter("mover")):
            grouped.setdefault((key.source, key.destination, key.network), []).append(key)
        return grouped


@dataclass(frozen=True)
class Snapshot:
    """Everything that one tenant's recommendations need.

    ``fetched_models`` : models fetched for this request; they count as in memory even after the cache evicts them.
    ``book`` : the current price book; ``schedule`` says when the next one starts.
    ``negotiated`` : current negotiated prices by customer.
    ``held`` : what live transfers hold of caps, updated each second, for this snapshot and its successors.
    """

    index: Index
    model_cache: ModelCache = field(default_factory=ModelCache)
    held: LiveUsage = field(default_factory=LiveUsage)
    fetched_models: Mapping[UUID, ServedModel] = field(default_factory=dict)
    schedule: Schedule = NO_SCHEDULE
    book: PublishedBook | None = None
    negotiated: Mapping[UUID, CustomerPrices] = field(default_factory=dict)

    @property
    def release(self) -> int | None:
        return self.index.release

    def find_link(self, key: LinkKey) -> IndexedModel | None:
        """Return the link between two endpoints under any of their names, if it has a model."""
        models = self.index.models
        return models.get(key) or models.get(LinkKey(*self._own_names(key), key.network, key.mover))

    def list_models_of_other_movers(self, key: LinkKey) -> Mapping[LinkKey, IndexedModel]:
        """Return models of the same path with other movers than the requested one, sorted by mover."""
        links = self.index.by_path.get((*self._own_names(key), key.network), ())
        return {link: self.index.models[link] for link in links if link.mover != key.mover}

    def find_known_path(self, key: LinkKey) -> Path:
        """Return what the owner of the source declares of the path to the destination."""
        return self.index.known_paths.get(self._own_names(key), UNKNOWN_PATH)

    def find_logged_path(self, key: LinkKey) -> Path:
        """Return what the newest log of a link without a model states of its path."""
        logged = self.index.logged_paths
        own = LinkKey(*self._own_names(key), key.network, key.mover)
        return logged.get(key) or logged.get(own, UNKNOWN_PATH)

    def find_known_bandwidth(self, key: LinkKey) -> Path:
        """Return a path with the link's bandwidth alone, declared by the owner of the source or else from its logs."""
        bandwidth_bps = self.find_known_path(key).bandwidth_bps
        if bandwidth_bps is None and (indexed := self.find_link(key)) is not None:
            bandwidth_bps = indexed.path.bandwidth_bps
        return UNKNOWN_PATH if bandwidth_bps is None else Path(bandwidth_bps=bandwidth_bps)

    def settle_basis(self, sla: Sla, key: LinkKey, tables: Iterable[SettingTable] = ()) -> Sla:
        """Return an SLA with a named energy basis: without one, that of the power policies of both endpoints.

        Where the tables that answer do not know dynamic energy, the total counts unless somebody names another basis.
        """
        if not sla.has_default_basis:
            return sla
        basis = choose_energy_basis(map(self.index.power_policies.get, self._own_names(key)))
        is_known = all(table.knows_power and table.base_power_w is not None for table in tables)
        return sla.with_basis(basis if is_known else EnergyBasis.TOTAL)

    def find_regions(self, key: LinkKey) -> tuple[str | None, str | None]:
        """Return the electricity regions of both endpoints; ``None`` where one is unknown."""
        if not self.index.regions:
            return None, None
        source, destination = self._own_names(key)
        return self.index.regions.get(source), self.index.regions.get(destination)

    def compute_permitted_caps(self, key: LinkKey, weight: float) -> EffectiveCaps | None:
        """Return the caps that limits and live transfers leave for a new transfer; ``None`` without limits."""
        limits = self.index.limits
        return limits.compute_permitted(*self._own_names(key), held=self.held.now, weight=weight) if limits else None

    def find_learned_streams(self, key: LinkKey, key_id: UUID | None) -> int | None:
        """Return the streams that the servers of both ends permit, as agents have learned; ``None`` if unknown."""
        return self.index.learned_caps.find_streams(self._own_names(key), key_id)

    def find_negotiated(self, key_id: UUID | None) -> CustomerPrices | None:
        """Return the prices that are negotiated with the customer of a key."""
        if not self.negotiated or key_id is None:
            return None
        customer_id = self.index.prices.holders.get(key_id)
        return None if customer_id is None else self.negotiated.get(customer_id)

    def at(self, now_s: float) -> Self:
        """Return the same with the prices that are current at a monotonic time, s."""
        return replace(self, book=self.schedule.at(now_s), negotiated=self.schedule.list_negotiated(now_s))

    def list_claims(self, key: LinkKey) -> tuple[CapClaim, ...]:
        """Return the caps that a live transfer has to claim a share of."""
        limits = self.index.limits
        return limits.list_claims(*self._own_names(key)) if limits else ()

    def _own_names(self, key: LinkKey) -> tuple[str, str]:
        aliases = self.index.aliases
        return aliases.get(key.source, key.source), aliases.get(key.destination, key.destination)

    def get_model(self, indexed: IndexedModel) -> ServedModel:
        """Return the link's model; raise ``NotInMemory``."""
        return self.fetched_models.get(indexed.id) or self.model_cache.get(indexed.id)

    def get_models(self, indexed: Iterable[IndexedModel]) -> Mapping[UUID, ServedModel]:
        """Return all these models by their ids; raise ``NotInMemory`` with all that are missing."""
        models, missing = {}, []
        for model_id in dict.fromkeys(model.id for model in indexed):
            try:
                models[model_id] = self.fetched_models.get(model_id) or self.model_cache.get(model_id)
            except NotInMemory:
                missing.append(model_id)
        if missing:
            raise NotInMemory(missing)
        return models
