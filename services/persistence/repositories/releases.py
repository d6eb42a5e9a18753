"""Releases: the work list of one that is being built, and which one is in force."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, and_, func, literal, select, text, update
from sqlalchemy.dialects.postgresql import insert

from services.application.refresh_models import Building
from services.persistence.tables import current_releases, links, release_links, releases
from tradewind.errors import Conflict, NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRelease:
    """A release as it stands; ``gate`` counts what became of its links."""

    id: int
    state: str
    created_at: datetime
    published_at: datetime | None
    gate: dict[str, Any]
    links: int
    current: bool


class Releases:
    """Releases of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def lock(self) -> None:
        """Hold off other refreshes of this tenant until the transaction ends."""
        self._connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))"), {"key": self._key})

    @property
    def _key(self) -> str:
        return f"tradewind.refresh.{self._tenant_id}"

    def building(self) -> Building | None:
        """The release under way, if there is one."""
        release = self._connection.execute(
            select(releases.c.id, releases.c.created_at).where(releases.c.state == "building")
        ).one_or_none()
        if release is None:
            return None
        rows = self._connection.execute(
            select(release_links.c.link_id, release_links.c.state, release_links.c.finished_at).where(
                release_links.c.release_id == release.id
            )
        ).all()
        finished = [row.finished_at for row in rows if row.finished_at is not None]
        return Building(
            release_id=release.id,
            pending=[row.link_id for row in rows if row.state == "pending"],
            last_activity_at=max([release.created_at, *finished]),
        )

    def newest_began_at(self) -> datetime | None:
        """When the newest release was begun, whatever became of it."""
        newest: datetime | None = self._connection.execute(select(func.max(releases.c.created_at))).scalar()
        return newest

    def current_id(self) -> int | None:
        """The release in force."""
        found: int | None = self._connection.execute(select(current_releases.c.release_id)).scalar()
        return found

    def begin(self, *, at: datetime) -> Building | None:
        """A release of the links with new logs, the others carried over; ``None`` if no link has any."""
        dirty = self._connection.execute(
            select(links.c.id, links.c.logs_version).where(links.c.logs_version > links.c.fitted_version)
        ).all()
        if not dirty:
            return None
        parent_id = self.current_id()
        release_id = self._connection.execute(
            insert(releases)
            .values(tenant_id=self._tenant_id, state="building", created_at=at, parent_id=parent_id)
            .returning(releases.c.id)
        ).scalar_one()
        common = {"tenant_id": self._tenant_id, "release_id": release_id}
        self._connection.execute(
            insert(release_links),
            [common | {"link_id": row.id, "state": "pending", "logs_version": row.logs_version} for row in dirty],
        )
        if parent_id is not None:
            self._carry_over(parent_id, release_id)
        return Building(release_id=release_id, pending=[row.id for row in dirty], last_activity_at=at)

    def _carry_over(self, parent_id: int, release_id: int) -> None:
        columns = ["tenant_id", "release_id", "link_id", "link_model_id", "state", "logs_version"]
        parent = release_links.alias("parent")
        carried = select(
            parent.c.tenant_id,
            literal(release_id, release_links.c.release_id.type),
            parent.c.link_id,
            parent.c.link_model_id,
            parent.c.state,
            parent.c.logs_version,
        ).where(parent.c.release_id == parent_id)
        self._connection.execute(insert(release_links).from_select(columns, carried).on_conflict_do_nothing())

    def claim(self, release_id: int, link_id: UUID, *, at: datetime) -> bool:
        """Lock a pending link until the transaction ends; false if it is done, or another task's."""
        here = self._of(release_id, link_id)
        free = self._connection.execute(
            select(release_links.c.link_id)
            .where(here, release_links.c.state == "pending")
            .with_for_update(skip_locked=True)
        ).one_or_none()
        if free is None:
            return False
        self._connection.execute(
            update(release_links).where(here).values(started_at=at, attempts=release_links.c.attempts + 1)
        )
        return True

    def finish(self, release_id: int, link_id: UUID, *, model_id: UUID | None, reason: str, at: datetime) -> None:
        """Say what serves a claimed link; with a reason, why it is not a new model."""
        self._connection.execute(
            update(release_links)
            .where(self._of(release_id, link_id))
            .values(state="failed" if reason else "done", link_model_id=model_id, reason=reason or None, finished_at=at)
        )

    @staticmethod
    def _of(release_id: int, link_id: UUID) -> ColumnElement[bool]:
        return and_(release_links.c.release_id == release_id, release_links.c.link_id == link_id)

    def lock_complete(self, release_id: int) -> bool:
        """Lock a release that is being built and has no link pending; false if there is no such release."""
        building = self._connection.execute(
            select(releases.c.id).where(releases.c.id == release_id, releases.c.state == "building").with_for_update()
        ).one_or_none()
        if building is None:
            return False
        pending = select(release_links.c.link_id).where(
            release_links.c.release_id == release_id, release_links.c.state == "pending"
        )
        return self._connection.execute(pending.limit(1)).one_or_none() is None

    def publish(self, release_id: int, *, at: datetime) -> None:
        """Make it current and its links fitted up to the logs that they were fitted on."""
        self._connection.execute(
            update(links)
            .where(
                links.c.id == release_links.c.link_id,
                release_links.c.release_id == release_id,
                links.c.fitted_version < release_links.c.logs_version,
            )
            .values(fitted_version=release_links.c.logs_version)
        )
        gate = self._gate(release_id)
        self._connection.execute(update(releases).where(releases.c.id == release_id).values(published_at=at, gate=gate))
        self._make_current(release_id, was_left="superseded")

    def _gate(self, release_id: int) -> dict[str, Any]:
        counted = self._connection.execute(
            select(
                func.count().filter(release_links.c.state == "done", release_links.c.finished_at.is_not(None)),
                func.count().filter(release_links.c.finished_at.is_(None)),
                func.count().filter(release_links.c.state == "failed", release_links.c.link_model_id.is_not(None)),
                func.count().filter(release_links.c.state == "failed", release_links.c.link_model_id.is_(None)),
            ).where(release_links.c.release_id == release_id)
        ).one()
        return dict(zip(("passed", "carried_over", "kept_previous", "without_model"), counted, strict=True))

    def roll_back_to(self, release_id: int) -> None:
        """Put an earlier published release in force again; the one in force is marked as rolled back.

        Raises
        ------
        NotFound : the tenant has no such release.
        Conflict : it is in force already, or was never published.
        """
        self.lock()
        state = self._connection.execute(
            select(releases.c.state).where(releases.c.id == release_id).with_for_update()
        ).scalar_one_or_none()
        if state is None:
            raise NotFound(f"no release {release_id}")
        if state not in {"superseded", "rolled_back"}:
            raise Conflict(f"release {release_id} is {state}; only a release that was in force before can be")
        self._make_current(release_id, was_left="rolled_back")

    def _make_current(self, release_id: int, *, was_left: str) -> None:
        self._connection.execute(
            update(releases).where(releases.c.id.in_(select(current_releases.c.release_id))).values(state=was_left)
        )
        self._connection.execute(update(releases).where(releases.c.id == release_id).values(state="published"))
        self._connection.execute(
            insert(current_releases)
            .values(tenant_id=self._tenant_id, release_id=release_id)
            .on_conflict_do_update(index_elements=["tenant_id"], set_={"release_id": release_id})
        )

    def all(self, *, limit: int = 100) -> Sequence[StoredRelease]:
        """The newest releases first."""
        return [_stored(row) for row in self._connection.execute(self._described().limit(limit))]

    def get(self, release_id: int) -> StoredRelease:
        """The release.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        row = self._connection.execute(self._described().where(releases.c.id == release_id)).one_or_none()
        if row is None:
            raise NotFound(f"no release {release_id}")
        return _stored(row)

    def _described(self) -> Any:
        served = (
            select(func.count())
            .where(release_links.c.release_id == releases.c.id, release_links.c.link_model_id.is_not(None))
            .scalar_subquery()
        )
        return (
            select(releases, served.label("links"), current_releases.c.release_id.label("current"))
            .outerjoin(current_releases, current_releases.c.release_id == releases.c.id)
            .order_by(releases.c.id.desc())
        )


def _stored(row: Row[Any]) -> StoredRelease:
    return StoredRelease(
        id=row.id,
        state=row.state,
        created_at=row.created_at,
        published_at=row.published_at,
        gate=row.gate,
        links=row.links,
        current=row.current is not None,
    )
