"""Refusals of forms in the words of the form: a field goes by the label that stands beside it."""

from types import MappingProxyType

from tradewind.errors import InvalidValue, TradewindError

LABELS = MappingProxyType(
    {
        "again": "New password again",
        "base": "Base",
        "currency": "Currency",
        "effective_from": "From (UTC)",
        "login": "Login",
        "margin": "Margin",
        "name": "Name",
        "new": "New password",
        "old": "Password until now",
        "password": "Password",
        "per_gb": "Per GB",
        "per_kwh": "Per kWh",
        "rate_factor": "Calls, times the usual",
        "roles": "Roles",
        "scopes": "Scopes",
    }
)
"""By the name of the field."""

_MISSING = "field required"
_CHOICES = ("roles", "scopes")


def refusal_in_words(error: TradewindError) -> str:
    """What was wrong, as the form calls it."""
    if not isinstance(error, InvalidValue):
        return str(error)
    reason = error.reason
    if reason == _MISSING:
        reason = "choose at least one" if error.field in _CHOICES else "is missing"
    *row, part = error.field.split(", ")
    name, dot, place = part.partition(".")
    label = LABELS.get(name, part) if place.isdigit() or not dot else part
    return f"{', '.join([*row, label])}: {reason}"
