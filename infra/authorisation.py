"""Write who may call what to docs/reference/authorisation.md: ``python -m infra.authorisation``, after a wanted change.

It is read off the routes themselves, and held against what they answer by ``tests/contract/test_authorisation.py`` and
``tests/contract/test_another_tenant.py``.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from services.admin.routers import BACK_TO_PAGE
from services.admin.visitors import HOME, RoleOf, anyone_signed_in
from services.api.dependencies import KeyOf, key_holder
from services.app import HOT_ROUTERS, ROUTERS
from services.application.authenticate import Scope
from services.application.users import ROLES

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reference" / "authorisation.md"

KEYS = (Scope.AGENT, Scope.PROVIDER, Scope.ANALYST, Scope.OPERATOR)

_HEAD = """\
# Who may call what

Written by `python -m infra.authorisation` from the routes, and tested: every route is called as each of these, and once
more with what another tenant owns. A key or person sees its own tenant's rows alone, which the database enforces
([decision 5](../decisions/0005-row-level-security-by-tenant.md)). *Anybody* needs neither key nor sign-in.
"""


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


def calls() -> list[Call]:
    """All that can be asked of the service, addresses of forms that lead to their page apart."""
    every = (each for router in (*HOT_ROUTERS, *ROUTERS) for each in router.routes)
    routes = [each for each in every if isinstance(each, APIRoute) and each.name != BACK_TO_PAGE]
    return sorted(
        (Call(method, route.path, _permitted(route)) for route in routes for method in route.methods or ()),
        key=lambda call: (call.is_page, call.path, call.method),
    )


def _permitted(route: APIRoute) -> frozenset[Scope] | None:
    asked = set(_asked(route.dependant))
    named = [
        each.scopes if isinstance(each, KeyOf) else each.roles for each in asked if isinstance(each, KeyOf | RoleOf)
    ]
    if named:
        return frozenset.intersection(*named)
    if key_holder in asked:
        return frozenset(KEYS)
    return frozenset(ROLES) if anyone_signed_in in asked else None


def _asked(dependant: Dependant) -> Iterator[object]:
    """What a route depends on, and what that depends on."""
    yield dependant.call
    for each in dependant.dependencies:
        yield from _asked(each)


def rendered() -> str:
    """The document as it is kept."""
    every = calls()
    api = _table("API", "key with the scope", [call for call in every if not call.is_page], KEYS)
    return "\n".join(
        (_HEAD, api, _table("Pages", "person with the role", [call for call in every if call.is_page], ROLES))
    )


def _table(title: str, whose: str, listed: list[Call], callers: tuple[Scope, ...]) -> str:
    lines = [f"## {title}", "", f"| {whose} | anybody | {' | '.join(callers)} |", "|---" * (len(callers) + 2) + "|"]
    for call in listed:
        marks = ("yes" if call.permitted is None or each in call.permitted else "" for each in callers)
        anybody = "yes" if call.permitted is None else ""
        lines.append(f"| `{call.method} {call.path}` | {anybody} | {' | '.join(marks)} |")
    return "\n".join([*lines, ""])


def main() -> int:
    DOCUMENT.write_text(rendered(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
