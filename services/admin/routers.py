"""All pages, in the order in which an address is matched."""

from services.admin import (
    account,
    audit,
    keys,
    limits,
    links,
    logs,
    overview,
    price_books,
    releases,
    sql,
    static_files,
    tier_cuts,
    tiers,
    transfers,
    usage,
    users,
)

PAGES = (
    static_files.router,
    account.router,
    overview.router,
    transfers.router,
    links.router,
    releases.router,
    tiers.router,
    tier_cuts.router,
    price_books.router,
    usage.router,
    sql.router,
    logs.router,
    limits.router,
    keys.router,
    users.router,
    audit.router,
)
