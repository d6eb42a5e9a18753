"""All pages, in the order in which an address is matched."""

from collections.abc import Callable, Collection, Iterator
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute

from services.admin import static_files
from services.admin.access import account, audit, keys, sign_on, users
from services.admin.inventory import endpoints, regions
from services.admin.pages import (
    compression,
    connections,
    devices,
    exports,
    gain,
    limits,
    links,
    logs,
    overview,
    price_books,
    releases,
    sql,
    tier_limits,
    tiers,
    transfers,
    usage,
)
from services.admin.pricing import customers, files, labels, rules, statements
from services.admin.rendering import build_page_router, go_to
from services.admin.visitors import HOME, require_session
from tradewind.errors import NotFound

_ROUTERS = (
    static_files.router,
    account.router,
    sign_on.router,
    overview.router,
    transfers.router,
    connections.router,
    labels.router,
    links.router,
    gain.router,
    releases.router,
    tiers.router,
    tier_limits.router,
    price_books.router,
    rules.router,
    files.router,
    usage.router,
    statements.router,
    customers.router,
    compression.router,
    devices.router,
    endpoints.router,
    regions.router,
    sql.router,
    exports.router,
    logs.router,
    limits.router,
    keys.router,
    users.router,
    audit.router,
)


UNKNOWN_PAGE = "unknown page"
"""Name of the route of addresses that are those of no page."""

BACK_TO_PAGE = "back to the page"
"""Name of the routes of forms' addresses that lead to their page."""


def with_its_forms(router: APIRouter) -> Iterator[APIRouter]:
    """Yield a router, and one that leads a browser from a form's address to its page.

    A browser requests that address when a form's answer is reloaded, or its address was bookmarked.
    """
    yield router
    routes = [each for each in router.routes if isinstance(each, APIRoute)]
    pages = {each.path for each in routes if "GET" in (each.methods or ())}
    forms = APIRouter(include_in_schema=False)
    for address in sorted({each.path for each in routes} - pages):
        forms.add_api_route(address, _to(_find_page_above(address, pages)), methods=["GET"], name=BACK_TO_PAGE)
    yield forms


def _find_page_above(address: str, pages: Collection[str]) -> str:
    while address not in pages and address != HOME:
        address = address.rpartition("/")[0]
    return address


def _to(page: str) -> Callable[[Request], Response]:
    def to_page(request: Request) -> Response:
        return go_to(request, page.format(**{name: quote(value) for name, value in request.path_params.items()}))

    return to_page


_unknown_pages = build_page_router()


@_unknown_pages.get("/{unknown:path}", dependencies=[Depends(require_session)], name=UNKNOWN_PAGE)
def refuse_unknown_page() -> Response:
    """Refuse an address that is that of no page, to a signed-in visitor with the navigation.

    Raises
    ------
    NotFound
    """
    raise NotFound("there is no such page")


PAGES = (*(each for router in _ROUTERS for each in with_its_forms(router)), _unknown_pages)
