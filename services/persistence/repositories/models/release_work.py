"""The work list of a release that is being built: which links to fit, by whom, with what result."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Connection,
    and_,
    case,
    delete,
    exists,
    func,
    insert,
    literal,
    null,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import insert as insert_or_skip

from services.application.logs.long_jobs import Progress
from services.application.models.gate import Verdict
from services.application.models.learned_model import ClaimedLink
from services.persistence.tables import (
    current_releases,
    links,
    release_endpoints,
    release_links,
    releases,
    tier_decisions,
)


def _is_due(at: datetime) -> Any:
    """Return the condition that a link has new logs, and enough of them where the last fit was refused."""
    enough = or_(links.c.refit_rows.is_(None), links.c.rows >= links.c.refit_rows, links.c.refit_at <= at)
    return and_(links.c.logs_version > links.c.fitted_version, enough)


class ReleaseWork:
    """The release of one tenant that is being built, if there is one."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def find_building(self) -> int | None:
        """Return the release that is being built."""
        return self._connection.execute(
            select(releases.c.id).where(releases.c.state == "building")
        ).scalar_one_or_none()

    def begin(self, at: datetime) -> int | None:
        """Return the release that is being built, started if there is none; ``None`` if no link is due.

        Its work list are the links with new logs, after a refusal with enough of them; the others are carried over from
        the current release.
        """
        if (under_way := self.find_building()) is not None:
            return under_way
        parent_id = self._connection.execute(select(current_releases.c.release_id)).scalar_one_or_none()
        release_id = self._connection.execute(
            insert_or_skip(releases)
            .values(tenant_id=self._tenant_id, state="building", created_at=at, parent_id=parent_id)
            .on_conflict_do_nothing(index_elements=["tenant_id"], index_where=releases.c.state == "building")
            .returning(releases.c.id)
        ).scalar_one_or_none()
        if release_id is None:  # a rival started it a moment ago
            return self.find_building()
        self._list_links_that_are_due(release_id, at)
        if self.is_complete(release_id):
            self._connection.execute(delete(releases).where(releases.c.id == release_id))
            return None
        self._carry_over_from(parent_id, release_id)
        return int(release_id)

    def _list_links_that_are_due(self, release_id: int, at: datetime) -> None:
        self._connection.execute(
            insert(release_links).from_select(
                ["tenant_id", "release_id", "link_id", "state", "logs_version"],
                select(
                    literal(self._tenant_id), literal(release_id), links.c.id, literal("pending"), links.c.logs_version
                ).where(_is_due(at)),
            )
        )

    def _carry_over_from(self, parent_id: int | None, release_id: int) -> None:
        """Copy the models of all links that are not on the work list, and why a link has none or an older one.

        A second query for links with new logs would miss a link that got some since the list was made.
        """
        carried = release_links.alias("carried")
        self._connection.execute(
            insert_or_skip(release_links)
            .from_select(
                ["tenant_id", "release_id", "link_id", "link_model_id", "state", "reason", "verdict", "logs_version"],
                select(
                    literal(self._tenant_id),
                    literal(release_id),
                    carried.c.link_id,
                    carried.c.link_model_id,
                    literal("done"),
                    carried.c.reason,  # until a refit succeeds
                    carried.c.verdict,
                    carried.c.logs_version,
                ).where(carried.c.release_id == parent_id),
            )
            .on_conflict_do_nothing()
        )

    def list_pending(self, release_id: int) -> Sequence[UUID]:
        """Return the links of the work list that are neither done nor failed, with those that share a busy end in
        sequence.

        Workers cache the known load of the ends that they read last, and the load of an end is read for each of its
        links.
        """
        moved = union_all(
            select(links.c.source_id.label("end_id"), links.c.rows), select(links.c.destination_id, links.c.rows)
        ).subquery()
        busy = select(moved.c.end_id, func.sum(moved.c.rows).label("rows")).group_by(moved.c.end_id).cte()
        source, destination = busy.alias("source"), busy.alias("destination")
        from_busier = source.c.rows >= destination.c.rows
        ends = source.c.end_id, destination.c.end_id
        return (
            self._connection.execute(
                select(release_links.c.link_id)
                .join(links, links.c.id == release_links.c.link_id)
                .join(source, source.c.end_id == links.c.source_id)
                .join(destination, destination.c.end_id == links.c.destination_id)
                .where(_is_pending(release_id))
                .order_by(case((from_busier, ends[0]), else_=ends[1]), *ends, release_links.c.link_id)
            )
            .scalars()
            .all()
        )

    def is_complete(self, release_id: int) -> bool:
        """Return whether no link of the work list is pending; called after every fit, so it must not look at all
        links.
        """
        return not self._connection.execute(select(exists().where(_is_pending(release_id)))).scalar_one()

    def count_progress(self, release_id: int) -> Progress:
        """Return how many links of the work list are fitted or refused, and how many are on it."""
        fitted = release_links.c.finished_at.is_not(None)
        row = self._connection.execute(
            select(
                func.count().filter(fitted).label("done"),
                func.count().filter(or_(fitted, release_links.c.state == "pending")).label("total"),
            ).where(release_links.c.release_id == release_id)
        ).one()
        return Progress(row.done, row.total)

    def find_last_activity(self, release_id: int) -> datetime:
        """Return the latest of: start of the release, start of a link's fit, end of a link's fit."""
        at: datetime = self._connection.execute(
            select(
                func.greatest(
                    func.max(releases.c.created_at),
                    func.max(release_links.c.started_at),
                    func.max(release_links.c.finished_at),
                )
            )
            .join(release_links, release_links.c.release_id == releases.c.id)
            .where(releases.c.id == release_id)
        ).scalar_one()
        return at

    def find_newest_start(self) -> datetime | None:
        """Return when the newest release with a model was started, whatever became of it."""
        has_model = exists().where(
            release_links.c.release_id == releases.c.id, release_links.c.link_model_id.is_not(None)
        )
        at: datetime | None = self._connection.execute(
            select(func.max(releases.c.created_at)).where(has_model)
        ).scalar_one()
        return at

    def count_outcomes(self, release_id: int) -> Mapping[str, int]:
        """Return how many links got a new model, were carried over, kept the model before, or have none.

        ``waiting_for_decision`` counts among ``kept_previous``, and is absent where it would be 0.
        """
        fitted, modelled = release_links.c.finished_at.is_not(None), release_links.c.link_model_id.is_not(None)
        done = release_links.c.state == "done"
        row = self._connection.execute(
            select(
                func.count().filter(fitted, done).label("passed"),
                func.count().filter(~fitted, modelled).label("carried_over"),
                func.count().filter(fitted, ~done, modelled).label("kept_previous"),
                func.count().filter(~modelled).label("without_model"),
            ).where(release_links.c.release_id == release_id)
        ).one()
        counts: dict[str, int] = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's documented way to a row's names
        waiting = select(func.count()).where(tier_decisions.c.release_id == release_id)
        if undecided := self._connection.execute(waiting).scalar_one():
            counts["waiting_for_decision"] = undecided
        return counts

    def start_attempt(self, release_id: int, link_id: UUID, at: datetime, *, is_retry: bool = False) -> int | None:
        """Count an attempt at a pending link, so that a link that kills its worker is not tried for ever.

        Parameters
        ----------
        is_retry : the attempt is counted already, unless the database was unreachable then; the sweep learns of it
            again.

        Returns
        -------
        The attempt's number from 1; ``None`` if the link is done, or a rival's. Commit before the fit begins.
        """
        free = (
            select(release_links.c.link_id)
            .where(_is(release_id, link_id), release_links.c.state == "pending")
            .with_for_update(skip_locked=True)  # do not wait for a rival that fits the link
        )
        return self._connection.execute(
            update(release_links)
            .where(release_links.c.release_id == release_id, release_links.c.link_id.in_(free))
            .values(attempts=_build_attempt_count(is_retry), started_at=at)
            .returning(release_links.c.attempts)
        ).scalar_one_or_none()

    def claim_curve(self, release_id: int, endpoint_id: UUID) -> bool:
        """Return whether this transaction has to bring the endpoint's curve up to date: the first one of a release
        does.

        A rival waits here until the curve is there, or takes over if the transaction fails.
        """
        claimed = self._connection.execute(
            insert_or_skip(release_endpoints)
            .values(tenant_id=self._tenant_id, release_id=release_id, endpoint_id=endpoint_id)
            .on_conflict_do_nothing()
            .returning(release_endpoints.c.endpoint_id)
        )
        return claimed.one_or_none() is not None

    def claim(self, release_id: int, link_id: UUID) -> ClaimedLink | None:
        """Lock a pending link until the transaction ends; return ``None`` if it is done, or a rival's."""
        row = self._connection.execute(
            select(release_links.c.logs_version, release_links.c.attempts)
            .where(_is(release_id, link_id), release_links.c.state == "pending")
            .with_for_update(skip_locked=True)
        ).one_or_none()
        return None if row is None else ClaimedLink(link_id, row.logs_version, row.attempts)

    def finish(self, release_id: int, link_id: UUID, link_model_id: UUID, verdict: Verdict, at: datetime) -> None:
        """Store that the link has its new model."""
        values = {"link_model_id": link_model_id, "reason": None, "verdict": verdict.list_metrics()}
        self._close(release_id, link_id, at, state="done", **values)

    def fail(self, release_id: int, link_id: UUID, reason: str, verdict: Verdict | None, at: datetime) -> None:
        """Store that the link gets no new model, and why: it keeps the current one, if it has one."""
        parent = select(releases.c.parent_id).where(releases.c.id == release_id).scalar_subquery()
        before = release_links.alias("before")
        previous = select(before.c.link_model_id).where(before.c.release_id == parent, before.c.link_id == link_id)
        model_id = self._connection.execute(previous).scalar_one_or_none()
        values = {"link_model_id": model_id, "reason": reason, "verdict": verdict.list_metrics() if verdict else null()}
        self._close(release_id, link_id, at, state="failed", **values)

    def _close(self, release_id: int, link_id: UUID, at: datetime, **values: Any) -> None:
        self._connection.execute(update(release_links).where(_is(release_id, link_id)).values(finished_at=at, **values))


def _build_attempt_count(is_retry: bool) -> Any:
    before = release_links.c.attempts
    return func.greatest(before, 1) if is_retry else before + 1


def _is_pending(release_id: int) -> Any:
    return and_(release_links.c.release_id == release_id, release_links.c.state == "pending")


def _is(release_id: int, link_id: UUID) -> Any:
    return and_(release_links.c.release_id == release_id, release_links.c.link_id == link_id)
