"""The pages by section, and who sees which."""

from collections.abc import Sequence
from typing import NamedTuple

from services.application.access.authenticate import Scope
from services.application.access.sign_in import Visitor
from services.application.access.users import ROLES


class Entry(NamedTuple):
    """A page in the navigation; ``roles`` : who may open it."""

    address: str
    name: str
    roles: tuple[Scope, ...] = ROLES


class Section(NamedTuple):
    name: str
    entries: tuple[Entry, ...]


_OPERATOR = (Scope.OPERATOR,)
_ANALYST = (Scope.ANALYST, Scope.OPERATOR)
_PROVIDER = (Scope.PROVIDER, Scope.OPERATOR)

OVERVIEW = "/admin"

SECTIONS = (
    Section("", (Entry(OVERVIEW, "Overview"),)),
    Section("What goes on", (Entry("/admin/transfers", "Transfers"), Entry("/admin/connections", "Web connections"))),
    Section(
        "What was learned",
        (
            Entry("/admin/links", "Links"),
            Entry("/admin/gain", "Gain"),
            Entry("/admin/releases", "Releases"),
            Entry("/admin/compression", "Compression"),
            Entry("/admin/devices", "Devices"),
            Entry("/admin/sql", "SQL", _ANALYST),
        ),
    ),
    Section(
        "What it costs",
        (
            Entry("/admin/tiers", "SLA tiers"),
            Entry("/admin/price-books", "Price books"),
            Entry("/admin/customers", "Customers", _PROVIDER),
            Entry("/admin/usage", "Usage", _PROVIDER),
        ),
    ),
    Section(
        "Administration",
        (
            Entry("/admin/logs", "Logs", _OPERATOR),
            Entry("/admin/endpoints", "Endpoints"),
            Entry("/admin/regions", "Regions"),
            Entry("/admin/limits", "Limits", _PROVIDER),
            Entry("/admin/keys", "API keys", _OPERATOR),
            Entry("/admin/users", "Users", _OPERATOR),
            Entry("/admin/audit", "Audit", _OPERATOR),
        ),
    ),
)


def list_sections(visitor: Visitor) -> Sequence[Section]:
    """Return the sections with the pages that a user may open."""
    seen = (
        Section(section.name, tuple(entry for entry in section.entries if visitor.may(*entry.roles)))
        for section in SECTIONS
    )
    return [section for section in seen if section.entries]
