"""Refusals of forms in the words of the form: a field goes by the label that stands next to it."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from services.admin.formatting.form_numbers import InvalidInput
from tradewind.errors import InvalidValue, TradewindError

LABELS: Mapping[str, str] = MappingProxyType(
    {
        "adjustment": "Change of prices, %",
        "again": "New password again",
        "apart_s": "Seconds apart",
        "base": "Base",
        "bounds": "Tier limits",
        "concurrency": "Files at once",
        "confidence": "Met at least",
        "contact_email": "E-mail",
        "contact_name": "Contact",
        "credit": "Credit",
        "currency": "Currency",
        "effective_from": "From (UTC)",
        "ends_at": "Until (UTC)",
        "energy_basis": "Energy charged",
        "energy_cost_per_kwh": "What a kWh costs you",
        "from_mbps": "From, Mbit/s",
        "job_mb": "MB each",
        "jobs": "Jobs",
        "key": "Agent's key",
        "key_ids": "Keys",
        "label": "Label",
        "links": "Links",
        "login": "Login",
        "margin": "Mark-up",
        "name": "Name",
        "new": "New password",
        "note": "Note",
        "old": "Password until now",
        "password": "Password",
        "patience_s": "Due after",
        "per_gb": "Per GB",
        "per_kwh": "Per kWh",
        "price_w": "J a second of delay",
        "rate_factor": "Calls, times the usual",
        "rate_mbps": "Mbit/s alone",
        "raw": "The row",
        "roles": "Roles",
        "row_id": "The row",
        "scopes": "Scopes",
        "spending_currency": "Currency",
        "spending_limit": "Most in a month",
        "sql": "Query",
        "starts_at": "From (UTC)",
        "streams": "Streams",
        "to_mbps": "Below, Mbit/s",
        "weight": "Weight",
    }
)
"""By the name of the field."""

_MISSING = "field required"
_CHOICES = ("roles", "scopes")
_PREDICATE = re.compile(r"(?:must|is|are|has|have|does|leave|overlap|names?|needs?)\b")
_PLAINER: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^(?:input|string|value|list) should "), "must "),
    (re.compile(r"^must be a valid (?P<kind>number|integer|date|UUID|boolean).*"), r"must be a \g<kind>"),
    (re.compile(r"^must be a integer$"), "must be a whole number"),
    (re.compile(r"^must be less than or equal to "), "must be at most "),
    (re.compile(r"^must be greater than or equal to "), "must be at least "),
    (re.compile(r"^must be greater than "), "must be above "),
    (re.compile(r"^must be less than "), "must be below "),
)
"""What the framework says of a value, and what a form says instead."""


def find_input_name(error: TradewindError) -> str:
    """Return the name of the field of a form that a refusal is about; empty where it is about none."""
    if isinstance(error, InvalidInput):
        return error.input_name
    return error.field if isinstance(error, InvalidValue) else ""


def format_refusal(error: TradewindError) -> str:
    """Return what was wrong as a sentence about the field as the form calls it, without its full stop."""
    if not isinstance(error, InvalidValue):
        return str(error)
    reason = error.reason
    if reason == _MISSING:
        reason = "choose at least one" if error.field in _CHOICES else "is missing"
    for pattern, words in _PLAINER:
        reason = pattern.sub(words, reason)
    *row, part = error.field.split(", ")
    name, dot, place = part.partition(".")
    label = LABELS.get(name, part) if place.isdigit() or not dot else part
    return f"{', '.join([*row, label])}{' ' if _PREDICATE.match(reason) else ': '}{reason}"
