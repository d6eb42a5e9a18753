"""``/v1/releases``: what was published, and how to go back."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Query

from services.api.dependencies import AnyKey, OperatorKey, Parts, ProviderKey
from services.api.routes.references import ReleaseId
from services.api.routing import OnceRoute, create_v1_router
from services.application.models.compare_releases import compare_releases, to_wire_release
from services.application.models.manage_releases import publish_anyway, roll_back
from services.application.models.tier_decisions import decide_tiers, list_undecided
from tradewind.errors import NotFound
from tradewind.wire.base import BIGINT_MAX
from tradewind.wire.releases import DecideTiers, PublishRelease, Release, ReleaseComparison

USUAL_PAGE, LARGEST_PAGE = 50, 200

Before = Annotated[int | None, Query(ge=1, le=BIGINT_MAX, description="Only releases older than this one.")]
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Releases in the answer at most.")]

router = create_v1_router("/releases", "releases", OnceRoute)


@router.get("")
def list_releases(
    parts: Parts, principal: AnyKey, before: Before = None, limit: Limit = USUAL_PAGE
) -> Sequence[Release]:
    """List releases, the newest first; those before the last of an answer are the next page."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        undecided = list_undecided(uow)
        return [to_wire_release(each, undecided) for each in uow.releases.list_page(before=before, limit=limit)]


@router.get("/{release_id}")
def read_release(release_id: ReleaseId, parts: Parts, principal: AnyKey) -> Release:
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return to_wire_release(uow.releases.get(release_id), list_undecided(uow))


@router.post("/decisions/{decision_id}")
def decide_on_tiers(decision_id: UUID, decision: DecideTiers, parts: Parts, principal: ProviderKey) -> Release:
    """Decide on a model that would remove or move priced tiers, and return the current release.

    `undecided` of the current release lists the open decisions. With `accept` the new model serves, in a release of its
    own; otherwise the link keeps the model before, and its next logs lead to a new decision.
    """
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        current = decide_tiers(decision_id, accept=decision.accept, uow=uow, clock=parts.clock)
    if current is None:
        raise NotFound("there is no current release")
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return to_wire_release(uow.releases.get(current), list_undecided(uow))


@router.post("/{release_id}/rollback")
def roll_back_release(release_id: ReleaseId, parts: Parts, principal: OperatorKey) -> Release:
    """Make an earlier release current again and return it.

    Naming the current release returns to its parent; naming an earlier one returns to that one.
    """
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        current = roll_back(release_id, uow=uow)
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return to_wire_release(uow.releases.get(current), list_undecided(uow))


@router.get("/{release_id}/comparison")
def compare_release(release_id: ReleaseId, parts: Parts, principal: AnyKey) -> ReleaseComparison:
    """Compare a release with the current one: links, their accuracy and regret, and the tiers that move."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return compare_releases(release_id, uow=uow)


@router.post("/{release_id}/publish")
def publish_release(release_id: ReleaseId, decision: PublishRelease, parts: Parts, principal: OperatorKey) -> Release:
    """Make a release current that was rejected or rolled back; the reason goes into the audit log."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        publish_anyway(release_id, reason=decision.reason, uow=uow, clock=parts.clock)
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return to_wire_release(uow.releases.get(release_id), list_undecided(uow))
