"""Labels of links, added to and removed from many links at once on the page of links."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Form, Request, Response

from services.admin.rendering import build_page_router, redirect_after_form
from services.admin.visitors import Parts, Provider
from services.application.models.link_labels import change_label
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
) -> Response:
    """Add a label to the chosen links, or remove it from them."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        change_label(label.strip(), links, is_added=change == "add", uow=uow)
    verb = "added to" if change == "add" else "removed from"
    chosen = format_count(len(set(links)), "link")
    return redirect_after_form(request, "/admin/links", f"The label {label.strip()} is {verb} {chosen}.")
