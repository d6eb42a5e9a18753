"""From new logs to a release: one task a link, a gate, and one transaction that makes the release current.

The work list of a release is in the database: a row a link, locked while a task fits it. A task that is killed loses
its lock and its transaction, so the link is pending again; a task that runs twice finds nothing to do. Whoever
finishes last publishes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self
from uuid import UUID

from services.application.gate import judge
from services.application.jobs import Event, FitLink, RefreshModels, ReleaseChanged
from services.application.ports import Clock
from tradewind.errors import CannotFit
from tradewind.model import LinkModel

if TYPE_CHECKING:
    import pyarrow as pa

STALE_AFTER = timedelta(seconds=60)
"""A release in which nothing has happened for so long has lost its jobs; the sweep sends them again."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Known bytes of an endpoint over time: breakpoints, POSIX s, and the step of the rate at each, bytes/s."""

    times_s: Sequence[float]
    rate_steps: Sequence[float]


@dataclass(frozen=True, slots=True)
class EndCurves:
    """Of both ends of a link, and of what runs between the two, whatever the mover or the direction."""

    source: Sequence[Curve]
    destination: Sequence[Curve]
    between: Sequence[Curve]


class Learner(Protocol):
    """What only workers have: the numerics."""

    def curve(self, rows: Iterable["pa.RecordBatch"]) -> Curve:
        """Known bytes of rows with ``started_at``, ``ended_at``, ``bytes_moved``."""

    def fit(self, rows: Iterable["pa.RecordBatch"], curves: EndCurves, *, unknown_before_bps: float) -> LinkModel:
        """The model of a link from its rows in order of start; raises ``CannotFit``."""


@dataclass(frozen=True, slots=True)
class LinkEnds:
    link_id: UUID
    source_id: UUID
    destination_id: UUID


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model of a link in the store: ids of its clusters, and of the tier of each partition of each."""

    id: UUID
    model: LinkModel
    cluster_ids: tuple[UUID, ...]
    tier_ids: tuple[tuple[UUID, ...], ...]


@dataclass(frozen=True, slots=True)
class Building:
    """A release under way: links that no task has finished, and when one last did."""

    release_id: int
    pending: Sequence[UUID]
    last_activity_at: datetime


class Releases(Protocol):
    def lock(self) -> None:
        """Hold off other refreshes of this tenant until the transaction ends."""

    def building(self) -> Building | None: ...

    def newest_began_at(self) -> datetime | None: ...

    def begin(self, *, at: datetime) -> Building | None:
        """A release of the links with new logs, the others carried over; ``None`` if no link has any."""

    def claim(self, release_id: int, link_id: UUID, *, at: datetime) -> bool:
        """Lock a pending link until the transaction ends; false if it is done, or another task's."""

    def finish(self, release_id: int, link_id: UUID, *, model_id: UUID | None, reason: str, at: datetime) -> None: ...

    def lock_complete(self, release_id: int) -> bool:
        """Lock a release that is being built and has no link pending; false if there is no such release."""

    def publish(self, release_id: int, *, at: datetime) -> None:
        """Make it current and its links fitted up to the logs that they were fitted on."""


class Models(Protocol):
    def in_force(self, link_id: UUID) -> StoredModel | None: ...

    def add(self, link_id: UUID, model: LinkModel, *, before: StoredModel | None, at: datetime) -> UUID: ...


class Curves(Protocol):
    def outdated_months(self, endpoint_id: UUID) -> Mapping[datetime, int]:
        """Months whose rows are more than the stored curve knows, and how many rows they have."""

    def put(self, endpoint_id: UUID, month: datetime, rows: int, curve: Curve) -> None: ...

    def of_endpoint(self, endpoint_id: UUID) -> Sequence[Curve]: ...


class Links(Protocol):
    def ends_of(self, link_id: UUID) -> LinkEnds: ...


class RefreshWork(Protocol):
    """The unit of work that a refresh needs."""

    @property
    def releases(self) -> Releases: ...
    @property
    def models(self) -> Models: ...
    @property
    def curves(self) -> Curves: ...
    @property
    def links(self) -> Links: ...
    def publish(self, event: Event) -> None: ...
    def commit(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LogReader(Protocol):
    """Rows as Arrow, in batches."""

    def fit_rows(self, tenant_id: UUID, link_id: UUID) -> AbstractContextManager[Iterable["pa.RecordBatch"]]: ...

    def month_rows(
        self, tenant_id: UUID, endpoint_id: UUID, month: datetime
    ) -> AbstractContextManager[Iterable["pa.RecordBatch"]]: ...

    def rows_between(self, tenant_id: UUID, ends: LinkEnds) -> AbstractContextManager[Iterable["pa.RecordBatch"]]: ...


@dataclass(frozen=True, slots=True)
class Refresh:
    """The use cases of a refresh, on the parts of a worker."""

    unit_of_work: Callable[[UUID], RefreshWork]
    logs: LogReader
    learner: Learner
    clock: Clock
    interval: timedelta

    def begin(self, job: RefreshModels) -> None:
        """Start a release of the links with new logs, unless one is under way or the last began just now.

        What is left for later is found by the schedule, which asks again each minute.
        """
        now = self.clock.now()
        with self.unit_of_work(job.tenant_id) as work:
            work.releases.lock()
            building = work.releases.building()
            if building is None:
                newest = work.releases.newest_began_at()
                due = newest is None or now - newest >= self.interval
                building = work.releases.begin(at=now) if due else None
            elif now - building.last_activity_at < STALE_AFTER:
                return
            if building is None:
                return
            for link_id in building.pending:
                work.publish(FitLink(job.tenant_id, building.release_id, link_id))
            work.commit()
        self._finish(job.tenant_id, building.release_id)

    def fit(self, job: FitLink) -> None:
        """Fit one link, put its model before the gate, and publish the release if it was the last."""
        with self.unit_of_work(job.tenant_id) as work:
            ends = work.links.ends_of(job.link_id)
            for endpoint_id in sorted({ends.source_id, ends.destination_id}):
                self._extend_curve(work, job.tenant_id, endpoint_id)
            work.commit()
        with self.unit_of_work(job.tenant_id) as work:
            if work.releases.claim(job.release_id, job.link_id, at=self.clock.now()):
                model_id, reason = self._fit(work, job.tenant_id, ends)
                work.releases.finish(job.release_id, job.link_id, model_id=model_id, reason=reason, at=self.clock.now())
                work.commit()
        self._finish(job.tenant_id, job.release_id)

    def _extend_curve(self, work: RefreshWork, tenant_id: UUID, endpoint_id: UUID) -> None:
        """Make the curve of each month that has more rows than it knows; the first link at an endpoint pays."""
        for month, rows in work.curves.outdated_months(endpoint_id).items():
            with self.logs.month_rows(tenant_id, endpoint_id, month) as batches:
                work.curves.put(endpoint_id, month, rows, self.learner.curve(batches))

    def _fit(self, work: RefreshWork, tenant_id: UUID, ends: LinkEnds) -> tuple[UUID | None, str]:
        """The model that is to serve the link, which may be the one in force, and why (empty: the new one passed)."""
        before = work.models.in_force(ends.link_id)
        try:
            model = self._learn(work, tenant_id, ends, before)
        except CannotFit as reason:
            return (before.id if before else None), str(reason)
        verdict = judge(model, before.model if before else None)
        if not verdict.passed:
            return (before.id if before else None), "; ".join(verdict.reasons)
        return work.models.add(ends.link_id, model, before=before, at=self.clock.now()), ""

    def _learn(self, work: RefreshWork, tenant_id: UUID, ends: LinkEnds, before: StoredModel | None) -> LinkModel:
        with self.logs.rows_between(tenant_id, ends) as batches:
            between = self.learner.curve(batches)
        curves = EndCurves(
            work.curves.of_endpoint(ends.source_id), work.curves.of_endpoint(ends.destination_id), (between,)
        )
        unknown_bps = before.model.unknown_bps if before else None
        with self.logs.fit_rows(tenant_id, ends.link_id) as batches:
            return self.learner.fit(batches, curves, unknown_before_bps=unknown_bps or 0.0)

    def _finish(self, tenant_id: UUID, release_id: int) -> None:
        """Publish a release whose links are all done, tell every process, and ask for what came in meanwhile."""
        with self.unit_of_work(tenant_id) as work:
            if not work.releases.lock_complete(release_id):
                return
            work.releases.publish(release_id, at=self.clock.now())
            work.publish(ReleaseChanged(tenant_id, release_id))
            work.publish(RefreshModels(tenant_id))
            work.commit()
