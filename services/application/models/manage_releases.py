"""Put a release in force, an earlier one or one that was put aside: at one stroke, with a notice to every process."""

from services.application.shared.jobs import ReleaseChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork


def roll_back(release_id: int, *, uow: UnitOfWork) -> int:
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


def publish_anyway(release_id: int, *, reason: str, uow: UnitOfWork, clock: Clock) -> None:
    """Put a release in force that was rejected or rolled back; the log of changes keeps why.

    Raises
    ------
    NotFound : the tenant has no such release.
    Conflict : it is in force already, is still being built, or only a way back leads to it.
    """
    before = uow.releases.current()
    uow.releases.publish_anyway(release_id, clock.now())
    uow.audit.note("release.published", f"release {release_id}", instead_of=before, reason=reason)
    uow.publish(ReleaseChanged(uow.tenant_id, release_id))
    uow.commit()
