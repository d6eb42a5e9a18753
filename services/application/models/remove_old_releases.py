"""Old releases go, with the models that no kept release holds: else each refit would leave a model for ever.

An SLA tier lives as long as a kept model has it: a refit continues the tiers of the model in force, which is never
removed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from services.application.shared.events import OldReleasesRemoved, Reporter
from services.application.shared.jobs import RemoveOldReleases
from services.application.shared.unit_of_work import UnitOfWork

MODELS_A_TRANSACTION = 64
"""A model has a lattice of up to 1,500 settings a leaf: so many are removed in a moment."""

TRANSACTIONS_A_JOB = 200
"""A worker goes back to its fits after so many; the next sweep goes on where this one ended."""


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """How many releases, and how many models of links."""

    releases: int = 0
    models: int = 0

    def __add__(self, other: "RemovalResult") -> "RemovalResult":
        return RemovalResult(self.releases + other.releases, self.models + other.models)


@dataclass(frozen=True, slots=True)
class ReleaseRetention:
    """Keeps the newest ``kept`` releases of a tenant and whatever they refer to."""

    unit_of_work: Callable[[UUID], UnitOfWork]
    kept: int
    reporter: Reporter

    def remove(self, job: RemoveOldReleases) -> RemovalResult:
        """Give up at one stroke what is too old, so that nobody returns to half a release; then remove it in parts."""
        with self.unit_of_work(job.tenant_id) as work:
            work.old_releases.expire(self.kept)
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
