"""*SLA tiers*: what can be promised on a link, its name and its price."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import Depends, Form, Query, Request, Response
from pydantic import Field

from services.admin.lists import Empty, Filters, FiltersOf, ListColumn, ListFilters, show_list
from services.admin.rendering import ONE_LINE, build_page_router, redirect_after_form, render_page
from services.admin.visitors import Parts, Provider, Signed
from services.application.access.authenticate import Scope
from services.application.models.custom_tiers import accept_tiers, rename_tier
from services.application.models.learned_model import StoredLink
from services.application.models.sla_tiers import MAX_OF_LINK, LinkTier, group_by_cluster
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import NotFound
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, SlaKind
from tradewind.sla.pricing import PriceModel
from tradewind.tiers.setting_table import QUANTITY_OF
from tradewind.units import format_count
from tradewind.wire.base import BIGINT_MAX, MAX_NAME_LENGTH

router = build_page_router("/tiers")

HERE = "/admin/tiers"

COLUMNS: Mapping[str, ListColumn[LinkTier]] = MappingProxyType(
    {
        "tier": ListColumn("Tier", lambda each: each.name),
        "kind": ListColumn("Kind", lambda each: each.partition.kind),
        "setting": ListColumn("Setting"),
        "probability": ListColumn("Probability", lambda each: each.partition.probability, is_number=True),
        "regret": ListColumn("Speed or energy given up", lambda each: each.partition.regret, is_number=True),
        "price": ListColumn("Current price"),
        "state": ListColumn("State", lambda each: not each.tier.needs_review),
    }
)

Shown = Annotated[str, Form(max_length=200, pattern=ONE_LINE)]
"""The query by which the list was looked at."""


ReleaseId = Annotated[int, Form(ge=1, le=BIGINT_MAX)]

LinkId = Annotated[str, Query(max_length=40, pattern=ONE_LINE)]
"""The id of a link, or empty."""


class TierChoice(StrEnum):
    REVIEW = "review"
    UNPRICED = "unpriced"


class TierFilters(ListFilters):
    """The filters of the tiers of a link."""

    link: LinkId = ""
    confidence: Annotated[float, Field(ge=0, le=1)] = DEFAULT_CONFIDENCE
    basis: Annotated[EnergyBasis | None, Empty] = None
    kind: Annotated[SlaKind | None, Empty] = None
    show: Annotated[TierChoice | None, Empty] = None


@router.get("")
def tiers_page(
    request: Request,
    visit: Signed,
    parts: Parts,
    filters: Annotated[Filters[TierFilters], Depends(FiltersOf(TierFilters))],
) -> Response:
    """List the tiers of one link, each with its setting, its probability and the current price."""
    values = filters.values
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        links = uow.links.list_all()
        release = uow.releases.find_current()
        learned = set() if release is None else set(uow.models.list_overviews(release))
        reasons = {} if release is None else uow.models.list_reasons(release)
        shown = find_shown_link(links, values.link, learned)
        basis = values.basis or find_link_basis(shown, uow)
        tiers = (
            []
            if release is None or shown is None
            else uow.sla_tiers.list_page(release, limit=MAX_OF_LINK, link_id=shown.id)
        )
        offered = [
            each
            for each in tiers
            if (each.partition.confidence, each.partition.energy_basis) == (values.confidence, basis)
        ]
        now = parts.clock.now()
        book = next((each for each in uow.price_books.list_without_prices() if each.is_current(now)), None)
        prices = {} if book is None else uow.price_books.find_prices(book.id, [each.tier.id for each in offered])
    listed = show_list(
        offered,
        COLUMNS,
        filters,
        text_of=lambda each: (each.name, each.range, each.partition.kind.replace("_", " "), each.cluster),
        matches=partial(_matches, values, prices),
    )
    return render_page(
        request,
        "tiers.html",
        visit,
        links=links,
        learned=learned,
        shown=shown,
        release=release,
        reason=None if shown is None else reasons.get(shown.id),
        book=book,
        prices=prices,
        tiers=listed,
        clusters=group_by_cluster(listed.rows),
        cluster_numbers={cluster: n for n, cluster in enumerate(group_by_cluster(offered), start=1)},
        to_review=sum(each.tier.needs_review for each in tiers),
        confidence=values.confidence,
        confidences=sorted({each.partition.confidence for each in tiers}),
        basis=basis,
        bases=tuple(EnergyBasis),
        kinds=sorted({each.partition.kind for each in offered}),
        editable=visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR),
        cut_kinds=QUANTITY_OF,
    )


def _matches(filters: TierFilters, prices: Mapping[UUID, PriceModel], row: LinkTier) -> bool:
    if filters.kind is not None and row.partition.kind is not filters.kind:
        return False
    if filters.show is None:
        return True
    return row.tier.needs_review if filters.show is TierChoice.REVIEW else row.tier.id not in prices


@router.post("/{tier_id}/name")
def rename(
    request: Request,
    tier_id: UUID,
    visit: Provider,
    parts: Parts,
    *,
    name: Annotated[str, Form(max_length=MAX_NAME_LENGTH, pattern=ONE_LINE)] = "",
    shown: Shown = "",
) -> Response:
    """Rename a tier; an empty name gives it that of its range."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        rename_tier(tier_id, name.strip() or None, uow=uow)
    parts.snapshots.forget(visit.visitor.tenant_id)
    return redirect_after_form(request, back_to(shown), "The tier is renamed.")


@router.post("/accept")
def accept(
    request: Request,
    visit: Provider,
    parts: Parts,
    *,
    tier: Annotated[list[UUID], Form(min_length=1, max_length=MAX_OF_LINK)],
    release: ReleaseId,
    shown: Shown = "",
) -> Response:
    """Keep the prices of tiers whose limits have moved, as the release that was looked at has them."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        accept_tiers(tier, seen_in=release, uow=uow)
    verb = "keeps its price" if len(tier) == 1 else "keep their prices"
    return redirect_after_form(request, back_to(shown), f"{format_count(len(tier), 'tier')} {verb}.")


def find_link_basis(link: StoredLink | None, uow: UnitOfWork) -> EnergyBasis:
    """Return the default energy basis of a link's transfers, by the power policies of its ends."""
    return uow.endpoints.choose_energy_basis(() if link is None else (link.key.source, link.key.destination))


def back_to(shown: str) -> str:
    """Return the address of the list of tiers as it was looked at."""
    return f"{HERE}?{quote(shown, safe='=&')}" if shown else HERE


def find_shown_link(links: Sequence[StoredLink], link_id: str, learned: Collection[UUID]) -> StoredLink | None:
    """Return the requested link, else the first that has tiers, else the first.

    Raises
    ------
    NotFound : there is none of that id.
    """
    if link_id:
        found = next((each for each in links if str(each.id) == link_id.lower()), None)
        if found is None:
            raise NotFound("no such link; the page of links lists those that there are")
        return found
    return next((each for each in links if each.id in learned), links[0] if links else None)
