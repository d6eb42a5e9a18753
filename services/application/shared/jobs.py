"""What is asked of other processes once a transaction has committed: jobs for workers, notices for every process.

Jobs may be lost between commit and publish; the workers' sweep finds the work again from the database.
"""

from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

REQUEST_ID = "request_id"
"""Of the request that a job goes back to: it stands in every log line of both, and travels beside the job."""


@dataclass(frozen=True, slots=True)
class RefreshModels:
    """Fit the links of a tenant that have new logs, and publish them as a release."""

    name: ClassVar[str] = "tradewind.refresh_models"
    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class FitLink:
    """Fit one link of a release that is being built."""

    name: ClassVar[str] = "tradewind.fit_link"
    tenant_id: UUID
    release_id: int
    link_id: UUID


@dataclass(frozen=True, slots=True)
class RemoveOldReleases:
    """Remove the releases of a tenant that are too old to be kept."""

    name: ClassVar[str] = "tradewind.remove_old_releases"
    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class ExportLogs:
    """Write the days of a tenant's views as Parquet that have changed since they were written."""

    name: ClassVar[str] = "tradewind.export_logs"
    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class ReleaseChanged:
    """Another release of the tenant is in force: snapshots in memory are to be replaced."""

    tenant_id: UUID
    release_id: int


@dataclass(frozen=True, slots=True)
class KeyChanged:
    """A key was revoked or changed: it may no longer be honoured from any cache."""

    tenant_id: UUID
    key_id: UUID


@dataclass(frozen=True, slots=True)
class LimitsChanged:
    """Caps of the tenant have changed: snapshots in memory are to be replaced."""

    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class PricesChanged:
    """A price book of the tenant was published or withdrawn: snapshots in memory are to be replaced."""

    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class EndpointsChanged:
    """Names, aliases or paths of the tenant's endpoints have changed: snapshots in memory are to be replaced."""

    tenant_id: UUID


Job = RefreshModels | FitLink | RemoveOldReleases | ExportLogs
Notice = ReleaseChanged | KeyChanged | LimitsChanged | PricesChanged | EndpointsChanged
Event = Job | Notice
