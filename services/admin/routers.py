"""All pages, in the order in which an address is matched."""

from collections.abc import Callable, Collection, Iterator
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from services.admin import static_files
from services.admin.access import account, audit, keys, sign_on, users
from services.admin.pages import (
    compression,
    connections,
    devices,
    exports,
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
from services.admin.rendering import go_to
from services.admin.visitors import HOME

_ROUTERS = (
    static_files.router,
    account.router,
    sign_on.router,
    overview.router,
    transfers.router,
    connections.router,
    links.router,
    releases.router,
    tiers.router,
    tier_limits.router,
    price_books.router,
    usage.router,
    compression.router,
    devices.router,
    sql.router,
    exports.router,
    logs.router,
    limits.router,
    keys.router,
    users.router,
    audit.router,
)


BACK_TO_PAGE = "back to the page"
"""Name of the routes of forms' addresses that lead to their page, whoever asks."""


def with_its_forms(router: APIRouter) -> Iterator[APIRouter]:
    """A router and, behind it, where a browser comes to that asks for the address of a form: its page.

    It does so when a form's answer is loaded anew, or its address was kept.
    """
    yield router
    routes = [each for each in router.routes if isinstance(each, APIRoute)]
    pages = {each.path for each in routes if "GET" in (each.methods or ())}
    forms = APIRouter(include_in_schema=False)
    for address in sorted({each.path for each in routes} - pages):
        forms.add_api_route(address, _to(_page_above(address, pages)), methods=["GET"], name=BACK_TO_PAGE)
    yield forms


def _page_above(address: str, pages: Collection[str]) -> str:
    while address not in pages and address != HOME:
        address = address.rpartition("/")[0]
    return address


def _to(page: str) -> Callable[[Request], Response]:
    def to_page(request: Request) -> Response:
        return go_to(request, page.format(**{name: quote(value) for name, value in request.path_params.items()}))

    return to_page


PAGES = tuple(each for router in _ROUTERS for each in with_its_forms(router))
