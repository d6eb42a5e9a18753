"""The port to one transaction of one tenant, with all its repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from types import TracebackType
    from uuid import UUID

    from services.application.access.ports import (
        KeyRepository,
        SessionRepository,
        SignInNetworkRepository,
        TenantRepository,
        UserRepository,
    )
    from services.application.advice.compression import CompressionHistory
    from services.application.advice.connections import PageLoadRepository
    from services.application.advice.devices import DeviceProfileRepository
    from services.application.billing.ports import (
        CustomerRepository,
        IssuedStatementRepository,
        NegotiatedPriceRepository,
        PriceBookRepository,
        PriceRuleRepository,
        QuoteRepository,
        UsageRefreshRepository,
        UsageRepository,
    )
    from services.application.grid.regions import RegionRepository
    from services.application.limits.caps import LimitRepository
    from services.application.logs.ports import (
        BatchRepository,
        ClosedMonthRepository,
        LinkRepository,
        LogDayRepository,
        MonthSealRepository,
        QuarantineRepository,
        RollupRepository,
        TransferLogRepository,
    )
    from services.application.models.ports import (
        CurveRepository,
        CustomTierRepository,
        EndpointRepository,
        ModelRepository,
        OldReleaseRepository,
        ReleaseDifferenceRepository,
        ReleaseRepository,
        ReleaseWorkRepository,
        SlaTierRepository,
        TierDecisionRepository,
    )
    from services.application.monitoring.metrics import OutcomeRepository
    from services.application.shared.audit import Audit
    from services.application.shared.jobs import Event
    from services.application.transfers.owners import TransferOwners
    from services.application.transfers.repository import TransferRepository
    from services.application.warehouse.ports import (
        DatabaseAccountRepository,
        QueryLogRepository,
        SavedQueryRepository,
    )


class UnitOfWork(Protocol):
    """A transaction of one tenant, open within its block; what is not committed there has not happened.

    A port because the application may not import `services.persistence`, which implements it. Each repository is read
    as an attribute.
    """

    @property
    def tenant_id(self) -> UUID: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def keys(self) -> KeyRepository: ...
    @property
    def tenants(self) -> TenantRepository: ...
    @property
    def users(self) -> UserRepository: ...
    @property
    def user_sessions(self) -> SessionRepository: ...
    @property
    def sign_in_networks(self) -> SignInNetworkRepository: ...
    @property
    def warehouse_logins(self) -> DatabaseAccountRepository: ...
    @property
    def query_log(self) -> QueryLogRepository: ...
    @property
    def saved_queries(self) -> SavedQueryRepository: ...
    @property
    def endpoints(self) -> EndpointRepository: ...
    @property
    def links(self) -> LinkRepository: ...
    @property
    def batches(self) -> BatchRepository: ...
    @property
    def transfers(self) -> TransferLogRepository: ...
    @property
    def quarantine(self) -> QuarantineRepository: ...
    @property
    def closed_months(self) -> ClosedMonthRepository: ...
    @property
    def month_seals(self) -> MonthSealRepository: ...
    @property
    def log_days(self) -> LogDayRepository: ...
    @property
    def rollups(self) -> RollupRepository: ...
    @property
    def releases(self) -> ReleaseRepository: ...
    @property
    def release_differences(self) -> ReleaseDifferenceRepository: ...
    @property
    def release_work(self) -> ReleaseWorkRepository: ...
    @property
    def old_releases(self) -> OldReleaseRepository: ...
    @property
    def models(self) -> ModelRepository: ...
    @property
    def curves(self) -> CurveRepository: ...
    @property
    def custom_tiers(self) -> CustomTierRepository: ...
    @property
    def sla_tiers(self) -> SlaTierRepository: ...
    @property
    def tier_decisions(self) -> TierDecisionRepository: ...
    @property
    def price_books(self) -> PriceBookRepository: ...
    @property
    def price_rules(self) -> PriceRuleRepository: ...
    @property
    def customers(self) -> CustomerRepository: ...
    @property
    def issued_statements(self) -> IssuedStatementRepository: ...
    @property
    def negotiated_prices(self) -> NegotiatedPriceRepository: ...
    @property
    def quotes(self) -> QuoteRepository: ...
    @property
    def usage(self) -> UsageRepository: ...
    @property
    def usage_refresh(self) -> UsageRefreshRepository: ...
    @property
    def limits(self) -> LimitRepository: ...
    @property
    def journal(self) -> TransferRepository: ...
    @property
    def owners(self) -> TransferOwners: ...
    @property
    def outcomes(self) -> OutcomeRepository: ...
    @property
    def compression(self) -> CompressionHistory: ...
    @property
    def page_loads(self) -> PageLoadRepository: ...
    @property
    def regions(self) -> RegionRepository: ...
    @property
    def device_profiles(self) -> DeviceProfileRepository: ...
    def publish(self, event: Event) -> None:
        """Send ``event`` after the commit; it is dropped on rollback."""

    def commit(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
