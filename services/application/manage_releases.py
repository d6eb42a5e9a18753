"""Put releases in force: at one stroke, with a notice to every process."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from services.application.jobs import Event, ReleaseChanged
from services.application.ports import Clock


class Releases(Protocol):
    def publish(self, release_id: int, gate: Mapping[str, Any], at: datetime) -> None: ...
    def roll_back(self, release_id: int) -> int: ...


class ReleaseUnitOfWork(Protocol):
    """An open transaction of the tenant whose releases are managed."""

    @property
    def tenant_id(self) -> UUID: ...
    @property
    def releases(self) -> Releases: ...
    def publish(self, event: Event) -> None: ...
    def commit(self) -> None: ...


def publish_release(release_id: int, gate: Mapping[str, Any], *, uow: ReleaseUnitOfWork, clock: Clock) -> None:
    """Make a complete release current; ``gate`` says on which grounds.

    Raises
    ------
    Conflict : links are pending, or the release it was built on is no longer current.
    """
    uow.releases.publish(release_id, gate, clock.now())
    uow.publish(ReleaseChanged(uow.tenant_id, release_id))
    uow.commit()


def roll_back(release_id: int, *, uow: ReleaseUnitOfWork) -> int:
    """Return to the release before the current one, or to an earlier one that is named; its id.

    Raises
    ------
    NotFound : the tenant has no such release.
    Conflict : there is nothing to return to.
    """
    current = uow.releases.roll_back(release_id)
    uow.publish(ReleaseChanged(uow.tenant_id, current))
    uow.commit()
    return current
