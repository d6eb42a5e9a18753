"""Who may call what, read off the routes themselves.

``tests/contract/test_authorisation.py`` and ``tests/contract/test_another_tenant.py`` hold it against what the routes
answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from infra.reference.markdown import format_code, format_page, format_table
from services.admin.routers import BACK_TO_PAGE, UNKNOWN_PAGE
from services.admin.visitors import HOME, RoleOf, require_session
from services.api.dependencies import KeyOf, require_key
from services.app import HOT_ROUTERS, ROUTERS
from services.application.access.authenticate import Scope
from services.application.access.users import ROLES

KEYS = (Scope.AGENT, Scope.PROVIDER, Scope.ANALYST, Scope.OPERATOR)

INTRODUCTION = """\
Which keys may make which calls, and which users may open which pages. Tests make every call as each of these, and once
more with what another tenant owns. A key or user sees the rows of its own tenant only, which the database enforces
([decision 5](../decisions/0005-row-level-security-by-tenant.md)). *Anybody* needs neither key nor sign-in."""


@dataclass(frozen=True, slots=True)
class Call:
    """One method of one address; ``permitted`` : scopes or roles, ``None`` where nobody is asked who they are."""

    method: str
    path: str
    permitted: frozenset[Scope] | None

    @property
    def is_page(self) -> bool:
        return self.path.startswith(HOME)

    @property
    def callers(self) -> tuple[Scope, ...]:
        """Who there is to be permitted or not."""
        return ROLES if self.is_page else KEYS


def list_calls() -> list[Call]:
    """List all calls of the service, except addresses of forms that lead to their page."""
    every = (each for router in (*HOT_ROUTERS, *ROUTERS) for each in router.routes)
    routes = [each for each in every if isinstance(each, APIRoute) and each.name not in (BACK_TO_PAGE, UNKNOWN_PAGE)]
    return sorted(
        (Call(method, route.path, _find_permitted(route)) for route in routes for method in route.methods or ()),
        key=lambda call: (call.is_page, call.path, call.method),
    )


def _find_permitted(route: APIRoute) -> frozenset[Scope] | None:
    required = set(_list_dependencies(route.dependant))
    named = [
        each.scopes if isinstance(each, KeyOf) else each.roles for each in required if isinstance(each, KeyOf | RoleOf)
    ]
    if named:
        return frozenset.intersection(*named)
    if require_key in required:
        return frozenset(KEYS)
    return frozenset(ROLES) if require_session in required else None


def _list_dependencies(dependant: Dependant) -> Iterator[object]:
    """Yield what a route depends on, and what that depends on."""
    yield dependant.call
    for each in dependant.dependencies:
        yield from _list_dependencies(each)


def render_authorisation() -> str:
    """Return the page of who may call what: keys by scope, then users by role."""
    every = list_calls()
    return format_page(
        "Who may call what",
        INTRODUCTION,
        "## API\n\n" + _format_table("key with the scope", [call for call in every if not call.is_page], KEYS),
        "## Pages\n\n" + _format_table("user with the role", [call for call in every if call.is_page], ROLES),
    )


def _format_table(whose: str, listed: list[Call], callers: tuple[Scope, ...]) -> str:
    return format_table((whose, "anybody", *callers), (_build_line(call, callers) for call in listed))


def _build_line(call: Call, callers: tuple[Scope, ...]) -> tuple[str, ...]:
    marks = ("yes" if call.permitted is None or each in call.permitted else "" for each in callers)
    return format_code(f"{call.method} {call.path}"), "yes" if call.permitted is None else "", *marks
