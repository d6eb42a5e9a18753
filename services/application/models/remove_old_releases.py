"""Remove old releases, and the models that no remaining release has; otherwise each refit would leave a model.

An SLA tier lives as long as a stored model has it: a refit continues the tiers of the current model, which is never
removed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from services.application.shared.events import OldReleasesRemoved, Reporter
from services.application.shared.jobs import RemoveOldReleases
from services.application.shared.unit_of_work import UnitOfWork

MODELS_A_TRANSACTION = 64
"""Models removed in one transaction; a model has up to 1,500 settings a leaf, so this takes a moment."""

TRANSACTIONS_A_JOB = 200
"""A worker returns to its fits after this many; the next sweep continues where this one ended."""


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """Counts of removed releases and models."""

    releases: int = 0
    models: int = 0

    def __add__(self, other: "RemovalResult") -> "RemovalResult":
        return RemovalResult(self.releases + other.releases, self.models + other.models)


@dataclass(frozen=True, slots=True)
class ReleaseRetention:
    """Removes all but the newest ``retained`` releases of a tenant and what they refer to."""

    unit_of_work: Callable[[UUID], UnitOfWork]
    retained: int
    reporter: Reporter

    def remove(self, job: RemoveOldReleases) -> RemovalResult:
        """Expire old releases in one transaction, so that none can be rolled back to; then remove them in parts."""
        with self.unit_of_work(job.tenant_id) as work:
            work.old_releases.expire(self.retained)
            work.commit()
        total = RemovalResult()
        for _ in range(TRANSACTIONS_A_JOB):
            with self.unit_of_work(job.tenant_id) as work:
                removed = work.old_releases.remove_some(MODELS_A_TRANSACTION)
                work.commit()
            if removed == RemovalResult():
                break
            total += removed
        if total != RemovalResult():
            event = OldReleasesRemoved(tenant_id=job.tenant_id, releases=total.releases, models=total.models)
            self.reporter.report(event)
        return total
