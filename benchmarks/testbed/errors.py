"""Errors of a testbed."""

from tradewind.errors import TradewindError


class CannotEmulate(TradewindError):
    """This machine or account does not permit the emulation; the message says what is needed."""


class NothingMoved(TradewindError):
    """A program failed, or moved nothing before it was cut: its run measures nothing."""


class EmulationBroke(TradewindError):
    """A part of a running testbed failed or refused a command."""
