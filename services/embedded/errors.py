"""What embedded servers raise."""

from tradewind.errors import TradewindError


class CannotStart(TradewindError):
    """An embedded server cannot run here; the message says why and which setting replaces it."""


class Displaced(CannotStart):
    """It runs, but no more under the address that others know."""
