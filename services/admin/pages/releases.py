"""*Releases*: what each changed, how the gate judged it, and how to go back."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Form, Path, Request, Response

from services.admin.formatting.bounds_forms import SCALES
from services.admin.lists import Filters, FiltersOf, ListColumn, ListFilters, OlderThan, show_list
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import HOME, Operator, Parts, Provider, Signed
from services.application.access.authenticate import Scope
from services.application.models.compare_releases import compare_releases
from services.application.models.learned_model import ModelOverview, StoredLink
from services.application.models.manage_releases import publish_anyway, roll_back
from services.application.models.tier_decisions import decide_tiers, list_undecided
from tradewind.sla.kinds import SlaKind
from tradewind.wire.base import BIGINT_MAX
from tradewind.wire.releases import MAX_REASON_LENGTH, Reason, TierBounds, TierChange

router = build_page_router("/releases")

HERE = "/admin/releases"
PAGE = 50
DECISIONS_SHOWN = 10
"""The oldest ones; others follow as these are decided."""

DIFFERENCES_SHOWN = 100
"""Links that differ from the current release; the others are counted."""

ReleaseId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]


@router.get("")
def releases_page(
    request: Request,
    visit: Signed,
    parts: Parts,
    filters: Annotated[Filters[OlderThan], Depends(FiltersOf(OlderThan))],
) -> Response:
    """List releases, the newest first."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        found = [] if filters.problem else uow.releases.list_page(before=filters.values.before, limit=PAGE + 1)
        undecided = list_undecided(uow)
    more = filters.build_address(before=found[PAGE - 1].id) if len(found) > PAGE else ""
    return render_page(
        request,
        "releases.html",
        visit,
        releases=found[:PAGE],
        more=more,
        filters=filters,
        undecided=undecided[:DECISIONS_SHOWN],
        more_undecided=max(0, len(undecided) - DECISIONS_SHOWN),
        bounds=format_tier_bounds,
        decides=visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR),
        manages=visit.visitor.may(Scope.OPERATOR),
    )


@router.get("/{release_id}")
def release_page(
    request: Request,
    release_id: ReleaseId,
    visit: Signed,
    parts: Parts,
    filters: Annotated[Filters[ListFilters], Depends(FiltersOf(ListFilters))],
) -> Response:
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
        links=show_list(
            [link for link in links if link.id in release_links],  # not those that came after it
            _build_link_columns(known, verdicts),
            filters,
            text_of=lambda link: (link.key.source, link.key.destination, link.key.mover, reasons.get(link.id)),
        ),
        known=known,
        comparison=comparison,
        differences_shown=DIFFERENCES_SHOWN,
        link_names={link.id: f"{link.key.source} → {link.key.destination}" for link in links},
        bounds=format_tier_bounds,
        undecided=undecided,
        decides=visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR),
        longest_reason=MAX_REASON_LENGTH,
        verdicts=verdicts,
        reasons=reasons,
        manages=visit.visitor.may(Scope.OPERATOR),
    )


def _build_link_columns(
    known: Mapping[UUID, ModelOverview], verdicts: Mapping[UUID, Mapping[str, Any]]
) -> Mapping[str, ListColumn[StoredLink]]:
    def judged(name: str) -> Callable[[StoredLink], Any]:
        return lambda link: verdicts[link.id].get(name) if link.id in verdicts else None

    return {
        "link": ListColumn("Link", lambda link: f"{link.key.source} {link.key.destination}"),
        "clusters": ListColumn(
            "Clusters", lambda link: known[link.id].clusters if link.id in known else None, is_number=True
        ),
        "accuracy": ListColumn("Accuracy", judged("accuracy"), is_number=True),
        "coverage": ListColumn("90 % holds", judged("coverage90"), is_number=True),
        "error": ListColumn("Error on new rows", judged("error"), is_number=True),
        "before": ListColumn("Error of the model before", is_number=True),
        "gate": ListColumn("Gate"),
    }


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
