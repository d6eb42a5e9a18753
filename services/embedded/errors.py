"""Errors of embedded servers."""

from tradewind.errors import TradewindError


class CannotStart(TradewindError):
    """An embedded server cannot run here; the message says why and which setting replaces it."""


class AddressChanged(CannotStart):
    """The server runs, but no longer at the address that others know."""
