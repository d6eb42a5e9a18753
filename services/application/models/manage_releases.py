"""Make another release current, an earlier or an abandoned one, in one transaction and with a notice to processes."""

from services.application.shared.jobs import ReleaseChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork


def roll_back(release_id: int, *, uow: UnitOfWork) -> int:
    """Roll back a release to the one before it; return the id of the release that is current then.

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
    """Publish a release that was rejected or rolled back; the audit log stores the reason.

    Raises
    ------
    NotFound : the tenant has no such release.
    Conflict : it is current already, is still being built, or can only be reached by a rollback.
    """
    before = uow.releases.find_current()
    uow.releases.publish_anyway(release_id, clock.now())
    uow.audit.note("release.published", f"release {release_id}", instead_of=before, reason=reason)
    uow.publish(ReleaseChanged(uow.tenant_id, release_id))
    uow.commit()
