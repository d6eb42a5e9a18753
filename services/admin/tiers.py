"""*SLA tiers*: what can be promised on a link, and at which price."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response

from services.admin.pages import page, page_router
from services.admin.visitors import Parts, Signed
from services.application.sla_tiers import MAX_OF_LINK, by_cluster
from tradewind.sla import DEFAULT_CONFIDENCE, EnergyBasis

router = page_router("/tiers")


@router.get("")
def tiers_page(
    request: Request,
    visit: Signed,
    parts: Parts,
    *,
    link: UUID | None = None,
    confidence: Annotated[float, Query(ge=0, le=1)] = DEFAULT_CONFIDENCE,
    basis: EnergyBasis = EnergyBasis.TOTAL,
) -> Response:
    """The tiers of one link, each with its setting, its probability and the price in force."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        links = uow.links.all()
        shown = next((each for each in links if each.id == link), links[0] if links else None)
        release = uow.releases.current()
        tiers = (
            [] if release is None or shown is None else uow.sla_tiers.page(release, limit=MAX_OF_LINK, link_id=shown.id)
        )
        book = uow.price_books.in_force().now()
    return page(
        request,
        "tiers.html",
        visit,
        links=links,
        shown=shown,
        book=book,
        clusters=by_cluster(
            each for each in tiers if (each.partition.confidence, each.partition.energy_basis) == (confidence, basis)
        ),
        to_review=sum(each.tier.needs_review for each in tiers),
        confidence=confidence,
        confidences=sorted({each.partition.confidence for each in tiers}),
        basis=basis,
        bases=tuple(EnergyBasis),
    )
