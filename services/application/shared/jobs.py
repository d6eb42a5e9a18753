"""Messages to other processes after a commit: jobs for workers, notices for every process.

A job may be lost between commit and publish; the workers' sweep finds the work again in the database.
"""

from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

REQUEST_ID = "request_id"
"""Header of a job with the id of the request that caused it; the id is in every log line of both."""


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
    """Remove the releases of a tenant that are too old."""

    name: ClassVar[str] = "tradewind.remove_old_releases"
    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class ExportLogs:
    """Write the days of a tenant's views that changed since their last export as Parquet."""

    name: ClassVar[str] = "tradewind.export_logs"
    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class ReleaseChanged:
    """Another release of the tenant is current: processes replace their snapshots."""

    tenant_id: UUID
    release_id: int


@dataclass(frozen=True, slots=True)
class KeyChanged:
    """A key was revoked or changed: processes drop it from their caches."""

    tenant_id: UUID
    key_id: UUID


@dataclass(frozen=True, slots=True)
class LimitsChanged:
    """Caps of the tenant changed: processes replace their snapshots."""

    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class PricesChanged:
    """A price book of the tenant was published or withdrawn: processes replace their snapshots."""

    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class EndpointsChanged:
    """Names, aliases or paths of the tenant's endpoints changed: processes replace their snapshots."""

    tenant_id: UUID


Job = RefreshModels | FitLink | RemoveOldReleases | ExportLogs
Notice = ReleaseChanged | KeyChanged | LimitsChanged | PricesChanged | EndpointsChanged
Event = Job | Notice
