"""The store of one process: its connections, and units of work on them."""

from typing import Self
from uuid import UUID

from services.application.billing.negotiate import load_customer_price_list
from services.application.limits.caps import Limits
from services.application.limits.learned_caps import LearnedCaps
from services.application.models.learned_model import StoredModel
from services.application.recommend.snapshot import Index
from services.application.shared.audit import SERVICE, Actor
from services.application.shared.ports import Outbox
from services.persistence.condition import require_ready
from services.persistence.engine import create_pooled_engine, create_unpooled_engine
from services.persistence.patience import Patience
from services.persistence.repositories.access.database_accounts import Reads
from services.persistence.repositories.access.keys import Registry
from services.persistence.repositories.logs.months_of_logs import MonthsOfLogs
from services.persistence.repositories.stored_state import StoredStates
from services.persistence.unit_of_work import UnitOfWork
from tradewind.path import Path


class Store:
    """Opens units of work; close it when the process ends."""

    def __init__(self, database_url: str, outbox: Outbox, patience: Patience | None = None) -> None:
        """Connect when first used; ``patience`` : limits of locks and statements, ``None`` for no limits."""
        self._engine = create_pooled_engine(database_url, patience)
        self._apart = create_unpooled_engine(database_url, patience)
        self._outbox = outbox
        self.registry = Registry(self._engine)
        self.months_of_logs = MonthsOfLogs(self._engine)
        self.reads = Reads(self._engine)
        self.stored_states = StoredStates(self._apart)

    def unit_of_work(self, tenant_id: UUID, actor: Actor = SERVICE) -> UnitOfWork:
        """Return a transaction for the tenant, not started yet; the audit log names ``actor`` for its changes."""
        return UnitOfWork(engine=self._engine, apart=self._apart, tenant_id=tenant_id, outbox=self._outbox, actor=actor)

    def index(self, tenant_id: UUID) -> Index:
        """Return what a tenant's current release holds, without its lattices."""
        with self.unit_of_work(tenant_id) as uow:
            release = uow.releases.find_current()
            models = uow.models.index(release) if release is not None else {}
            keys = {link.id: link.key for link in uow.links.list_all()}
            logged_paths = uow.links.list_logged_paths(without=models.keys())
            endpoints = uow.endpoints.list_all()
            limits, learned_caps = Limits(uow.limits.list_all()), LearnedCaps(uow.limits.list_learned())
            prices, tier_names = load_customer_price_list(release, uow), uow.custom_tiers.list_names()
        aliases = {alias: endpoint.name for endpoint in endpoints for alias in endpoint.aliases}
        known_paths = {
            (endpoint.name, pair.destination): Path(**pair.model_dump(exclude={"destination", "network_energy"}))
            for endpoint in endpoints
            for pair in endpoint.known_pairs
        }
        power_policies = {endpoint.name: endpoint.power_policy for endpoint in endpoints if endpoint.power_policy}
        regions = {endpoint.name: endpoint.region for endpoint in endpoints if endpoint.region}
        indexed = {keys[link_id]: model for link_id, model in models.items()}
        return Index(
            release,
            indexed,
            aliases,
            known_paths,
            limits,
            prices,
            tier_names,
            learned_caps,
            power_policies,
            regions,
            {keys[link_id]: path for link_id, path in logged_paths.items()},
        )

    def model(self, tenant_id: UUID, model_id: UUID) -> StoredModel:
        """Return one model of a tenant."""
        with self.unit_of_work(tenant_id) as uow:
            return uow.models.get(model_id)

    def require_ready(self) -> None:
        """Require a database with a known schema that takes data, however busy requests are.

        Raises
        ------
        Unavailable : with what is missing.
        """
        require_ready(self._apart)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
