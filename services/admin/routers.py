"""All pages, in the order in which an address is matched."""

from services.admin import (
    account,
    audit,
    keys,
    limits,
    links,
    logs,
    overview,
    releases,
    static_files,
    transfers,
    users,
)

PAGES = (
    static_files.router,
    account.router,
    overview.router,
    transfers.router,
    links.router,
    releases.router,
    logs.router,
    limits.router,
    keys.router,
    users.router,
    audit.router,
)
