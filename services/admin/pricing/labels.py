"""Labels of links, added to and removed from many links at once on the page of links."""

from typing import Annotated, Literal
from urllib.parse import parse_qsl
from uuid import UUID

from fastapi import Form, Request, Response

from services.admin.inventory.link_list import LinkFilters, find_links
from services.admin.lists import FiltersOf, change_query
from services.admin.rendering import build_page_router, redirect_after_form
from services.admin.visitors import LONGEST_ADDRESS, Parts, Provider
from services.application.models.link_labels import change_label
from services.application.models.listed_links import read_links
from tradewind.units import format_count

router = build_page_router("/links")

MOST_AT_ONCE = 2_000


@router.post("/labels")
def label_links(
    request: Request,
    visit: Provider,
    parts: Parts,
    *,
    change: Annotated[Literal["add", "remove"], Form()],
    label: Annotated[str, Form()] = "",
    links: Annotated[tuple[UUID, ...], Form(max_length=MOST_AT_ONCE)] = (),
    all_listed: Annotated[bool, Form()] = False,
    shown: Annotated[str, Form(max_length=LONGEST_ADDRESS)] = "",
) -> Response:
    """Add a label to the chosen links, or remove it from them; ``all_listed`` : of the list by its address,
    ``shown``, on every page.
    """
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        if all_listed:
            listed = find_links(read_links(uow, parts.clock.now()), FiltersOf(LinkFilters).read(shown))
            links = tuple(each.link.id for each in listed)
        customers = change_label(label.strip(), links, is_added=change == "add", uow=uow, now=parts.clock.now())
    parts.snapshots.forget(visit.visitor.tenant_id)
    verb = "added to" if change == "add" else "removed from"
    chosen = format_count(len(set(links)), "link")
    back = f"/admin/links{change_query(dict(parse_qsl(shown)))}" if shown else "/admin/links"
    prices = f" Negotiated prices of {', '.join(customers)} follow." if customers else ""
    return redirect_after_form(request, back, f"The label {label.strip()} is {verb} {chosen}.{prices}")
