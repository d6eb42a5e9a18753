"""*Releases*: what each changed, how the gate judged it, and how to go back."""

from typing import Annotated
from uuid import UUID

from fastapi import Form, Path, Query, Request, Response

from services.admin.formatting.bounds_forms import SCALES
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import HOME, Operator, Parts, Provider, Signed
from services.application.access.authenticate import Scope
from services.application.models.compare_releases import compare_releases
from services.application.models.manage_releases import publish_anyway, roll_back
from services.application.models.tier_decisions import decide_tiers, list_undecided
from tradewind.sla.kinds import SlaKind
from tradewind.wire.base import BIGINT_MAX
from tradewind.wire.releases import MAX_REASON_LENGTH, Reason, TierBounds, TierChange

router = build_page_router("/releases")

HERE = "/admin/releases"
PAGE = 50
ReleaseId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]


@router.get("")
def releases_page(
    request: Request, visit: Signed, parts: Parts, before: Annotated[int | None, Query(ge=1, le=BIGINT_MAX)] = None
) -> Response:
    """List releases, the newest first."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        found = uow.releases.list_page(before=before, limit=PAGE + 1)
        undecided = list_undecided(uow)
    more = found[PAGE - 1].id if len(found) > PAGE else None
    return render_page(
        request,
        "releases.html",
        visit,
        releases=found[:PAGE],
        more=more,
        undecided=undecided,
        bounds=format_tier_bounds,
        decides=visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR),
        manages=visit.visitor.may(Scope.OPERATOR),
    )


@router.get("/{release_id}")
def release_page(request: Request, release_id: ReleaseId, visit: Signed, parts: Parts) -> Response:
    """Show a release, link by link, compared with the current one."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        release = uow.releases.get(release_id)
        current = uow.releases.find_current()
        links = uow.links.list_all()
        known = uow.models.list_overviews(release_id)
        comparison = None if release.current else compare_releases(release_id, uow=uow)
        undecided = list_undecided(uow) if release.current else ()
        verdicts = uow.models.list_verdicts(release_id)
        reasons = uow.models.list_reasons(release_id)
    release_links = known.keys() | verdicts.keys() | reasons.keys()
    return render_page(
        request,
        "release.html",
        visit,
        release=release,
        current=current,
        links=[link for link in links if link.id in release_links],  # not those that came after it
        known=known,
        comparison=comparison,
        link_names={link.id: f"{link.key.source} → {link.key.destination}" for link in links},
        bounds=format_tier_bounds,
        undecided=undecided,
        decides=visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR),
        longest_reason=MAX_REASON_LENGTH,
        verdicts=verdicts,
        reasons=reasons,
        manages=visit.visitor.may(Scope.OPERATOR),
    )


@router.post("/decisions/{decision_id}")
def decide(
    request: Request, decision_id: UUID, accept: Annotated[bool, Form()], visit: Provider, parts: Parts
) -> Response:
    """Accept a model that removes or moves priced tiers, or keep the model before."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        release = decide_tiers(decision_id, accept=accept, uow=uow, clock=parts.clock)
    parts.snapshots.forget(visit.visitor.tenant_id)
    if accept:
        return redirect_after_form(
            request, HOME, f"Release {release} is current, with the new model; check the prices of its tiers."
        )
    return redirect_after_form(request, HOME, "The link keeps its model, and its tiers their prices.")


@router.post("/{release_id}/publish")
def publish_release(
    request: Request, release_id: ReleaseId, reason: Annotated[Reason, Form()], visit: Operator, parts: Parts
) -> Response:
    """Make a release current that was rejected or rolled back."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        publish_anyway(release_id, reason=reason, uow=uow, clock=parts.clock)
    return redirect_after_form(
        request, HERE, f"Release {release_id} is current; every process answers from it within a second."
    )


@router.post("/{release_id}/rollback")
def roll_back_release(request: Request, release_id: ReleaseId, visit: Operator, parts: Parts) -> Response:
    """Make an earlier release current."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        current = roll_back(release_id, uow=uow)
    return redirect_after_form(
        request, HERE, f"Release {current} is current; every process answers from it within a second."
    )


_LEVELS = {
    SlaKind.MAX_THROUGHPUT: (SCALES[SlaKind.THROUGHPUT_AT_LEAST], "at least"),
    SlaKind.MIN_ENERGY: (SCALES[SlaKind.ENERGY_AT_MOST], "at most"),
    SlaKind.ENERGY_EFFICIENCY: (SCALES[SlaKind.ENERGY_AT_MOST], "at most"),
}
"""How the level of a kind without a target is written."""


def format_tier_bounds(tier: TierChange, bounds: TierBounds | None) -> str:
    """Return a range in words; of a kind without one, the certified level."""
    if bounds is None:
        return "–"
    scale = SCALES.get(tier.kind)
    if scale is None:
        scale, words = _LEVELS[tier.kind]
        return f"{words} {bounds.lower / scale.size:.4g} {scale.unit}"
    return f"{bounds.lower / scale.size:.4g} to {bounds.upper / scale.size:.4g} {scale.unit}"
