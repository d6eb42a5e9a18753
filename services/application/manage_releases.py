"""Put an earlier release in force again: at one stroke, with a notice to every process."""

from typing import Protocol
from uuid import UUID

from services.application.audit import Audit
from services.application.jobs import Event, ReleaseChanged


class Releases(Protocol):
    def roll_back(self, release_id: int) -> int: ...


class ReleaseUnitOfWork(Protocol):
    """An open transaction of the tenant whose releases are managed."""

    @property
    def tenant_id(self) -> UUID: ...
    @property
    def releases(self) -> Releases: ...
    @property
    def audit(self) -> Audit: ...
    def publish(self, event: Event) -> None: ...
    def commit(self) -> None: ...


def roll_back(release_id: int, *, uow: ReleaseUnitOfWork) -> int:
    """Return to the release before the current one, or to an earlier one that is named; its id.

    Raises
    ------
    NotFound : the tenant has no such release.
    Conflict : there is nothing to return to.
    """
    current = uow.releases.roll_back(release_id)
    uow.audit.note("release.rolled_back", f"release {release_id}", now_in_force=current)
    uow.publish(ReleaseChanged(uow.tenant_id, current))
    uow.commit()
    return current
