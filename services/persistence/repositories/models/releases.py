"""Releases, made current and rolled back atomically."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, and_, case, func, literal, null, or_, select, true, update
from sqlalchemy.dialects.postgresql import insert as insert_or_skip

from services.application.models.gate import REFIT_AFTER, REFIT_PART
from services.application.models.learned_model import StoredRelease
from services.persistence.repositories.models.release_work import ReleaseWork
from services.persistence.tables import clusters, current_releases, links, release_links, releases
from tradewind.errors import Conflict, NotFound

_UNKNOWN = "no such release: there never was one, or it is too old to be kept"
ASIDE = ("rejected", "rolled_back")
_WHY_NOT = {
    "published": "this release is current already",
    "superseded": "this release was current before: roll back to it",
    "building": "this release is still being built; it becomes current once all its links are fitted",
}
_IS_RETAINED = releases.c.state != "expired"


class Releases:
    """Releases of one tenant; at most one is being built, and at most one is current."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def find_current(self) -> int | None:
        """Return the current release."""
        return self._connection.execute(select(current_releases.c.release_id)).scalar_one_or_none()

    def publish(self, release_id: int, gate: Mapping[str, Any], at: datetime) -> datetime:
        """Make a complete release current; doing so again is harmless.

        Returns
        -------
        When it was started.

        Raises
        ------
        NotFound : the tenant has no such release.
        Conflict : links are pending, or the release it was built on is no longer current.
        """
        current = self._lock_current()
        release = self._lock_known(release_id)
        started_at: datetime = release.created_at
        if release.state == "published":
            return started_at
        if release.state != "building":
            raise Conflict(f"release {release_id} is {release.state}")
        if not ReleaseWork(self._connection, self._tenant_id).is_complete(release_id):
            raise Conflict(f"release {release_id} has links that are not fitted yet")
        if current != release.parent_id:
            raise Conflict(f"release {release_id} was built on {release.parent_id}, but {current} is current")
        if current is not None:
            self._set_state(releases.c.id == current, "superseded")
        self._connection.execute(
            update(releases)
            .where(releases.c.id == release_id)
            .values(state="published", published_at=at, gate=dict(gate))
        )
        self._make_current(release_id)
        self._mark_fitted(release_id, at)
        return started_at

    def with_model(self, link_id: UUID, model_id: UUID, *, built_on: int, at: datetime, why: str, refits: bool) -> int:
        """Make current a release that differs from the current one in the model of one link; return its id.

        A release that is being built then has lost its base, and is started again.

        Parameters
        ----------
        why : description of the release in place of the gate's outcomes.
        refits : whether the model is of the link's newest fit, so that the reason for having none no longer holds.

        Raises
        ------
        Conflict : another release is current than the one it is built on.
        """
        if self._lock_current() != built_on:
            raise Conflict(f"release {built_on} is no longer current; look again")
        release_id: int = self._connection.execute(
            insert_or_skip(releases)
            .values(
                tenant_id=self._tenant_id,
                state="published",
                created_at=at,
                published_at=at,
                parent_id=built_on,
                gate={why: 1},
            )
            .returning(releases.c.id)
        ).scalar_one()
        held = release_links.c
        model = case((held.link_id == link_id, literal(model_id)), else_=held.link_model_id)
        reason = case((and_(held.link_id == link_id, literal(refits)), null()), else_=held.reason).label("reason")
        copied = (held.tenant_id, held.link_id, held.state, reason, held.verdict, held.logs_version)
        self._connection.execute(
            insert_or_skip(release_links).from_select(
                ["release_id", "link_model_id", *(column.name for column in copied)],
                select(literal(release_id), model, *copied).where(held.release_id == built_on),
            )
        )
        self._set_state(releases.c.id == built_on, "superseded")
        self._make_current(release_id)
        return release_id

    def abandon(self, release_id: int, gate: Mapping[str, Any]) -> None:
        """Reject a release whose base was rolled back; the next one fits its links again."""
        self._connection.execute(
            update(releases)
            .where(releases.c.id == release_id, releases.c.state == "building")
            .values(state="rejected", gate=dict(gate))
        )

    def roll_back(self, release_id: int) -> int:
        """Return from the current release to its parent, or to a given earlier release.

        Returns
        -------
        The release that is current now.

        Raises
        ------
        NotFound : the tenant has no such release, or it is removed.
        Conflict : there is no earlier release, or the given one was never published or was rolled back.
        """
        current = self._lock_current()
        release = self._lock_known(release_id)
        target = release.parent_id if release_id == current else release_id
        if current is None or target is None or self._lock(target) is None:
            raise Conflict(f"there is no release before {release_id} that is still kept")
        if release_id != current and release.state != "superseded":
            raise Conflict(f"release {release_id} is {release.state}")
        self._set_state(
            or_(releases.c.id == current, and_(releases.c.id > target, releases.c.state == "superseded")),
            "rolled_back",
        )
        self._set_state(releases.c.id == target, "published")
        self._make_current(target)
        return int(target)

    def publish_anyway(self, release_id: int, at: datetime) -> None:
        """Make a rejected or rolled-back release current; going back leads to the one that was current until now.

        Raises
        ------
        NotFound : the tenant has no such release.
        Conflict : it is current, superseded, or still being built.
        """
        current = self._lock_current()
        release = self._lock_known(release_id)
        if release.state not in ASIDE:
            raise Conflict(_WHY_NOT.get(release.state, f"release {release_id} is {release.state}"))
        if not ReleaseWork(self._connection, self._tenant_id).is_complete(release_id):
            raise Conflict(f"release {release_id} has links that were never fitted")
        if current is not None:
            self._set_state(releases.c.id == current, "superseded")
        self._connection.execute(
            update(releases)
            .where(releases.c.id == release_id)
            .values(state="published", published_at=at, parent_id=current)
        )
        self._make_current(release_id)

    def get(self, release_id: int) -> StoredRelease:
        """Return the release.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        found = self._read_releases(releases.c.id == release_id)
        if not found:
            raise NotFound(_UNKNOWN)
        return found[0]

    def list_page(self, *, limit: int, before: int | None = None) -> Sequence[StoredRelease]:
        """Return at most ``limit`` releases older than the release ``before``, the newest first."""
        older = () if before is None else (releases.c.id < before,)
        return self._read_releases(*older, limit=limit)

    def _read_releases(self, *conditions: Any, limit: int | None = None) -> Sequence[StoredRelease]:
        chosen = (
            select(releases).where(_IS_RETAINED, *conditions).order_by(releases.c.id.desc()).limit(limit).subquery()
        )
        contents = (
            select(
                func.count(release_links.c.link_model_id.distinct()).label("links"),
                func.count(clusters.c.id).label("clusters"),
            )
            .select_from(release_links)
            .outerjoin(clusters, clusters.c.link_model_id == release_links.c.link_model_id)
            .where(release_links.c.release_id == chosen.c.id)
            .lateral()
        )
        query = (
            select(
                chosen,
                contents.c.links,
                contents.c.clusters,
                current_releases.c.release_id.is_not(None).label("current"),
            )
            .select_from(chosen)
            .join(contents, true())
            .outerjoin(current_releases, current_releases.c.release_id == chosen.c.id)
            .order_by(chosen.c.id.desc())
        )
        return [
            StoredRelease(
                id=row.id,
                state=row.state,
                created_at=row.created_at,
                published_at=row.published_at,
                parent_id=row.parent_id,
                gate=row.gate,
                links=row.links,
                clusters=row.clusters,
                current=row.current,
            )
            for row in self._connection.execute(query)
        ]

    def _lock_current(self) -> int | None:
        return self._connection.execute(select(current_releases.c.release_id).with_for_update()).scalar_one_or_none()

    def _lock(self, release_id: int) -> Any:
        """Return the release's row, locked; ``None`` if it is expired, or is being removed."""
        return self._connection.execute(
            select(releases).where(_IS_RETAINED, releases.c.id == release_id).with_for_update()
        ).one_or_none()

    def _lock_known(self, release_id: int) -> Any:
        release = self._lock(release_id)
        if release is None:
            raise NotFound(_UNKNOWN)
        return release

    def _set_state(self, condition: Any, state: str) -> None:
        self._connection.execute(update(releases).where(condition).values(state=state))

    def _make_current(self, release_id: int) -> None:
        statement = insert_or_skip(current_releases).values(tenant_id=self._tenant_id, release_id=release_id)
        self._connection.execute(
            statement.on_conflict_do_update(index_elements=["tenant_id"], set_={"release_id": release_id})
        )

    def _mark_fitted(self, release_id: int, at: datetime) -> None:
        """Record up to which logs links are fitted, and when the links that were just refused are tried again."""
        listed = and_(links.c.id == release_links.c.link_id, release_links.c.release_id == release_id)
        self._connection.execute(
            update(links)
            .where(listed)
            .values(fitted_version=func.greatest(links.c.fitted_version, release_links.c.logs_version))
        )
        refused = release_links.c.state == "failed"
        self._connection.execute(
            update(links)
            .where(listed, release_links.c.finished_at.is_not(None))
            .values(
                refit_rows=case((refused, links.c.rows + func.ceil(links.c.rows / REFIT_PART))),
                refit_at=case((refused, at + REFIT_AFTER)),
            )
        )
