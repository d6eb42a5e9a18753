"""Old releases, and the models that only they hold."""

from uuid import UUID

from sqlalchemy import Connection, delete, func, select, update

from services.application.models.remove_old_releases import RemovalResult
from services.persistence.tables import current_releases, link_models, release_links, releases

_RETURNABLE = ("published", "superseded")


class OldReleases:
    """Old releases of one tenant. An expired one is no longer found, and is removed step by step."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def expire(self, retained: int) -> int:
        """Expire all but the newest ``retained``; return how many.

        Releases that a rollback can return to are counted apart from rejected and rolled-back ones: one of the latter
        must not displace the target of a rollback. The current release, the one that is being built and the one it is
        built on always stay.
        """
        # Publishing and rolling back take this lock too: an expired release cannot become current meanwhile.
        current_release_id = self._connection.execute(
            select(current_releases.c.release_id).with_for_update()
        ).scalar_one_or_none()
        place = func.row_number().over(partition_by=releases.c.state.in_(_RETURNABLE), order_by=releases.c.id.desc())
        ranked = select(releases.c.id, place.label("place")).where(releases.c.state.not_in(("building", "expired")))
        newest = ranked.subquery()
        ground = releases.alias("building")
        built_on = select(ground.c.parent_id).where(ground.c.state == "building", ground.c.parent_id.is_not(None))
        expired = self._connection.execute(
            update(releases)
            .where(
                releases.c.id.in_(select(newest.c.id).where(newest.c.place > retained)),
                releases.c.id.is_distinct_from(current_release_id),
                releases.c.id.not_in(built_on),
            )
            .values(state="expired")
        )
        return int(expired.rowcount)

    def remove_some(self, models: int) -> RemovalResult:
        """Remove at most so many models of the oldest expired release, and the release when it has no more.

        A model's clusters, surfaces and partitions go with it. Models that another release holds stay. Rivals wait here
        for one another, so that they do not remove the same rows in different orders.
        """
        release_id = self._connection.execute(
            select(releases.c.id)
            .where(releases.c.state == "expired")
            .order_by(releases.c.id)
            .limit(1)
            .with_for_update()
        ).scalar_one_or_none()
        if release_id is None:
            return RemovalResult()
        elsewhere, holder = release_links.alias("elsewhere"), releases.alias("holder")
        held = (
            select(elsewhere.c.release_id)
            .join(holder, holder.c.id == elsewhere.c.release_id)
            .where(elsewhere.c.link_model_id == release_links.c.link_model_id, holder.c.state != "expired")
        )
        doomed = (
            self._connection.execute(
                select(release_links.c.link_model_id)
                .where(
                    release_links.c.release_id == release_id,
                    release_links.c.link_model_id.is_not(None),
                    ~held.exists(),
                )
                .limit(models)
            )
            .scalars()
            .all()
        )
        self._connection.execute(delete(link_models).where(link_models.c.id.in_(doomed)))
        if len(doomed) == models:  # there may be more
            return RemovalResult(models=len(doomed))
        self._connection.execute(delete(releases).where(releases.c.id == release_id))
        return RemovalResult(releases=1, models=len(doomed))
