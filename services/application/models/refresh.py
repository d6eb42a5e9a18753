"""Build a release from new logs: one task for each link, a gate, and one transaction that makes it current.

The work list of a release is in the database: one row for each link, locked while a task fits it. A killed task loses
its lock and its transaction, so the link is pending again; a task that runs twice finds nothing to do. The task that
finishes last publishes.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from services.application.models.custom_tiers import apply_custom_boundaries, store_split_boundaries
from services.application.models.gate import Verdict, judge_fit
from services.application.models.learned_model import (
    ClaimedLink,
    EndpointLoad,
    KnownLoadCurve,
    StoredLink,
    StoredModel,
)
from services.application.models.priced_tiers import UndecidedModel, format_wait_reason, list_priced_tier_changes
from services.application.models.tier_identity import list_tier_origins, match_tiers
from services.application.shared.events import LinkFitted, LinkRefused, ReleasePublished, ReleaseRefused, Reporter
from services.application.shared.jobs import FitLink, RefreshModels, ReleaseChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import CannotFit, Conflict
from tradewind.model import LinkModel
from tradewind.tiers.demand import Demand, collect_demand

if TYPE_CHECKING:
    import pyarrow as pa

    Batches = AbstractContextManager[Iterable[pa.RecordBatch]]

DEMAND_PERIOD = timedelta(days=90)
"""Requests of transfers that began so long ago still decide where tiers are cut."""

MAX_ATTEMPTS = 3
"""A link whose fit has killed its worker this often is refused until it has enough newer logs."""


@dataclass(frozen=True, slots=True)
class EndCurves:
    """Known load of both ends of a link, and of all transfers between them, for any mover and direction."""

    source: EndpointLoad
    destination: EndpointLoad
    between: KnownLoadCurve


class Learner(Protocol):
    """The numerics of learning; a port because only workers may load them."""

    def build_curve(self, rows: Iterable["pa.RecordBatch"]) -> KnownLoadCurve:
        """Return the known load curve of rows with ``start_s``, ``end_s``, ``bytes_moved``."""

    def fit(
        self,
        rows: Iterable["pa.RecordBatch"],
        curves: EndCurves,
        *,
        unknown_before_bps: float | None,
        current_model: StoredModel | None,
        requested: Demand,
    ) -> LinkModel:
        """Return the model of a link from its rows in order of start, compared with the current one.

        The comparison is on rows new to both. Tiers are cut by what was ``requested``. Raises ``CannotFit``.
        """


class FitRowReader(Protocol):
    """Reads rows as batches of Arrow; a port because the application may not import persistence."""

    def fit_rows(self, tenant_id: UUID, link_id: UUID) -> "Batches": ...
    def read_month_rows(self, tenant_id: UUID, endpoint_id: UUID, month: datetime) -> "Batches": ...
    def read_rows_between(self, tenant_id: UUID, link: StoredLink) -> "Batches": ...


@dataclass(frozen=True, slots=True)
class Refresh:
    """The use cases of a refresh, run by workers.

    ``interval`` : least time between two releases of a tenant; a release without models does not count, so that a first
    try with a few logs delays nothing. ``stale_after`` : a release without activity for this time has lost its jobs.
    """

    unit_of_work: Callable[[UUID], UnitOfWork]
    logs: FitRowReader
    learner: Learner
    clock: Clock
    interval: timedelta
    stale_after: timedelta
    reporter: Reporter

    def start(self, job: RefreshModels) -> None:
        """Start a release of the due links, unless one is being built or the last one started within the interval.

        The sweep finds what is left for later. A release without activity gets its jobs again.
        """
        now = self.clock.now()
        with self.unit_of_work(job.tenant_id) as work:
            release_id = work.release_work.find_building()
            if release_id is not None:
                due = now - work.release_work.find_last_activity(release_id) >= self.stale_after
            else:
                newest = work.release_work.find_newest_start()
                due = newest is None or now - newest >= self.interval
                release_id = work.release_work.begin(now) if due else None
            if release_id is None or not due:
                return
            for link_id in work.release_work.list_pending(release_id):
                work.publish(FitLink(job.tenant_id, release_id, link_id))
            work.commit()
        self._publish_if_complete(job.tenant_id, release_id)

    def fit(self, job: FitLink, *, is_retry: bool = False) -> None:
        """Fit one link, judge its model, and publish the release if it was the last link.

        ``is_retry`` : the worker of the last attempt survived it, as when the database was unreachable.
        """
        event = None
        with self.unit_of_work(job.tenant_id) as work:
            work.release_work.start_attempt(job.release_id, job.link_id, self.clock.now(), is_retry=is_retry)
            work.commit()
        with self.unit_of_work(job.tenant_id) as work:
            claimed = work.release_work.claim(job.release_id, job.link_id)
            if claimed is not None:
                event = self._fit(work, job, claimed)
                work.commit()
        if event is not None:
            self.reporter.report(event)
        self._publish_if_complete(job.tenant_id, job.release_id)

    def _extend_curve(self, job: FitLink, endpoint_id: UUID) -> None:
        """Compute the curve of each month with new rows: once in a release, with the endpoint's first link.

        Reading all rows of an endpoint for each of its links would cost quadratic time in its links.
        """
        with self.unit_of_work(job.tenant_id) as work:
            if not work.release_work.claim_curve(job.release_id, endpoint_id):
                return
            for month, rows in work.curves.list_outdated_months(endpoint_id).items():
                with self.logs.read_month_rows(job.tenant_id, endpoint_id, month) as batches:
                    work.curves.put(endpoint_id, month, rows, self.learner.build_curve(batches))
            work.commit()

    def _fit(self, work: UnitOfWork, job: FitLink, claimed: ClaimedLink) -> LinkFitted | LinkRefused:
        """Finish the claimed link with a model that passes the gate, or fail it with the reason.

        A model that passes but would remove or move priced tiers waits for its provider's decision.
        """
        started_at = self.clock.now()
        if claimed.attempts > MAX_ATTEMPTS:
            return self._refuse(work, job, f"its fit ended {MAX_ATTEMPTS} workers", None, started_at)
        current = work.releases.find_current()
        before = work.models.of_link(current, job.link_id) if current is not None else None
        try:
            model = self._learn(work, job, before)
        except CannotFit as reason:
            return self._refuse(work, job, str(reason), None, started_at)
        verdict = judge_fit(model)
        if not verdict.passed:
            return self._refuse(work, job, "; ".join(verdict.reasons), verdict, started_at)
        now = self.clock.now()
        own = work.custom_tiers.of_link(job.link_id)
        customized = apply_custom_boundaries(model, match_tiers(before, model), own, before)
        model, tiers = customized.model, customized.tiers
        changes = list_priced_tier_changes(before, model, tiers, work.price_books.load_price_list().list_priced_tiers())
        model_id = work.models.add(job.link_id, model, tiers, fitted_at=now)
        if changes:
            undecided = UndecidedModel(model_id=model_id, release_id=job.release_id, raised_at=now, changes=changes)
            work.tier_decisions.raise_for(job.link_id, undecided)
            return self._refuse(work, job, format_wait_reason(changes), verdict, started_at)
        work.tier_decisions.drop(job.link_id)
        store_split_boundaries(job.link_id, customized, work)
        work.price_books.inherit(list_tier_origins(tiers))
        work.release_work.finish(job.release_id, job.link_id, model_id, verdict, now)
        return LinkFitted(
            tenant_id=job.tenant_id,
            release_id=job.release_id,
            link_id=job.link_id,
            rows=model.rows,
            leaves=len(model.leaves),
            duration_s=(now - started_at).total_seconds(),
            verdict=verdict,
        )

    def _refuse(
        self, work: UnitOfWork, job: FitLink, reason: str, verdict: Verdict | None, started_at: datetime
    ) -> LinkRefused:
        now = self.clock.now()
        work.release_work.fail(job.release_id, job.link_id, reason, verdict, now)
        return LinkRefused(
            tenant_id=job.tenant_id,
            release_id=job.release_id,
            link_id=job.link_id,
            reason=reason,
            duration_s=(now - started_at).total_seconds(),
            verdict=verdict,
        )

    def _learn(self, work: UnitOfWork, job: FitLink, before: StoredModel | None) -> LinkModel:
        link, span = work.links.get(job.link_id), work.links.find_span(job.link_id)
        if span is None:
            raise CannotFit("it has no logs")
        ends = link.source_id, link.destination_id
        for endpoint_id in ends:
            self._extend_curve(job, endpoint_id)
        with self.logs.read_rows_between(job.tenant_id, link) as batches:
            between = self.learner.build_curve(batches)
        source, destination = (work.curves.sum_during(endpoint_id, span) for endpoint_id in ends)
        curves = EndCurves(source, destination, between)
        unknown_bps = before.unknown_bps if before else None
        requested = collect_demand(work.journal.list_requests(link.id, self.clock.now() - DEMAND_PERIOD))
        with self.logs.fit_rows(job.tenant_id, link.id) as batches:
            return self.learner.fit(
                batches, curves, unknown_before_bps=unknown_bps, current_model=before, requested=requested
            )

    def _publish_if_complete(self, tenant_id: UUID, release_id: int) -> None:
        """Publish a release whose links are all done, notify every process, and request a refresh for newer logs."""
        with self.unit_of_work(tenant_id) as work:
            if work.release_work.find_building() != release_id or not work.release_work.is_complete(release_id):
                return
            gate, now = work.release_work.count_outcomes(release_id), self.clock.now()
            event: ReleasePublished | ReleaseRefused
            try:
                started_at = work.releases.publish(release_id, gate, now)
            except (
                Conflict
            ) as rolled_back:  # the release that it is based on is no longer current: start again from the current one
                work.releases.abandon(release_id, {**gate, "reason": str(rolled_back)})
                event = ReleaseRefused(tenant_id=tenant_id, release_id=release_id, reason=str(rolled_back))
            else:
                work.publish(ReleaseChanged(tenant_id, release_id))
                building_s = (now - started_at).total_seconds()
                event = ReleasePublished(
                    tenant_id=tenant_id, release_id=release_id, outcomes=gate, building_s=building_s
                )
            work.publish(RefreshModels(tenant_id))
            work.commit()
        self.reporter.report(event)
