"""Audit entries in words: what was done, to what, and the state before and after."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from services.admin.formatting.price_forms import PARTS, format_price
from services.application.shared.audit import AuditEntry
from tradewind.sla.pricing import PriceModel

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "endpoint": "endpoints",
        "region": "electricity regions",
        "customer": "customers",
        "key": "API keys",
        "limit": "limits",
        "link": "labels of links",
        "user": "people and sign-ins",
        "price_book": "price books",
        "price": "prices of tiers",
        "statements": "statements",
        "tier": "SLA tiers",
        "release": "releases",
        "logs": "logs and their retention",
        "quarantine": "rows in quarantine",
        "device_profile": "device profiles",
        "saved_query": "saved queries",
        "query": "SQL that was run",
        "warehouse_login": "warehouse logins",
    }
)
"""What an entry may be about, by the beginning of its action."""

_NOUNS = {"key": "API key", "quarantine": "row", "saved_query": "query", "tier": "SLA tier"}
_HIDDEN = frozenset({"id", "book", "tier_ids", "count", "decision"})
"""Only for programs that read the log: users know the thing by its name."""

_ORDER = ("tiers", "link", "before", "after")
"""Fields that come last, in this order; the store keeps no order."""


def format_action(action: str) -> str:
    """Return an action in words: ``price_book.published`` becomes price book published."""
    kind, _, verb = action.partition(".")
    return f"{_NOUNS.get(kind, kind)} {verb}".replace("_", " ")


def format_detail(entry: AuditEntry) -> Sequence[tuple[str, str]]:
    """Return names and values of an entry's detail, without the empty ones, prices excepted."""
    is_price = entry.action.startswith("price.")
    ordered = sorted(entry.detail.items(), key=lambda pair: _ORDER.index(pair[0]) if pair[0] in _ORDER else -1)
    return [
        (name.replace("_", " "), _format_value(value))
        for name, value in ordered
        if name not in _HIDDEN and (value not in (None, [], {}) or (is_price and name in ("before", "after")))
    ]


def _format_value(value: Any) -> str:
    match value:
        case None:
            text = "not priced"
        case str():
            text = _format_instant(value)
        case list():
            text = "; ".join(_format_value(each) for each in value)
        case dict() if {*PARTS} - {"credit"} <= set(value) <= {*PARTS}:  # entries may be older than credits
            text = format_price(PriceModel(**{part: Decimal(amount) for part, amount in value.items()}))
        case dict():
            text = ", ".join(f"{name.replace('_', ' ')} {_format_value(each)}" for name, each in value.items())
        case bool():
            text = "yes" if value else "no"
        case _:
            text = f"{value:g}" if isinstance(value, float) else str(value)
    return text


def _format_instant(text: str) -> str:
    """Return a time as pages write it; any other text unchanged."""
    try:
        at = datetime.fromisoformat(text)
        return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at.tzinfo else text
    except (ValueError, OverflowError):  # no time, or one that in UTC is before the first year or after the last
        return text
