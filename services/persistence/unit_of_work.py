"""One transaction for one tenant: what it may see, what it changes, and what is sent once it has committed."""

from functools import cached_property
from types import TracebackType
from typing import Self
from uuid import UUID

import psycopg
from sqlalchemy import Connection, Engine, text

from services.application.shared.audit import SERVICE, Actor, ActorKind
from services.application.shared.jobs import Event
from services.application.shared.ports import Outbox
from services.persistence.bulk_copy import TransferCopy
from services.persistence.failures import to_conflict, to_unavailable, translate_failures
from services.persistence.month_partitions import MonthPartitions
from services.persistence.repositories.access.audit import AuditLog
from services.persistence.repositories.access.database_accounts import DatabaseAccounts
from services.persistence.repositories.access.keys import Keys
from services.persistence.repositories.access.sign_in_networks import SignInNetworks
from services.persistence.repositories.access.submissions import Submissions
from services.persistence.repositories.access.tenants import Tenants
from services.persistence.repositories.access.users import Users, UserSessions
from services.persistence.repositories.advice.compression import CompressionObservations
from services.persistence.repositories.advice.device_profiles import DeviceProfiles
from services.persistence.repositories.advice.page_loads import PageLoads
from services.persistence.repositories.billing.customers import Customers
from services.persistence.repositories.billing.issued_statements import IssuedStatements
from services.persistence.repositories.billing.negotiated_prices import NegotiatedPricesOfTenant
from services.persistence.repositories.billing.price_books import PriceBooks
from services.persistence.repositories.billing.price_rules import PriceRules
from services.persistence.repositories.billing.quotes import Quotes
from services.persistence.repositories.billing.usage import Usage
from services.persistence.repositories.billing.usage_refresh import UsageRefresh
from services.persistence.repositories.endpoints import Endpoints
from services.persistence.repositories.limits import LimitsOfTenant
from services.persistence.repositories.links import Links
from services.persistence.repositories.logs.batches import Batches, Quarantine
from services.persistence.repositories.logs.curves import Curves
from services.persistence.repositories.logs.log_days import LogDays
from services.persistence.repositories.logs.months_of_logs import ClosedMonths, MonthSeals
from services.persistence.repositories.logs.outcomes import Outcomes
from services.persistence.repositories.logs.rollups import Rollups
from services.persistence.repositories.models.custom_tiers import CustomTiers
from services.persistence.repositories.models.models import Models
from services.persistence.repositories.models.old_releases import OldReleases
from services.persistence.repositories.models.release_differences import ReleaseDifferences
from services.persistence.repositories.models.release_work import ReleaseWork
from services.persistence.repositories.models.releases import Releases
from services.persistence.repositories.models.sla_tiers import SlaTiers
from services.persistence.repositories.models.tier_decisions import TierDecisions
from services.persistence.repositories.query_log import QueryLogs
from services.persistence.repositories.regions import Regions
from services.persistence.repositories.saved_queries import SavedQueries
from services.persistence.repositories.transfers.stored import Transfers
from services.persistence.repositories.transfers.transfer_owners import TransferOwners

# Durable when acknowledged, whatever the server's default.
_BEGIN = text("SELECT set_config('tradewind.tenant', :tenant, true), set_config('synchronous_commit', 'on', true)")


class UnitOfWork:
    """A transaction of one tenant; without ``commit`` everything is undone and nothing is sent.

    Parameters
    ----------
    engine : connects as the application's role.
    apart : engine for statements that must not wait for, or be undone with, this transaction.
    actor : on whose behalf the changes are made.
    """

    def __init__(
        self, *, engine: Engine, apart: Engine, tenant_id: UUID, outbox: Outbox, actor: Actor = SERVICE
    ) -> None:
        self.tenant_id = tenant_id
        self._actor = actor
        self._engine = engine
        self._apart = apart
        self._outbox = outbox
        self._events: list[Event] = []
        self._open: Connection | None = None

    def __enter__(self) -> Self:
        with translate_failures():
            self._open = self._engine.connect()
            self.connection.execute(_BEGIN, {"tenant": str(self.tenant_id)})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if "transfers" in vars(self):
            self.transfers.close()
        connection, self._open = self.connection, None
        self._events.clear()
        with translate_failures():
            connection.close()
        if error is not None and (translated := to_unavailable(error) or to_conflict(error)) is not None:
            raise translated from error

    @property
    def connection(self) -> Connection:
        """The open transaction; the tenant is set in it."""
        assert self._open is not None, "the unit of work is not open"
        return self._open

    def publish(self, event: Event) -> None:
        """Send ``event`` after the commit; it is dropped on rollback."""
        self._events.append(event)

    def commit(self) -> None:
        """Make the changes durable, then send the published events."""
        with translate_failures():
            self.connection.commit()
        events, self._events = self._events, []
        for event in events:
            self._outbox.send(event)

    @cached_property
    def audit(self) -> AuditLog:
        return AuditLog(self.connection, self.tenant_id, self._actor)

    @cached_property
    def outcomes(self) -> Outcomes:
        return Outcomes(self.connection)

    @cached_property
    def log_days(self) -> LogDays:
        return LogDays(self.connection, self.tenant_id)

    @cached_property
    def closed_months(self) -> ClosedMonths:
        return ClosedMonths(self.connection)

    @cached_property
    def month_seals(self) -> MonthSeals:
        return MonthSeals(self.connection, self.tenant_id)

    @cached_property
    def release_differences(self) -> ReleaseDifferences:
        return ReleaseDifferences(self.connection)

    @cached_property
    def rollups(self) -> Rollups:
        return Rollups(self.connection, self.tenant_id)

    @cached_property
    def users(self) -> Users:
        return Users(self.connection, self.tenant_id)

    @cached_property
    def sign_in_networks(self) -> SignInNetworks:
        return SignInNetworks(self.connection, self.tenant_id)

    @cached_property
    def user_sessions(self) -> UserSessions:
        return UserSessions(self.connection, self.tenant_id)

    @cached_property
    def batches(self) -> Batches:
        return Batches(self.connection, self.tenant_id, self._key_id)

    @cached_property
    def quarantine(self) -> Quarantine:
        return Quarantine(self.connection, self.tenant_id)

    @cached_property
    def links(self) -> Links:
        return Links(self.connection, self.tenant_id, self._key_id)

    @cached_property
    def limits(self) -> LimitsOfTenant:
        return LimitsOfTenant(self.connection, self.tenant_id)

    @cached_property
    def price_books(self) -> PriceBooks:
        return PriceBooks(self.connection, self.tenant_id)

    @cached_property
    def price_rules(self) -> PriceRules:
        return PriceRules(self.connection, self.tenant_id)

    @cached_property
    def customers(self) -> Customers:
        return Customers(self.connection, self.tenant_id)

    @cached_property
    def issued_statements(self) -> IssuedStatements:
        return IssuedStatements(self.connection, self.tenant_id, self._actor)

    @cached_property
    def negotiated_prices(self) -> NegotiatedPricesOfTenant:
        return NegotiatedPricesOfTenant(self.connection, self.tenant_id)

    @cached_property
    def custom_tiers(self) -> CustomTiers:
        return CustomTiers(self.connection, self.tenant_id)

    @cached_property
    def submissions(self) -> Submissions:
        return Submissions(self.connection, self.tenant_id)

    @cached_property
    def tier_decisions(self) -> TierDecisions:
        return TierDecisions(self.connection, self.tenant_id)

    @cached_property
    def quotes(self) -> Quotes:
        return Quotes(self.connection, self.tenant_id, self._build_partitions("quotes"))

    @cached_property
    def usage(self) -> Usage:
        return Usage(self.connection, self.month_seals)

    @cached_property
    def usage_refresh(self) -> UsageRefresh:
        return UsageRefresh(self.connection, self.tenant_id)

    @cached_property
    def page_loads(self) -> PageLoads:
        return PageLoads(self.connection, self.tenant_id, self._key_id)

    @cached_property
    def query_log(self) -> QueryLogs:
        return QueryLogs(self.connection, self.tenant_id)

    @cached_property
    def saved_queries(self) -> SavedQueries:
        return SavedQueries(self.connection, self.tenant_id)

    @cached_property
    def sla_tiers(self) -> SlaTiers:
        return SlaTiers(self.connection)

    @cached_property
    def endpoints(self) -> Endpoints:
        return Endpoints(self.connection, self.tenant_id)

    @cached_property
    def regions(self) -> Regions:
        return Regions(self.connection, self.tenant_id)

    @cached_property
    def keys(self) -> Keys:
        return Keys(self.connection, self.tenant_id)

    @cached_property
    def device_profiles(self) -> DeviceProfiles:
        return DeviceProfiles(self.connection, self.tenant_id)

    @cached_property
    def tenants(self) -> Tenants:
        return Tenants(self.connection, self.tenant_id)

    @cached_property
    def releases(self) -> Releases:
        return Releases(self.connection, self.tenant_id)

    @cached_property
    def release_work(self) -> ReleaseWork:
        return ReleaseWork(self.connection, self.tenant_id)

    @cached_property
    def old_releases(self) -> OldReleases:
        return OldReleases(self.connection, self.tenant_id)

    @cached_property
    def models(self) -> Models:
        return Models(self.connection, self.tenant_id)

    @cached_property
    def compression(self) -> CompressionObservations:
        return CompressionObservations(self.connection, self.tenant_id, self._key_id)

    @cached_property
    def curves(self) -> Curves:
        return Curves(self.connection, self.tenant_id)

    @cached_property
    def warehouse_logins(self) -> DatabaseAccounts:
        return DatabaseAccounts(self.connection, self.tenant_id)

    @cached_property
    def transfers(self) -> TransferCopy:
        driver = self.connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        return TransferCopy(driver, self.tenant_id, self._build_partitions("transfer_logs"))

    @cached_property
    def journal(self) -> Transfers:
        partitions = self._build_partitions("transfer_samples")
        return Transfers(self.connection, self.tenant_id, self.closed_months, partitions, self._key_id)

    @cached_property
    def owners(self) -> TransferOwners:
        return TransferOwners(self.connection, self.tenant_id, self._key_id)

    @property
    def _key_id(self) -> UUID | None:
        """The key that acts, where a program does."""
        return self._actor.id if self._actor.kind is ActorKind.KEY else None

    def _build_partitions(self, table: str) -> MonthPartitions:
        return MonthPartitions(self.connection, self._apart, table)
