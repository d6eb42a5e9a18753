"""Entries of the log of changes in words: what was done, to what, and how it stood before and after."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from services.admin.formatting.price_forms import PARTS, price_in_words
from services.application.shared.audit import AuditEntry
from tradewind.sla.pricing import PriceModel

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "endpoint": "endpoints",
        "key": "API keys",
        "limit": "limits",
        "user": "people and sign-ins",
        "price_book": "price books",
        "price": "prices of tiers",
        "tier": "SLA tiers",
        "release": "releases",
        "logs": "logs and their retention",
        "quarantine": "rows in quarantine",
        "device_profile": "device profiles",
        "saved_query": "saved queries",
        "warehouse_login": "warehouse logins",
    }
)
"""What an entry may be about, by the beginning of its action."""

_NOUNS = {"key": "API key", "quarantine": "row", "saved_query": "query", "tier": "SLA tier"}
_UNTOLD = frozenset({"id", "book", "tier_ids", "count", "decision"})
"""For programs that read the log: people know the thing by its name."""

_ORDER = ("tiers", "link", "before", "after")
"""What is told last, in this order; the store keeps none."""


def done_in_words(action: str) -> str:
    """``price_book.published`` as people say it: price book published."""
    kind, _, verb = action.partition(".")
    return f"{_NOUNS.get(kind, kind)} {verb}".replace("_", " ")


def detail_in_words(entry: AuditEntry) -> Sequence[tuple[str, str]]:
    """Names and values of an entry's detail; what is empty is left out, but for prices."""
    is_price = entry.action.startswith("price.")
    ordered = sorted(entry.detail.items(), key=lambda pair: _ORDER.index(pair[0]) if pair[0] in _ORDER else -1)
    return [
        (name.replace("_", " "), _value(value))
        for name, value in ordered
        if name not in _UNTOLD and (value not in (None, [], {}) or (is_price and name in ("before", "after")))
    ]


def _value(value: Any) -> str:
    match value:
        case None:
            told = "not priced"
        case str():
            told = _instant(value)
        case list():
            told = "; ".join(_value(each) for each in value)
        case dict() if set(value) == {*PARTS}:
            told = price_in_words(PriceModel(**{part: Decimal(value[part]) for part in PARTS}))
        case dict():
            told = ", ".join(f"{name.replace('_', ' ')} {_value(each)}" for name, each in value.items())
        case bool():
            told = "yes" if value else "no"
        case _:
            told = f"{value:g}" if isinstance(value, float) else str(value)
    return told


def _instant(text: str) -> str:
    """A time as pages tell it; any other text as it is."""
    try:
        at = datetime.fromisoformat(text)
        return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at.tzinfo else text
    except (ValueError, OverflowError):  # no time, or one that in UTC is before the first year or after the last
        return text
